"""Whose fault a failure is. Backends say so: only they know the words of their system. The engine acts on it."""

from enum import StrEnum


class FailureCause(StrEnum):
    """Why an attempt was refused or failed.

    - WORKLOAD: what the user wrote: image, claim, command, path, permission, its own limits. It fails on every node, so
      it counts against the workload only.
    - NODE: the machine: its disk is full, its runtime is broken, it rejects what it was given. It counts against the
      node.
    - BACKEND: a state that passes by itself: the engine restarts, is upgraded or is busy. It counts against nobody; the
      task is tried again until it works.
    - UNKNOWN: counts against the workload, and against the node only if unrelated workloads meet it there too.
    """

    WORKLOAD = "workload"
    NODE = "node"
    BACKEND = "backend"
    UNKNOWN = "unknown"
