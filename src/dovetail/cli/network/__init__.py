"""Commands for the network: topology and distances."""
