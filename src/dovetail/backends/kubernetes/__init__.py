"""Runs tasks as pods of a Kubernetes cluster, one pod an attempt, on the node that was chosen.

The cluster is the memory of this backend. A pod's name follows from the attempt's key, so that the API server itself
makes twice equal once. A finalizer keeps the pod when it was deleted, by whomever, until its end has been known for a
while; and an attempt that was stopped before there was a pod leaves one that never runs, in the way of a late bind.

    settings   validated once at start          outcome    a pod: how far it has come, and how it ended
    naming     keys, pods, nodes: their names   machines   nodes: what they have and what others take of it
    manifest   an assignment as a pod           attempts   our pods: what was reported of each, what is to be
    volumes    what a pod mounts                claims     whether the claims among it are of use
    amounts    quantities of Kubernetes         output     what a pod printed, from a byte offset
    upkeep     old pods, stuck, measured use    ownership  whose pods are ours
    backend    the contract
"""
