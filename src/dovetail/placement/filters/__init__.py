"""Which nodes may take a task. One filter a file; order and names are in `placement.registry`."""
