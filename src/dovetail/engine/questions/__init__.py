"""Questions: the read-only interface of the engine for the API, the control plane and adapters.

Answers are plain values. Nothing here changes a later decision.
"""
