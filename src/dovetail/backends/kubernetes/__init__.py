"""Runs tasks as pods of a Kubernetes cluster: one pod per attempt, on the chosen node.

The cluster holds the state of this backend. The key determines the pod's name, so the API server makes a repeated bind
harmless. A finalizer keeps a deleted pod until its end has been known for a while. An attempt that was stopped before
it had a pod leaves one that never runs, which blocks a late bind.

    settings   validated once at start           outcome    the state and end of an attempt, from its pod
    naming     names of pods, labels, the owner  machines   nodes: capacity, and what others use of it
    manifest   an assignment as a pod            attempts   our pods: what was reported of each
    volumes    what a pod mounts, its claims     output     the output of a pod, from a byte offset
    amounts    quantities of Kubernetes          upkeep     old and stuck pods, measured use
    backend    the contract
"""
