"""Network cost: how long the ranks of a placement take to exchange data.

Here belong collective patterns and what they put on the links. Paths and distances are in
`dovetail.cluster.network`.
"""
