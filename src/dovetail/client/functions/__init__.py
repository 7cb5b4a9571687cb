"""Python functions as tasks: `DovetailExecutor`, and the program that its tasks run.

Deployed functions of serverless systems are ordinary workloads, and do not belong here.
"""
