"""The systems that own nodes and run tasks, one package each, behind one contract. They import only `model`."""
