"""Routes of the network between nodes: topology, domains, distances."""
