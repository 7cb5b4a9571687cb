"""Commands for policies, constraint expressions and the node affinity of services."""
