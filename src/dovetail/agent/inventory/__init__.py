"""What a machine has: network interfaces, GPUs and their links, the switches it is plugged into, its kernel.

`reading` asks all of them and puts the answers together; each other module asks one source.
"""
