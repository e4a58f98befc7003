"""Public question sets as tasks."""
