"""Options that several commands have: who makes a change and why, the resources of one task, a duration, which rows of
a list."""

import getpass
from typing import Annotated, Any

from dovetail.cli.terminal.failure import ExitCode, Failure
from dovetail.cli.terminal.parameters import Option

By = Annotated[str, Option("--by", metavar="TEXT", help="Who makes the change, for the history.")]
Note = Annotated[str, Option("--note", metavar="TEXT", help="Why, for the history.")]
Cpu = Annotated[str | None, Option(metavar="CORES", help="Cores, such as 2, 0.5 or 500m.")]
Memory = Annotated[str | None, Option(metavar="BYTES", help="Memory, such as 512MiB or 64GiB.")]
Disk = Annotated[str | None, Option(metavar="BYTES", help="Disk, such as 10GiB.")]
Gpu = Annotated[str | None, Option("--gpu", "--gpus", metavar="N", help="Whole GPUs, or a share of one such as 0.25.")]
Search = Annotated[str, Option(metavar="TEXT", help="Only rows that contain this.")]
Limit = Annotated[int | None, Option(metavar="N", min=1, help="How many at most; all if left out.")]


def sorts_by(*columns: str) -> Option:
    """The option of a list: which column sorts it."""
    return Option(metavar="COLUMN", help=f"{', '.join(columns)}; -COLUMN: descending.", words=columns)


def login() -> str:
    """The user that runs this program (not verified); empty if it has no name."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # no entry in the list of users, as in many containers
        return ""


def resources(cpu: str | None, memory: str | None, disk: str | None, gpu: str | None) -> dict[str, Any]:
    """Only what was given; checking the quantities is left to the model."""
    given = {"cpu": cpu, "memory": memory, "disk": disk, "gpu": gpu}
    return {name: value for name, value in given.items() if value is not None}


def seconds(option: str, duration: str | None) -> float | None:
    """The value of an option such as `2h`. Raises Failure."""
    from dovetail.model.text.quantity import parse_duration_s

    try:
        return None if duration is None else parse_duration_s(duration)
    except ValueError as error:
        raise Failure(f"{option}: {error}", ExitCode.USAGE) from None
