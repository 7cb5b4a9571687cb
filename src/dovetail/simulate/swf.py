"""Batch logs in the Standard Workload Format, as the Parallel Workloads Archive keeps them.

A line a job, 18 numbers each (-1: not known), after a header of `; Name: value` lines; plain or gzipped.
Guarantees: jobs come in the order of their submission, equal moments in that of the file. Jobs that never ran
or request more processors than exist are skipped and counted. Any other error names its line.

What is played is the whole log, or `sequences` of consecutive jobs that begin where they did in the published
comparisons (RLScheduler, SC'20): places are drawn by NumPy's `RandomState`, seeded as old OpenAI gym did it. A
sequence's length of jobs at both ends of the log is left out, as it was there. Left to others: the policy.
"""

import gzip
import math
import re
import zlib
from collections.abc import Sequence
from hashlib import sha512
from typing import NamedTuple

import numpy as np

from dovetail.model.text.complaint import Complaint, Invalid
from dovetail.model.text.quantity import MAX_CORES, MAX_DURATION_S
from dovetail.model.text.strict import shown

GZIP_MAGIC = b"\x1f\x8b"
FIELDS = (
    "job number",
    "submit time",
    "wait time",
    "run time",
    "allocated processors",
    "average CPU time",
    "used memory",
    "requested processors",
    "requested time",
    "requested memory",
    "status",
    "user",
    "group",
    "executable",
    "queue",
    "partition",
    "preceding job",
    "think time",
)
_NUMBER, _SUBMIT, _RUN, _ALLOCATED, _ASKED, _REQUESTED, _USER = 0, 1, 3, 4, 7, 8, 11
_SIZE = re.compile(r";\s*(MaxProcs|MaxNodes)\s*:\s*(\d{1,9})\b")


class BatchJob(NamedTuple):
    """`requested_s` is known at submission and may be exceeded; `run_s` is known only at the end."""

    number: int
    submit_s: float
    run_s: float
    requested_s: float
    processors: int
    user: str | None  # `u12`


class BatchLog(NamedTuple):
    source: str
    processors: int
    jobs: tuple[BatchJob, ...]
    left_out: int


def read_swf(data: bytes, source: str) -> BatchLog:
    """Raises Invalid, with the line where there is one."""
    sizes: dict[str, int] = {}
    rows: list[list[float]] = []
    for number, line in enumerate(_text(data, source).splitlines(), start=1):
        if line.startswith(";"):
            if found := _SIZE.match(line):
                sizes.setdefault(found[1], int(found[2]))
        elif line.strip():
            rows.append(_numbers(line.split(), source, number))
    if not rows:
        raise _wrong(source, None, "holds no job of the Standard Workload Format")
    processors = sizes.get("MaxProcs") or sizes.get("MaxNodes") or 0
    if not 0 < processors <= MAX_CORES:
        words = "the header does not say how many processors there were; put a line such as '; MaxProcs: 128' first"
        raise _wrong(source, None, words)
    known = [job for job in map(_job, rows) if job.run_s > 0 and job.processors <= processors]
    known.sort(key=lambda job: job.submit_s)  # stable: file order among equals
    if not known:
        raise _wrong(source, None, f"none of its {len(rows)} jobs ran on at most {processors} processors")
    return BatchLog(source, processors, tuple(known), len(rows) - len(known))


def _text(data: bytes, source: str) -> str:
    if data.startswith(GZIP_MAGIC):
        try:
            data = gzip.decompress(data)
        except (OSError, EOFError, zlib.error) as error:
            raise _wrong(source, None, f"cannot be unpacked: {error}") from None
    if b"\0" in data[:4096]:
        raise _wrong(source, None, "is not text; a log of the Standard Workload Format is, or is gzipped text")
    return data.decode("utf-8", errors="replace")  # headers name people and places in any encoding


def _numbers(words: list[str], source: str, line: int) -> list[float]:
    if len(words) != len(FIELDS):
        message = f"is no job of the Standard Workload Format: it has {len(words)} words, a job has {len(FIELDS)}"
        raise _wrong(source, line, f"{message} numbers")
    try:
        found = list(map(float, words))
    except ValueError:
        found = []
    if not found or not all(map(math.isfinite, found)):
        place = next(index for index, word in enumerate(words) if not _is_number(word))
        raise _wrong(source, line, f"{FIELDS[place]}: {shown(words[place])} is not a number")
    for place in (_SUBMIT, _RUN, _REQUESTED):
        if found[place] > MAX_DURATION_S:
            raise _wrong(source, line, f"{FIELDS[place]}: {shown(words[place])} is more seconds than a hundred years")
    return found


def _is_number(word: str) -> bool:
    try:
        return math.isfinite(float(word))
    except ValueError:
        return False


def _job(row: list[float]) -> BatchJob:
    run_s, requested_s = row[_RUN], row[_REQUESTED]
    return BatchJob(
        number=int(row[_NUMBER]),
        submit_s=max(row[_SUBMIT], 0.0),
        run_s=run_s,
        requested_s=run_s if requested_s < 0 else requested_s,
        processors=int(max(row[_ALLOCATED], row[_ASKED], 1)),  # what ran had at least one, also where nobody noted it
        user=None if row[_USER] < 0 else f"u{int(row[_USER])}",
    )


def _wrong(source: str, line: int | None, message: str) -> Invalid:
    return Invalid([Complaint(source, line, "", message)])


class TooShort(ValueError):
    """The log has too few jobs for sequences of that length; says how many would do."""


def sequences(log: BatchLog, count: int, length: int, seed: int) -> list[Sequence[BatchJob]]:
    """`count` times `length` consecutive jobs. Raises TooShort."""
    return [log.jobs[offset : offset + length] for offset in offsets(len(log.jobs), count, length, seed)]


def offsets(jobs: int, count: int, length: int, seed: int) -> list[int]:
    """Where the sequences begin, counted from 0 in the order of submission. Raises TooShort."""
    if length > jobs:
        raise TooShort(f"a sequence of {length} jobs is longer than the log, which has {jobs}")
    first, last = length, jobs - length - 1  # the last one is left out
    if first >= last:
        longest = (jobs - 2) // 2
        advice = f"take at most {longest}, or the whole log" if longest > 0 else "take the whole log"
        raise TooShort(f"{jobs} jobs are too few to draw sequences of {length} from; {advice}")
    chance = np.random.RandomState(_words(seed))
    return [int(chance.randint(first, last)) for _ in range(count)]


def _words(seed: int) -> list[int]:
    """A digest of the seed in 32-bit words, the low one first."""
    rest = int.from_bytes(sha512(str(seed).encode()).digest()[:8], "little")
    found = []
    while rest:
        rest, word = divmod(rest, 2**32)
        found.append(word)
    return found
