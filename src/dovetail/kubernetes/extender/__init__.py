"""Dovetail beside a stock kube-scheduler: its extender webhooks, answered by the engine."""
