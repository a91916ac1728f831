"""Model → text, pure: nothing here asks the machine anything, and nothing hostile leaves it unescaped."""
