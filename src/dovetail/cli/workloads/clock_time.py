"""Time limits as people of Slurm write them: `1:30:00`, `2-12`, `90:00`; and as Dovetail does: `90m`."""

from dovetail.cli.terminal.failure import ExitCode, Failure

_ACCEPTED = "write 90m, 1h30m, 1:30:00 (hours, minutes, seconds) or 1-12 (days-hours)"


def time_limit(text: str) -> str:
    """A duration of the model. A number alone is refused: it is minutes in Slurm and seconds here."""
    text = text.strip()
    if text.isdigit():
        raise Failure(f"--time {text}: without a unit; write {text}m for minutes, {text}s for seconds", ExitCode.USAGE)
    try:
        return clock_time(text) if text[-1:].isdigit() else text
    except ValueError as error:
        raise Failure(f"--time {error}", ExitCode.USAGE) from None


def clock_time(text: str) -> str:
    """`MINUTES`, `MINUTES:SECONDS`, `HOURS:MINUTES:SECONDS`, or `DAYS-` before `HOURS[:MINUTES[:SECONDS]]`, as sbatch
    takes them. Raises ValueError."""
    days, dash, clock = text.strip().rpartition("-")
    parts = clock.split(":")
    if not all(part.isascii() and part.isdigit() and len(part) < 8 for part in [*parts, *([days] if dash else [])]):
        raise ValueError(f"{text}: not a time; {_ACCEPTED}")
    numbers = [int(part) for part in parts]
    if len(numbers) > 3:
        raise ValueError(f"{text}: not a time; {_ACCEPTED}")
    if dash:
        hours, minutes, seconds = [*numbers, 0, 0][:3]
    else:
        hours, minutes, seconds = {1: [0, *numbers, 0], 2: [0, *numbers], 3: numbers}[len(numbers)]
    return f"{((int(days) if dash else 0) * 24 + hours) * 3600 + minutes * 60 + seconds}s"
