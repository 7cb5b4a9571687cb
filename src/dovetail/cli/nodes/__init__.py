"""Commands for nodes: list and change them, cordon, drain, report a failure."""
