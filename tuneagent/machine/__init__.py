"""The only door to the machine. Everything above it sees a :class:`tuneagent.machine.source.Source`."""
