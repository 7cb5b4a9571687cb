"""Nodes that do not exist yet: machines that are launched when work is bound to them and ended when they are idle.

A provider (`provider.py`) knows a cloud or a rack: which types of machines there are, how to launch and end one, which
run. Everything else is the same for all of them and stands here. Work runs through the agent that the machine starts.
What belongs to one cloud or to one protocol of metal does not belong here.
"""
