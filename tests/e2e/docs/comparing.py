"""Does a command print what the page shows?

What differs from run to run is compared by its kind, not by its value: times, durations, ids. A time of another day
has its date before it, so both count as a time. Spaces and ends of lines count as one space, because columns are as
wide as their values, and sentences are wrapped where the terminal ends. In a page, `…` stands for any text, also of
several lines.
"""

import re

ANY = "…"
#: What is replaced in both, in this order.
VARYING = (
    (re.compile(r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?Z?"), "<time>"),
    (re.compile(r"\b\d\d:\d\d(?::\d\d)?\b"), "<time>"),
    (re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"), "<id>"),
    (re.compile(r"(?<![\w.])(?:\d+(?:\.\d+)?\s?(?:ms|µs|us|s|m|h|d)(?:\d\d[hms])*)(?![\w/])"), "<duration>"),
)


def normal(text: str) -> str:
    for pattern, kind in VARYING:
        text = pattern.sub(kind, text)
    return re.sub(r"\s+", " ", text).strip()


def matches(shown: str, printed: str) -> bool:
    """`shown` as in the page, `printed` by the command."""
    parts = re.split(rf"\s*{ANY}\s*", normal(shown))
    return re.fullmatch(".*?".join(map(re.escape, parts)), normal(printed)) is not None
