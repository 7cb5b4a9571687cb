"""One call of a function inside a task:  DOVETAIL_CALL=FILE.call python -P remote_call.py

The program that `executor` makes its tasks run. It uses nothing but the standard library and is started by its path, so
that a task is ready in a few milliseconds. The file has two pickles: how to prepare the process, and the call. The
outcome is written beside it as `FILE.outcome`, at once or not at all; the exit status is 1 if the function raised.

Tasks may run as another user than who calls, so that all may write to the folder, and nobody may list it. The name of
the file is random and stands in the environment, which other users cannot read either: only the task finds its call,
and nobody else can leave an outcome for us to unpickle.
"""

import os
import pickle
import sys
import traceback
from collections.abc import Callable
from multiprocessing import spawn
from pathlib import Path
from typing import Any, NamedTuple

VARIABLE = "DOVETAIL_CALL"
FOLDER_MODE, FILE_MODE = 0o733, 0o644


class CallOutcome(NamedTuple):
    """What the function returned, or what it raised and where, in words. A value that cannot be pickled is an error."""

    value: Any
    error: BaseException | None
    trace: str


def outcome_file(call: Path) -> Path:
    return call.with_suffix(".outcome")


def _partial_file(call: Path) -> Path:
    return call.with_suffix(".partial")


def write_call(file: Path, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Raises what pickling raises."""
    call = pickle.dumps((function, args, kwargs))
    prepared: dict[str, Any] = {"sys_path": [path or str(Path.cwd()) for path in sys.path], "dir": str(Path.cwd())}
    main = getattr(sys.modules["__main__"], "__file__", None)
    if main is not None and b"__main__" in call:  # as multiprocessing does: the script is imported under another name
        prepared["init_main_from_path"] = str(Path(main).resolve())
    file.write_bytes(pickle.dumps(prepared) + call)
    file.chmod(FILE_MODE)


def read_outcome(call: Path) -> CallOutcome | None:
    """None if the call never came to its end."""
    try:
        with outcome_file(call).open("rb") as file:
            return CallOutcome(*pickle.load(file))  # noqa: S301 - our own task wrote it, in our own folder
    except FileNotFoundError:
        return None


def run(file: Path) -> int:
    for left in (outcome_file(file), _partial_file(file)):  # by an attempt before this one, maybe of another user
        left.unlink(missing_ok=True)
    try:
        with file.open("rb") as stream:
            spawn.prepare(pickle.load(stream))  # noqa: S301 - the program that submitted this task wrote it
            function, args, kwargs = pickle.load(stream)  # noqa: S301
        outcome = CallOutcome(function(*args, **kwargs), None, "")
    except BaseException as error:
        outcome = CallOutcome(None, error, traceback.format_exc())
    _write(file, outcome)
    return int(outcome.error is not None)


def _write(file: Path, outcome: CallOutcome) -> None:
    try:
        written = pickle.dumps(tuple(outcome))
    except Exception as problem:
        words = outcome.trace or f"the result cannot be pickled: {problem}"
        written = pickle.dumps((None, RuntimeError(words.strip().splitlines()[-1]), words))
    partial = _partial_file(file)
    partial.write_bytes(written)
    partial.chmod(FILE_MODE)
    partial.replace(outcome_file(file))


if __name__ == "__main__":
    status = run(Path(os.environ.pop(VARIABLE)))
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)  # threads that the function left behind do not keep the task running
