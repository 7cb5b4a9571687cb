"""The REST API of the control plane: a module or package a noun, `protocol` for what all routes share, and `app`.

A route reads what was sent, asks the control plane, and writes the answer as one of `dovetail.responses`. It decides
nothing, and it reads the engine only through `plane.questions`.
"""
