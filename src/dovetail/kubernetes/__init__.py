"""Kubernetes: what its objects mean to the engine, and the programs that stand between the two.

Reading objects, verdicts and checks against recorded ones are pure; whatever talks to an API server has its own module.
"""
