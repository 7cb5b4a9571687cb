"""Preemption: which running tasks must be evicted so that a task, or a whole gang, fits.

There are two searches. `search` finds the cheapest victims by the order in `cost`, exactly for one task and for small
cases. `nominate` finds those that kube-scheduler would choose. `cheapest` compares several places. Guarantees: no
victim is evicted without need; nothing here changes the cluster. Leaves to others: who may preempt whom, and stopping
them.
"""
