"""Fragmentation: free GPU capacity that the expected workload mix cannot use, and how to leave less of it."""
