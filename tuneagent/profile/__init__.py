"""What a profile of the kernel says: shares by symbol, and how two profiles differ. Pure."""
