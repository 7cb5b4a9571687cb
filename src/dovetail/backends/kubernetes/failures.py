"""Whose fault a failure of a pod is, read from the reasons that Kubernetes gives and the words of this backend."""

from dovetail.backends.failure_rules import FailureRule, FailureRules
from dovetail.model.failure_cause import FailureCause

WORKLOAD, NODE, BACKEND = FailureCause.WORKLOAD, FailureCause.NODE, FailureCause.BACKEND

FAILURES = FailureRules([
    # What the workload names or asks for.
    FailureRule("ErrImagePull|ImagePullBackOff|ErrImageNeverPull|InvalidImageName|ImageInspectError", WORKLOAD,
                "correct run.image, or give the namespace a pull secret"),
    FailureRule("CreateContainerConfigError|CreateContainerError", WORKLOAD,
                "correct run, or make what it names (secrets, config maps, volumes)"),
    FailureRule("RunContainerError|StartError|ContainerCannotRun", WORKLOAD, "correct run.command and run.workdir"),
    FailureRule("OOMKilled: used more memory than its limit", WORKLOAD, "raise limits.memory, or use less"),
    FailureRule("Evicted: .*exceeds", WORKLOAD, "use less disk, or ask for more"),
    FailureRule("ran longer than its time limit", WORKLOAD),
    FailureRule("PodOSNotSupported", WORKLOAD, "ask for nodes of its operating system"),
    FailureRule("the cluster does not take it", WORKLOAD),
    # What the node cannot do.
    FailureRule("UnexpectedAdmissionError|TopologyAffinityError|InvalidNodeInfo", NODE, "look at the node's kubelet"),
    FailureRule("Evicted|NodeLost|OOMKilled: its node", NODE),
    # What passes.
    FailureRule("RegistryUnavailable|NodeShutdown|Shutdown|Preempting", BACKEND),
    # OutOfcpu, NodeAffinity, NodePorts and the like are of unknown cause: the node has changed since it was chosen.
])  # fmt: skip
