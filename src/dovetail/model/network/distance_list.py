"""Distances between nodes that are set by hand, one by one or as a CSV table.

    from,to,distance
    n1,n2,25

Guarantees: `read_distances` and `write_distances` are inverse. A pair is given once, in either direction.
"""

import csv
import io
from collections.abc import Iterable
from typing import Annotated, Self

from pydantic import Field, ValidationError, model_validator

from dovetail.model.text.complaint import MAX_COMPLAINTS, Complaint, Invalid
from dovetail.model.text.csv_lines import csv_lines
from dovetail.model.text.strict import AtField, NodeName, Strict, shared, shown
from dovetail.model.text.validation_errors import complaints_of
from dovetail.model.workloads.affinity import Distance

MAX_PAIRS = 200_000
COLUMNS = ("from", "to", "distance")


class NodeDistance(Strict):
    """The symmetric distance of two nodes, 0 to 100."""

    start: NodeName = Field(alias="from")
    end: NodeName = Field(alias="to")
    distance: Distance

    @model_validator(mode="after")
    def _check_two_nodes(self) -> Self:
        if self.start == self.end:
            raise AtField(("to",), f"{shown(self.end)} is 0 from itself; name two nodes")
        return self


class NodeDistances(Strict):
    items: Annotated[list[NodeDistance], Field(max_length=MAX_PAIRS)] = shared([])

    @model_validator(mode="after")
    def _check_unique_pairs(self) -> Self:
        first: dict[frozenset[str], int] = {}
        for index, one in enumerate(self.items):
            if first.setdefault(frozenset((one.start, one.end)), index) != index:
                words = f"{one.start} and {one.end} are given twice; give each pair once"
                raise AtField(("items", index), words)
        return self


def read_distances(text: str, source: str) -> list[NodeDistance]:
    """Read a CSV table. Raises Invalid with line numbers."""
    found: list[NodeDistance] = []
    complaints: list[Complaint] = []
    lines: dict[frozenset[str], int] = {}
    rows = csv_lines(text, source, complaints)
    line, header = next(rows, (None, None))
    if header is None:
        complaints.append(Complaint(source, None, "", f"is empty; begin with {','.join(COLUMNS)}"))
    elif tuple(header) != COLUMNS:
        words = f"begins with {shown(','.join(header))}; the header is {','.join(COLUMNS)}"
        raise Invalid([Complaint(source, line, "", words)])
    for line, values in rows:
        one = _read(values, source, line, complaints)
        if one is None:
            continue
        before = lines.setdefault(frozenset((one.start, one.end)), line)
        if before != line:
            complaints.append(Complaint(source, line, "", f"{one.start} and {one.end} are already in line {before}"))
        found.append(one)
    if len(found) > MAX_PAIRS:
        complaints.append(Complaint(source, None, "", f"has {len(found):,} pairs, and {MAX_PAIRS:,} are the most"))
    if complaints:
        raise Invalid(complaints[:MAX_COMPLAINTS])
    return found


def _read(values: list[str], source: str, line: int, complaints: list[Complaint]) -> NodeDistance | None:
    if len(values) != len(COLUMNS):
        complaints.append(Complaint(source, line, "", f"has {len(values)} cells instead of {','.join(COLUMNS)}"))
        return None
    try:
        return NodeDistance.model_validate(dict(zip(COLUMNS, values, strict=True)))
    except ValidationError as error:
        complaints += [Complaint(source, line, one.field, one.message) for one in complaints_of(error, NodeDistance)]
        return None


def write_distances(pairs: Iterable[tuple[str, str, float]]) -> str:
    """The table as CSV."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows((one, other, f"{distance:.15g}") for one, other, distance in pairs)
    return text.getvalue()
