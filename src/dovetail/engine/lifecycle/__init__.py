"""The life of a task: the steps that several events lead to.

Here belong stopping, ending, retrying and requeueing tasks, dependencies between workloads, and what a node's
failures mean for it. Event handlers belong to `events`.
"""
