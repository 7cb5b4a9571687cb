"""Names of workloads in tables: what is shown can be typed."""

from collections.abc import Callable, Iterable
from typing import Protocol


class _Row(Protocol):
    """A row of any answer that has a `namespace` and a `name`."""

    def __getitem__(self, key: str, /) -> object: ...


def name_of(rows: "Iterable[_Row]") -> "Callable[[_Row], str]":
    """How the workloads of a table are named: with the namespace as soon as one of them is not in `default`."""
    return plain_name if {row["namespace"] for row in rows} <= {"default"} else _full_name


def plain_name(row: "_Row") -> str:
    return str(row["name"])


def _full_name(row: "_Row") -> str:
    return f"{row['namespace']}/{row['name']}"
