"""The next step of one attempt, as its backend decides it from the journal and from what the host shows."""

from dataclasses import dataclass
from enum import StrEnum


class AttemptAction(StrEnum):
    MAKE = "make"  # the container or VM, without starting it
    START = "start"
    STOP = "stop"
    REST = "rest"  # it is as it should be
    END = "end"
    REPORT = "report"  # its end, which the journal knows


@dataclass(frozen=True, slots=True)
class AttemptStep:
    """All fields but `action` belong to END. `ran`: it was started. `remove`: what was made goes at once."""

    action: AttemptAction
    exit_code: int | None = None
    reason: str = ""
    ran: bool = False
    remove: bool = False
