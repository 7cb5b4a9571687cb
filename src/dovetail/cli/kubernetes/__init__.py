"""Commands that run Dovetail beside a Kubernetes cluster: the check, the scheduler, the extender."""
