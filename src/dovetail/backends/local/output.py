"""Reads the output of an attempt from its run folder."""

from pathlib import Path

from dovetail.backends.contract import LogChunk
from dovetail.backends.local.run_folder import LocalRunFolder, RunPhase
from dovetail.backends.local.supervisor import ORDER, OUTPUT
from dovetail.backends.log_text import read_output


def read_attempt_output(folder: Path, key: str, offset: int, limit: int) -> LogChunk:
    """Raises KeyError for a key that was never bound here."""
    try:
        run = LocalRunFolder(folder, key)
    except ValueError as error:
        raise KeyError(str(error)) from None
    if not (run.path / ORDER).exists():
        raise KeyError(f"no logs of attempt {key}: it was never started here, or its run folder has been removed")
    finished = run.look().phase is RunPhase.FINISHED
    return read_output(run.path / OUTPUT, offset, limit, ended=finished, at_least=1)
