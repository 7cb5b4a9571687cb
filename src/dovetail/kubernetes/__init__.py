"""Kubernetes: what its objects mean to the engine, and the programs between the two.

`objects` and `devices` read objects, `checking` compares verdicts with recorded ones: these are pure. `scheduler`
places pods, `extender` answers a stock kube-scheduler. The API is spoken by `dovetail.kubernetes_client`. The engine
gets events and answers questions (`dovetail.engine.questions.questions`); its state is not touched here.
"""
