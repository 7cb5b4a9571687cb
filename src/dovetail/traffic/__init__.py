"""The communication matrix: which workloads exchange how much, as declared and as observed. Pure."""
