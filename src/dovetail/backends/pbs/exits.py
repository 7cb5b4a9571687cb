"""What `Exit_status` of a job means. Pure.

From 0 to 255 it is the status of the script, above 255 a signal ended it (256 + its number). A negative one is PBS's
own: the job was not started, was to be run again, or used more than it asked for.
"""

from dataclasses import dataclass

from dovetail.backends.batch.ends import KILLED_EXIT, TIME_LIMIT_EXIT
from dovetail.model.failure_cause import FailureCause

FIRST_SIGNAL = 256


@dataclass(frozen=True, slots=True)
class PbsExit:
    """`exit_code` None: it was lost or never began. `cause`: whose fault that is."""

    words: str
    exit_code: int | None = None
    cause: FailureCause = FailureCause.BACKEND


_NODE, _WORKLOAD = FailureCause.NODE, FailureCause.WORKLOAD
#: By `Exit_status`.
NEGATIVE_EXITS = {
    -1: PbsExit("its node could not start it, before its files were staged", cause=_NODE),
    -2: PbsExit("its node could not start it, after its files were staged", cause=_NODE),
    -3: PbsExit("its node could not start it and asked for another try", cause=_NODE),
    -4: PbsExit("its node's daemon was restarted and aborted it"),
    -5: PbsExit("its node's daemon was restarted and aborted it; it may be restarted there from a checkpoint"),
    -6: PbsExit("its node's daemon was restarted and aborted it; it may be restarted from a checkpoint"),
    -7: PbsExit("it could not be restarted from its checkpoint"),
    -10: PbsExit("its user or group is not valid on its node", cause=_NODE),
    -11: PbsExit("it was rerun"),
    -12: PbsExit("it was checkpointed and ended"),
    -13: PbsExit("its user has a wrong password", cause=_NODE),
    -14: PbsExit("it was rerun: another node of it failed"),
    -15: PbsExit("it was queued again, to be restarted from a checkpoint"),
    -16: PbsExit("a hook of its node rejected it for now", cause=_NODE),
    -17: PbsExit("a hook of its node rejected it", cause=_NODE),
    -18: PbsExit("a hook of its node asked that it is run again", cause=_NODE),
    -19: PbsExit("a hook of its node deleted it", cause=_NODE),
    -20: PbsExit("it was rerun: the connection to its first node was lost"),
    -21: PbsExit("PBS found its own folder on the node not safe", cause=_NODE),
    -22: PbsExit("a hook of its node failed", cause=_NODE),
    -23: PbsExit("it has no Kerberos credentials", cause=_WORKLOAD),
    -24: PbsExit("killed: used more CPUs than it asked for, for a moment", KILLED_EXIT, _WORKLOAD),
    -25: PbsExit("killed: used more CPUs than it asked for", KILLED_EXIT, _WORKLOAD),
    -26: PbsExit("killed: used more memory than it asked for (vmem)", KILLED_EXIT, _WORKLOAD),
    -27: PbsExit("killed: used more memory than it asked for", KILLED_EXIT, _WORKLOAD),
    -28: PbsExit("killed: used more CPU time than it asked for", KILLED_EXIT, _WORKLOAD),
    -29: PbsExit("stopped: it ran longer than its time limit", TIME_LIMIT_EXIT, _WORKLOAD),
    -30: PbsExit("its nodes could not join it", cause=_NODE),
}


def meaning_of(exit_status: int) -> PbsExit | None:
    """None for one that is not PBS's own."""
    if exit_status >= 0:
        return None
    return NEGATIVE_EXITS.get(exit_status, PbsExit(f"PBS ended it with its own status {exit_status}"))
