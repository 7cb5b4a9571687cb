"""Why PBS does not answer or does not accept a job, and what follows. Pure.

What passes by itself is waited out and counts against nobody: a server that restarts, a full queue. What the job itself
asks for wrongly counts against its workload. The words are those of OpenPBS, of Torque, and of Slurm behind commands of
these names.
"""

from dovetail.backends.failure_rules import FailureRule, FailureRules
from dovetail.model.failure_cause import FailureCause

#: Answers that say nothing about the job: PBS could not be reached, or is too busy. The call is repeated.
TRANSIENT_ANSWERS = (
    "cannot connect to server",
    "could not connect to",
    "Communication failure",
    "Connection refused",
    "Connection reset by peer",
    "Connection timed out",
    "No free connections",
    "Server connection table full",
    "End of File",
    "Batch protocol error",
    "Server shutting down",
    "PBS server internal error",
    "Unauthorized Request",  # munge or the authentication service is restarting
    "Problem loading",  # Slurm's qstat and pbsnodes, when its controller does not answer
    "Unable to contact slurm controller",
    "Socket timed out",
    "Zero Bytes were transmitted",
    "temporarily unable to accept job",
    "Protocol authentication error",
)

#: Errors of a submission: there is no job. Any other error is the job's own: its queue, its account, its amounts.
SUBMISSION_ERRORS = FailureRules(
    [
        FailureRule("Maximum number of jobs|would exceed .* limit of jobs", FailureCause.BACKEND),
        FailureRule("would exceed|exceed .*'s limit", FailureCause.BACKEND),
        FailureRule("Queue is not enabled|Resource temporarily unavailable", FailureCause.BACKEND),
        FailureRule("partition not available|nodes are busy|node not available", FailureCause.BACKEND),
        FailureRule("Unknown node|Server has no node list", FailureCause.BACKEND),
        FailureRule("", FailureCause.WORKLOAD),
    ]
)


def is_transient(words: str) -> bool:
    """Whether a repeated call may succeed."""
    return any(sign in words for sign in TRANSIENT_ANSWERS)
