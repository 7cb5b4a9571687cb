"""The control loop: events in, one slice of deciding, one durable step, then commands out.

Here belong the turns of the loop, its inbox, the history that a step leaves, and the threads of the store. What is done
with a command belongs to `backends`; what runs beside the loop to `subsystems`.
"""
