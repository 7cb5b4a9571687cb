"""What measurements say about the network: whom to probe, statistics of pairs, distances, estimates, levels.

All of it is pure: results of probes and times come in as arguments. Sending probes is left to `dovetail.agent.probing`,
collecting results to the subsystem `dovetail.control.subsystems.network`.
"""
