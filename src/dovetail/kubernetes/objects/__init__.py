"""Kubernetes objects read as the engine's requests: pods, nodes, volumes, gangs, budgets. Pure. Devices have a
package of their own."""
