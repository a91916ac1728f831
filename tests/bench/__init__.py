"""What tuneagent costs, measured on this machine: ``python -m tests.bench``."""
