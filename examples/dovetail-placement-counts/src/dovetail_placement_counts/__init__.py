"""How many tasks were placed on each node: an example of a subsystem for Dovetail."""
