"""Recorded scenarios: a small cluster of Kubernetes objects, one pending pod, and kube-scheduler's verdicts.

A file has one scenario a line, as JSON, compressed or not. Unknown fields are ignored.
"""

import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dovetail.kubernetes_client.objects import Json

_MAGIC = b"\x1f\x8b"


class BadScenario(ValueError):
    """A line that is no scenario: says which, and what is wrong."""


@dataclass(frozen=True, slots=True)
class TheirVerdict:
    """For one node: `plugin` is the first that refuses, `helps` whether eviction could help there."""

    feasible: bool
    plugin: str = ""
    helps: bool = False


@dataclass(frozen=True, slots=True)
class TheirPreemption:
    """`node` is None where they nominate none."""

    node: str | None
    victims: tuple[str, ...]
    violations: int


@dataclass(frozen=True, slots=True)
class RecordedScenario:
    id: str
    objects: Json
    pod: Json
    pods: tuple[Json, ...]
    verdicts: dict[str, TheirVerdict]
    preemption: TheirPreemption | None  # None: some node was feasible


def read_scenarios(path: Path) -> Iterator[RecordedScenario]:
    """Raises BadScenario, and OSError where the file cannot be read."""
    with path.open("rb") as raw:
        packed = raw.read(len(_MAGIC)) == _MAGIC
    with gzip.open(path, "rb") if packed else path.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            if line.strip():
                yield _scenario(line, f"{path.name}, line {number}")


def _scenario(line: bytes, where: str) -> RecordedScenario:
    try:
        found = json.loads(line)
        return RecordedScenario(
            id=str(found["id"]),
            objects=found,
            pod=found["pod"],
            pods=tuple(found["pods"]),
            verdicts={node: _verdict(said) for node, said in found["verdict"].items()},
            preemption=None if found.get("preemption") is None else _preemption(found["preemption"]),
        )
    except json.JSONDecodeError as error:
        raise BadScenario(f"{where}: is not JSON: {error}; a scenario is one line of JSON") from None
    except (KeyError, TypeError, AttributeError) as error:
        raise BadScenario(f"{where}: is no scenario: {type(error).__name__} {error}") from None


def _verdict(said: Json) -> TheirVerdict:
    if said["feasible"]:
        return TheirVerdict(feasible=True)
    return TheirVerdict(False, said["plugin"], said["code"] == "Unschedulable")


def _preemption(said: Json) -> TheirPreemption:
    node = said.get("nominatedNode") or None
    chosen = [one for one in said.get("candidates") or () if one["node"] == node]
    violations = chosen[0].get("pdbViolations") or 0 if chosen else 0
    return TheirPreemption(node, tuple(said.get("victims") or ()), violations)
