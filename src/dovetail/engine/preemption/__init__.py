"""Preemption: which running tasks are stopped for more urgent work.

Here belong who may preempt whom, and stopping the victims. The search for the cheapest victims is array code in
`dovetail.placement.preemption`.
"""
