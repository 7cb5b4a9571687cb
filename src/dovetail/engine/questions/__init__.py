"""Questions: the engine's read-only interface for the API, the control plane, the simulator and adapters.

Here belong the parts of `Questions`, one module a subject, with the values that they return. Nothing here changes a
later decision. Events and their handlers belong to `engine.events`, sentences for users to `api.questions`.
"""
