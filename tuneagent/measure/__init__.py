"""Rounds of A and B, and the verdict that they allow. Pure but for the callables that it is handed."""
