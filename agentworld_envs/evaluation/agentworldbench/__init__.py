"""AgentWorldBench."""
