"""Requirements that no node could satisfy together, found without looking at any node.

Here belong normal forms, ranges and the search for the smallest contradiction. Evaluating nodes belongs to
`programs`.
"""
