"""What backends share that drive hosts which run on alone: engines of containers, hypervisors.

`attempts` drives each attempt from the journal and what its host shows, `connected_host` stays connected to a host and
reports it as a node, `host_pool` has all hosts of a backend.
"""
