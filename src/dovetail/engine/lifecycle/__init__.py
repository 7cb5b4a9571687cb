"""The lifecycle of a task: steps that several event handlers share.

Here belong stopping, ending, retrying and requeueing tasks, dependencies between workloads, and what a node's
failures mean for scheduling. Event handlers belong to `events`.
"""
