"""Changing the machine: one actuator a module, the journal, and the transaction that gives everything back."""
