"""Text to nouns, one module a kernel file or format. Nothing in this package opens a file or knows its name."""
