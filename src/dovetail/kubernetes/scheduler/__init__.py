"""Dovetail as a scheduler of a Kubernetes cluster: watches in, bindings out, the engine between them."""
