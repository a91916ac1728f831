"""The frozen nouns of the field. Nothing in this package does any input or output."""
