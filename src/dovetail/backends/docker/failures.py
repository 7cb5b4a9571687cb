"""Whose fault a failure of a container is, read from the words of the engine and of this backend."""

from dovetail.backends.failure_rules import FailureRule, FailureRules
from dovetail.model.failure_cause import FailureCause

WORKLOAD, NODE, BACKEND, UNKNOWN = FailureCause.WORKLOAD, FailureCause.NODE, FailureCause.BACKEND, FailureCause.UNKNOWN
_PULL = "cannot pull image"
_BUSY = r"connection refused|connection reset|timeout|toomanyrequests|too many requests|unexpected EOF|\b50[0234]\b"

FAILURES = FailureRules([
    # What the workload names or asks for.
    FailureRule("no such image|invalid reference format", WORKLOAD, "correct run.image, or load it on the host"),
    FailureRule(f"{_PULL}.*(denied|unauthorized|authenti|not found|manifest unknown)", WORKLOAD,
                "correct run.image, or give the backend a login for its registry (registries)"),
    FailureRule(f"{_PULL}.*({_BUSY})", BACKEND, "it is tried again until the registry answers"),
    FailureRule(_PULL, WORKLOAD, "correct run.image, or see to it that the host reaches the registry"),
    FailureRule("executable file not found|exec: .*(no such file|permission denied|exec format)", WORKLOAD,
                "correct run.command"),
    FailureRule("bind source path does not exist|invalid mount|local volume name", WORKLOAD, "correct run.volumes"),
    FailureRule("the working directory|/merged/.*not a directory", WORKLOAD, "correct run.workdir"),
    FailureRule("minimum memory limit|memory limit too low", WORKLOAD, "raise limits.memory"),
    FailureRule(r"out of memory \(its limit", WORKLOAD, "raise limits.memory, or use less"),
    FailureRule("ran longer than its time limit", WORKLOAD),
    FailureRule("unable to find user", WORKLOAD, "use an image that has the user of the backend's settings"),
    # What the host lacks.
    FailureRule("no space left on device", NODE, "make room on the host's disk"),
    FailureRule("read-only file system|input/output error", NODE, "look at the host's disk"),
    # Only work that asks for devices meets this: of unknown cause, so that it takes no node from the others.
    FailureRule("device driver|device information|nvidia-container-cli", UNKNOWN, "look at the host's drivers"),
    FailureRule("unknown runtime|network .* not found", NODE, "correct the backend's settings, or set up the host"),
    # What passes.
    FailureRule("is offline:|fell silent|shutting down|is restarting", BACKEND),
])  # fmt: skip
