"""How good each node is. Scores of one family share a file; weights are in `placement.pipeline.profiles`."""
