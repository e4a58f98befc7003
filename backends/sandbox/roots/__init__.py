"""Root file systems: making them, and telling them apart."""
