"""Routes of workloads and their tasks: submit, list, inspect, cancel, read output.

Questions about a workload (why it waits, where it would go) are in `questions`; the order in which workloads are tried
is in `queues`.
"""
