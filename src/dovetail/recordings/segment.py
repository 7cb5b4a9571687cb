"""A segment: a checkpoint of the whole state, and every step since then, one JSON line each, gzipped.

The first line is the checkpoint: settings of the engine, what a restart would restore, and definitions of unfinished
workloads. Every other line is a durable step: its turns (when, and what was heard in order) and its decisions. A turn
ends with the engine's changes being taken, which is part of what makes decisions repeatable.

Guarantees: a segment that was cut short, because the server was killed, is read up to its last whole line. Values of
`env` are in it, as in the database: only administrators may read one.
"""

import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, NamedTuple

import orjson
from pydantic import TypeAdapter

from dovetail import __version__
from dovetail.model.batch import Batch
from dovetail.model.event import Event
from dovetail.model.record import Decision, Snapshot
from dovetail.recordings.event_lines import event_line, event_of

FORMAT = 1
SUFFIX = ".jsonl.gz"
_NAME = "%Y%m%dT%H%M%S.%fZ"

_SNAPSHOT: TypeAdapter[Snapshot] = TypeAdapter(Snapshot)


def name_of(at: float) -> str:
    """Of the file of a segment that begins then; sorted by name, they are sorted by time."""
    return f"{datetime.fromtimestamp(at, UTC).strftime(_NAME)}{SUFFIX}"


def time_of(name: str) -> float:
    """0 for a name that `name_of` did not give."""
    try:
        return datetime.strptime(name.removesuffix(SUFFIX), _NAME).replace(tzinfo=UTC).timestamp()
    except ValueError:
        return 0.0


class NotASegment(ValueError):
    """The file is no recording, or one of another version: says which."""


class RecordedDecision(NamedTuple):
    """`node` None: it stayed pending."""

    workload: int
    replica: int
    attempt: int
    node: str | None

    @staticmethod
    def of(decision: Decision) -> "RecordedDecision":
        return RecordedDecision(*decision.task, decision.attempt, decision.node)


@dataclass(frozen=True, slots=True)
class RecordedTurn:
    """`missing`: names of events that were too large to be kept."""

    at: float
    events: list[Event]
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RecordedStep:
    turns: list[RecordedTurn]
    decisions: list[RecordedDecision]


@dataclass(frozen=True, slots=True)
class Segment:
    """`settings`: JSON of the engine's settings. `definitions`: of unfinished workloads, JSON by id. `continues`: the
    server ran on from the segment before it; otherwise it had just restored what the checkpoint says."""

    at: float
    version: str
    settings: dict[str, Any]
    snapshot: Snapshot
    definitions: dict[int, str]
    continues: bool = False
    steps: list[RecordedStep] = field(default_factory=list)

    @property
    def ends_at(self) -> float:
        return self.steps[-1].turns[-1].at if self.steps else self.at


def checkpoint_line(
    at: float,
    settings: Mapping[str, Any],
    snapshot: Snapshot,
    definitions: Mapping[int, str],
    *,
    continues: bool,
) -> bytes:
    kept = replace(snapshot, outbox=[], announced={})  # the engine does not look at them
    said = {
        "format": FORMAT,
        "version": __version__,
        "at": at,
        "continues": continues,
        "settings": settings,
        "snapshot": _SNAPSHOT.dump_python(kept, mode="json"),
        "definitions": {str(id_): text for id_, text in definitions.items()},
    }
    return orjson.dumps(said) + b"\n"


def step_line(batch: Batch) -> bytes:
    turns = [[turn.at, [event_line(event) for event in turn.events]] for turn in batch.heard]
    decisions = [RecordedDecision.of(decision) for decision in batch.changes.decisions]
    return orjson.dumps([turns, [list(decision) for decision in decisions]]) + b"\n"


def read_segment(data: bytes, source: str) -> Segment:
    """Raises NotASegment."""
    lines = _lines(data)
    try:
        head = orjson.loads(next(lines, b""))
        if head["format"] != FORMAT:
            raise NotASegment(f"{source} has format {head['format']}; this version reads {FORMAT}")
        found = Segment(
            at=head["at"],
            version=head["version"],
            settings=head["settings"],
            snapshot=_SNAPSHOT.validate_python(head["snapshot"]),
            definitions={int(id_): text for id_, text in head["definitions"].items()},
            continues=head["continues"],
        )
        for line in lines:
            turns, decisions = orjson.loads(line)
            found.steps.append(
                RecordedStep([_turn(*turn) for turn in turns], [RecordedDecision(*d) for d in decisions])
            )
    except NotASegment:
        raise
    except (ValueError, KeyError, TypeError) as error:
        raise NotASegment(f"{source} is no recording that this version can read: {error}") from None
    return found


def _turn(at: float, lines: list[list[Any]]) -> RecordedTurn:
    heard = [event_of(line) for line in lines]
    missing = tuple(str(line[1]) for line, event in zip(lines, heard, strict=True) if event is None)
    return RecordedTurn(at, [event for event in heard if event is not None], missing)


def _lines(data: bytes) -> Iterator[bytes]:
    """Whole lines, as far as the data goes."""
    unpacked = zlib.decompressobj(wbits=31)
    try:
        text = unpacked.decompress(data)
    except zlib.error as error:
        raise NotASegment(f"it cannot be unpacked: {error}") from None
    whole, _, _ = text.rpartition(b"\n")
    yield from whole.split(b"\n") if whole else ()
