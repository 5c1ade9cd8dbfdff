"""Which configuration to run next: a model of why one is fast or slow, and what it has learnt."""
