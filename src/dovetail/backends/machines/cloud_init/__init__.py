"""Jobs that cloud-init runs alone: each in the user data of a machine of its own, its end on the console of that.

Neither an agent nor a network path to the control plane is needed. `runner` runs on the machine.
"""
