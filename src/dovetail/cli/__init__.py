"""The `dovetail` command: one file a command, loaded when it is called.

Guarantees: `dovetail --help` imports no command, no HTTP library and no rendering. Every other room is reached through
the client, the control plane or the simulator; nothing imports this room.
"""
