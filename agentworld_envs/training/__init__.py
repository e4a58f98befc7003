"""Training: data from recorded transitions, and what learns from it."""
