"""Whose fault a failure on this machine is, read from the words of the supervisor."""

from dovetail.backends.failure_rules import FailureRule, FailureRules
from dovetail.model.failure_cause import FailureCause

WORKLOAD, NODE = FailureCause.WORKLOAD, FailureCause.NODE

FAILURES = FailureRules([
    FailureRule("^(working directory|command) .* by user", WORKLOAD, "let that user in, or change run_as"),
    FailureRule("^working directory .* cannot be used", WORKLOAD, "correct run.workdir"),
    FailureRule("^command .* cannot be run", WORKLOAD, "correct run.command"),
    FailureRule("^killed: used more than its memory limit", WORKLOAD, "raise limits.memory, or use less"),
    FailureRule("ran longer than its time limit", WORKLOAD),
    FailureRule("^killed: its folder used more than", WORKLOAD, "keep less there, or raise folder_limit"),
    FailureRule("^its user and namespaces could not be set up", NODE, "look at the kernel's limits of namespaces"),
    FailureRule("^its limits could not be applied", NODE, "look at the cgroups of the machine"),
])  # fmt: skip
