"""The REST doors of the control plane: one router a noun, errors as problem documents.

Nothing is decided here. A route reads what was sent, asks the control plane, and writes down the answer.
"""
