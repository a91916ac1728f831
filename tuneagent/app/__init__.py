"""The composition root: the command line, and the only place where reading, deciding and telling meet."""
