"""Web search over a local corpus or a fictional world."""
