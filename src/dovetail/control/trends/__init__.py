"""How the cluster was over time, kept by the control plane itself: sampled, down-sampled, bounded."""
