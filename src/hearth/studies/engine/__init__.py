"""What all studies share: targets, arms, the order of trials, their store and statistics."""
