"""Bare metal: machines that are powered on and off through their management controllers, by Redfish or IPMI.

Work runs through the agent that each machine starts when it boots. Launching, idle times and nodes are those of
`backends/machines`. What belongs to an agent or an operating system does not belong here.
"""
