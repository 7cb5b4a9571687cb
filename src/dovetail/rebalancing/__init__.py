"""Rebalancing: which running tasks to move so that nodes are used evenly. Pure: arrays and numbers in, moves out.

What is seen of the cluster comes from `engine.questions.balance_questions`; who carries moves out is
`control.rebalancing`.
"""
