"""Functions that tests run as tasks: a task imports them from here."""

import os
import sys
import threading
import time
from pathlib import Path


def double(number: int) -> int:
    return 2 * number


def keyword(first: str, *, second: str) -> str:
    return f"{first} {second}"


def where() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name.startswith("DOVETAIL_")}


def broken(word: str) -> None:
    raise LookupError(word)


def killed() -> None:
    print("so long", flush=True)
    os._exit(7)


def not_picklable() -> object:
    return threading.Lock()


def fails_once(mark: str) -> str:
    """On its second attempt it succeeds."""
    if not Path(mark).exists():
        Path(mark).touch()
        sys.exit("first attempt")
    return "second attempt"


def until(file: str) -> str:
    while not Path(file).exists():
        time.sleep(0.01)
    return "done"
