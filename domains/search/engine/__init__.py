"""The engine: corpora, the index, ranking, snippets, and reading of pages."""
