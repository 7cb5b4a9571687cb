"""The program of a reader: takes jobs from its input, one after the other, and writes the answers to its output.

It ends when its input ends, so it never outlives its server. It gives way to the server (`nice`), and takes no more
memory than `MOST_MEMORY_BYTES`.
"""

import os
import pickle
import resource
import signal
import sys
from collections.abc import Iterator
from contextlib import suppress
from typing import IO, Any

from dovetail.api.protocol import reading  # noqa: F401 - the first job does not wait for its imports
from dovetail.api.protocol.readers import ITEMS_AT_ONCE, ReaderEnded, read_frame, send_frame
from dovetail.constraints.syntax import parser
from dovetail.model.text.complaint import Complaint, Invalid

MOST_MEMORY_BYTES = 1024 * 2**20
EXPRESSIONS_AT_ONCE = 2


def main(most_memory_bytes: int = MOST_MEMORY_BYTES) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the server decides when it ends
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_DATA, (most_memory_bytes, most_memory_bytes))
    jobs, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints must not end up among the answers
    parser.warm_up()
    try:
        _serve(jobs, answers)
    except (ReaderEnded, BrokenPipeError):
        os._exit(0)  # the server has ended: nobody takes what is left to say


def _serve(jobs: IO[bytes], answers: IO[bytes]) -> None:
    send_frame(answers, "ready")
    answers.flush()
    while True:
        budget_s, function, args = pickle.loads(read_frame(jobs))  # noqa: S301 - of the server that started it
        signal.setitimer(signal.ITIMER_PROF, budget_s)  # the signal ends the process
        frames = list(_answer(function, args))
        signal.setitimer(signal.ITIMER_PROF, 0)
        send_frame(answers, len(frames))
        for frame in frames:
            send_frame(answers, frame)
        answers.flush()


def _answer(function: Any, args: Any) -> Iterator[tuple[str, Any]]:
    parser.forget()
    try:
        found = function(*args)
    except MemoryError:
        words = "takes too much memory to read; split it"
        yield "error", Invalid([Complaint("request body", None, "", words)])
        return
    except Exception as error:  # the server raises it
        yield "error", error
        return
    for some in _pieces(parser.remembered(), EXPRESSIONS_AT_ONCE):
        yield "expressions", some
    if not isinstance(found, list):
        yield "one", found
        return
    for some in _pieces(found, ITEMS_AT_ONCE):
        yield "some", some


def _pieces(items: list[Any], size: int) -> Iterator[list[Any]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]
