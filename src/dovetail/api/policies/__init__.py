"""Routes of policies, of the constraint language, and of the node affinity of services (which is kept as a policy)."""
