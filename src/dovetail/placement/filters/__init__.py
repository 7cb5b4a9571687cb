"""Which nodes may take a task. Filters of one family share a file; order and names are in `placement.registry`."""
