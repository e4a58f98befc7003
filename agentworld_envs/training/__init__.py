"""Training: data from recorded transitions, and small world models. Importing this loads no torch."""
