"""Answers that go on: server-sent events, and output of a task while it runs."""

from collections.abc import Iterable, Iterator
from typing import Any


def events_in(lines: Iterable[str]) -> Iterator[dict[str, Any]]:
    """The data of each event. Comments, which only keep the connection alive, are passed over."""
    import orjson

    data: list[str] = []
    for line in lines:
        if line.startswith("data:"):
            data.append(line.removeprefix("data:").removeprefix(" "))
        elif not line and data:
            yield orjson.loads("\n".join(data))
            data = []
