"""Commands for the pending queue, the tree of queues, and reservations."""
