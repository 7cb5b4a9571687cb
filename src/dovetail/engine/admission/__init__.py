"""Admission: whether a submission may come in, for the control plane and the simulator alike.

Here belong the checks against names in use, full queues, dependencies and policies. Limits of a server on the size of a
request belong to `dovetail.control`.
"""
