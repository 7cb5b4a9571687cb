"""The dashboard on a large cluster: 1,250 nodes of 8 GPUs and 20,000 workloads, in a real browser."""
