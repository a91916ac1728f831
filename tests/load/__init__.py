"""Tests of loads: real sockets, real processes."""
