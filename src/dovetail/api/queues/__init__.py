"""Routes of the pending queue, the tree of queues with its quotas, and reservations of capacity."""
