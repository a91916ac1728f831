"""Loads: request and response over sockets, and the programs of others with the same result."""
