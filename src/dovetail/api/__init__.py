"""The REST API of the control plane: one package a noun, `protocol` for what all routes share, `app` to assemble them.

A route reads what was sent, asks the control plane, and writes the answer as one of `dovetail.responses`. It decides
nothing, and it reads the engine only through `plane.questions`.
"""
