"""Recovery search: the fewest moves that complete gangs again after they lost tasks. Pure array code."""
