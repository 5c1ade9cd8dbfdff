"""The engine of all studies: targets, arms, the order of trials, their store and statistics."""
