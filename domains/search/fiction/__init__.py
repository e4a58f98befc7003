"""Fictional worlds: a relational database, pages that tell of it, and questions that it answers."""
