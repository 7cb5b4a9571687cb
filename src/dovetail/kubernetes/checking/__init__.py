"""Our verdicts in kube-scheduler's terms, and recorded scenarios that compare them with its own. Pure."""
