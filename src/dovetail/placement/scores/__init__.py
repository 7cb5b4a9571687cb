"""How good each node is. One score a file; weights are in `placement.profiles`."""
