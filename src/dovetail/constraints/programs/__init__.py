"""From a tree to an array program: types are checked, functions resolved, and conditions evaluated over all nodes.

Here belong the vocabulary that expressions may use, their values, and explanations of why a condition does not
hold.
"""
