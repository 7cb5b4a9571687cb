"""The systems that own nodes and run tasks, one folder each, behind one contract. They know only `model`."""
