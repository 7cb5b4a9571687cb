"""Why Slurm does not answer, does not accept a job or does not start one, and what follows. Pure.

What passes by itself is waited out and counts against nobody: a controller that restarts, nodes that have not
registered yet, a full cluster. What the job itself asks for wrongly counts against its workload. The tables below say
which words mean what: answers to any call, errors of a submission, reasons of a pending job, states of its node.
"""

from dovetail.backends.batch.record import BatchRecord, JobProgress, StartOutlook
from dovetail.backends.failure_rules import FailureRule, FailureRules
from dovetail.backends.slurm.driver import SlurmNode
from dovetail.backends.slurm.states import progress_of
from dovetail.model.failure_cause import FailureCause

#: Answers that say nothing about the job: Slurm could not be reached, or is too busy. The call is repeated.
TRANSIENT_ANSWERS = (
    "Unable to contact slurm controller",
    "Socket timed out",
    "Zero Bytes were transmitted",
    "temporarily unable to accept job",
    "Protocol authentication error",  # munge is restarting, or clocks differ
    "Munge encode failed",
    "Munge decode failed",
    "standby mode",
    "Connection refused",
    "Connection reset by peer",
    "Unexpected message received",
    "configuration source",
)

#: Errors of a submission: there is no job. Any other error is the job's own: its account, its partition, its amounts.
SUBMISSION_ERRORS = FailureRules(
    [
        FailureRule("violates accounting/QOS policy|submit limit|MaxJobCount|too many jobs", FailureCause.BACKEND),
        FailureRule("partition not available|nodes are busy|node not available", FailureCause.BACKEND),
        FailureRule("reservation is not usable|Requested reservation", FailureCause.BACKEND),
        FailureRule("", FailureCause.WORKLOAD),
    ]
)

#: Reasons of a pending job, by their first words. Any other passes: Resources, Priority, Licenses, BeginTime …
PENDING_REASONS = {
    "PartitionTimeLimit": StartOutlook.NEVER,
    "PartitionNodeLimit": StartOutlook.NEVER,
    "PartitionConfig": StartOutlook.NEVER,
    "BadConstraints": StartOutlook.NEVER,
    "InvalidAccount": StartOutlook.NEVER,
    "InvalidQOS": StartOutlook.NEVER,
    "AccountNotAllowed": StartOutlook.NEVER,
    "QOSNotAllowed": StartOutlook.NEVER,
    "PartitionInactive": StartOutlook.ELSEWHERE,
    "PartitionDown": StartOutlook.ELSEWHERE,
    "ReservationDeleted": StartOutlook.ELSEWHERE,
    "ReqNodeNotAvail": StartOutlook.ELSEWHERE,  # unless its node comes back by itself
    "NodeDown": StartOutlook.ELSEWHERE,  # likewise
}
#: Of those, the ones that the state of the node explains.
_OF_THE_NODE = ("ReqNodeNotAvail", "NodeDown")

#: States and flags of a node that is back in a moment: it has not registered since the controller started, it wakes up,
#: it does not respond. One that stays silent becomes DOWN after SlurmdTimeout.
RETURNING = frozenset(
    {"UNKNOWN", "NOT_RESPONDING", "NO_RESPOND", "POWERING_UP", "POWER_UP", "POWERED_DOWN", "POWERING_DOWN"}
)
#: … unless it has one of these, which somebody has to end …
LOST = frozenset({"DOWN", "ERROR", "FUTURE", "DRAIN", "FAIL", "MAINT", "MAINTENANCE"})
#: … but a node that reboots ends them by itself.
REBOOTING = frozenset({"REBOOT", "REBOOT_REQUESTED", "REBOOT_ISSUED"})


def is_transient(words: str) -> bool:
    """Whether a repeated call may succeed."""
    return any(sign in words for sign in TRANSIENT_ANSWERS)


def returns_by_itself(node: SlurmNode) -> bool:
    signs = node.flags | {node.state}
    return bool(signs & REBOOTING) or bool(signs & RETURNING and not signs & LOST)


def outlook_of(job: BatchRecord, *, node_is_lost: bool) -> StartOutlook:
    """`node_is_lost`: its node takes no jobs, and does not return by itself."""
    if progress_of(job) is not JobProgress.WAITING:
        return StartOutlook.WAIT
    if job.reason.startswith(_OF_THE_NODE) and not node_is_lost:
        return StartOutlook.WAIT
    return next((found for words, found in PENDING_REASONS.items() if job.reason.startswith(words)), StartOutlook.WAIT)
