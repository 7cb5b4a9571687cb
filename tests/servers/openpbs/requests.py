"""What users of the stand-in ask for: chunks, place and arrays, read by a parser of its own.

It is no copy of the product's: the two check each other.
"""

import re
from dataclasses import dataclass, field

ARRANGEMENTS = ("free", "pack", "scatter", "vscatter")
SHARINGS = ("excl", "exclhost", "shared")
SIZES = {"b": 1, "kb": 2**10, "mb": 2**20, "gb": 2**30, "tb": 2**40}


class PbsError(Exception):
    """What a command says, in OpenPBS's words."""

    def __init__(self, words: str, status: int = 1) -> None:
        super().__init__(words)
        self.status = status


@dataclass
class Asked:
    """One chunk, once: amounts, and resources that have to be equal."""

    amounts: dict[str, int]
    equal: dict[str, str]


@dataclass
class Placing:
    arrangement: str = "free"
    exclusive: bool = False
    group: str | None = None


@dataclass
class Wanted:
    """`text`: the select as it was written."""

    chunks: list[Asked]
    placing: Placing
    text: str = "1:ncpus=1"
    place: str = "free"
    walltime_s: int | None = None
    totals: dict[str, int] = field(default_factory=dict)


def size(text: str) -> int:
    match = re.fullmatch(r"(\d+)([kmgt]?b)?", text)
    if not match:
        raise PbsError("Illegal attribute or resource value")
    return int(match[1]) * SIZES[match[2] or "b"]


def seconds(text: str) -> int:
    total = 0
    for part in text.split(":"):
        if not part.isdigit():
            raise PbsError("Illegal attribute or resource value")
        total = total * 60 + int(part)
    return total


def chunks_of(text: str, known: set[str]) -> list[Asked]:
    """`known`: the resources that the complex has."""
    found = []
    for part in text.split("+"):
        words = part.split(":")
        count = int(words.pop(0)) if words and words[0].isdigit() else 1
        asked = Asked({}, {})
        for word in words:
            name, sign, value = word.partition("=")
            if not sign or not value or name in asked.amounts | asked.equal:
                raise PbsError("Illegal attribute or resource value")
            if name not in known:
                raise PbsError(f"Unknown resource: {name}")
            if name == "mem":
                asked.amounts[name] = size(value)
            elif value.isdigit():
                asked.amounts[name] = int(value)
            else:
                asked.equal[name] = value
        asked.amounts.setdefault("ncpus", 1)
        found += [asked] * count
    if not found:
        raise PbsError("Illegal attribute or resource value")
    return found


def placing_of(text: str) -> Placing:
    placing, seen = Placing(), set[str]()
    for word in text.split(":"):
        kind = "arrangement" if word in ARRANGEMENTS else "sharing" if word in SHARINGS else "group"
        if kind in seen or (kind == "group" and not re.fullmatch(r"group=\w+", word)):
            raise PbsError("Illegal attribute or resource value")
        seen.add(kind)
        if kind == "arrangement":
            placing.arrangement = word
        elif kind == "sharing":
            placing.exclusive = word != "shared"
        else:
            placing.group = word.partition("=")[2]
    return placing


def wanted_of(lists: list[str], known: set[str]) -> Wanted:
    """From the values of `-l`. Commas divide them, except inside `select`, which has none."""
    said: dict[str, str] = {}
    for item in ",".join(lists).split(","):
        name, _, value = item.partition("=")
        if name:
            said[name] = value
    for name in said:
        if name not in ("select", "place", "walltime"):
            if "select" in said:
                raise PbsError(f'"-lresource=" cannot be used with "select" or "place", resource is: {name}')
            raise PbsError(f"Unknown resource: {name}")
    if "place" in said and "select" not in said:
        raise PbsError('Cannot have "place" without "select"')
    text, place = said.get("select", "1:ncpus=1"), said.get("place", "free")
    wanted = Wanted(chunks_of(text, known), placing_of(place), text, place)
    wanted.walltime_s = seconds(said["walltime"]) if "walltime" in said else None
    for chunk in wanted.chunks:
        for name, amount in chunk.amounts.items():
            wanted.totals[name] = wanted.totals.get(name, 0) + amount
    return wanted


def indices_of(text: str) -> list[int]:
    """`0-7` or `1-9:2`: one range, of at least two."""
    match = re.fullmatch(r"(\d+)-(\d+)(?::(\d+))?", text)
    found = list(range(int(match[1]), int(match[2]) + 1, int(match[3] or 1))) if match else []
    if len(found) < 2:
        raise PbsError("illegal -J value")
    return found
