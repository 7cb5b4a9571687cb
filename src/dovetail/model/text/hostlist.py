"""Slurm hostlists: `node[001-064,070],login1`; a name may have several ranges.

Guarantees: `expanded` keeps order and leading zeros. Invalid lists, and lists of too many names, raise a ValueError
with a one-line message.
"""

import re
from collections.abc import Iterator
from itertools import product

from dovetail.model.text.strict import shown

MAX_NAMES = 1_000_000
_PART = re.compile(r"\[([^\[\]]*)\]|([^\[\],]+)")
_RANGE = re.compile(r"(\d{1,18})(?:-(\d{1,18}))?", re.ASCII)


def expanded(text: str) -> list[str]:
    """All names of a hostlist."""
    names: list[str] = []
    for word in _words(text):
        parts: list[list[str]] = []
        size = 1
        at = 0
        while at < len(word):
            match = _PART.match(word, at)
            if match is None:
                raise ValueError(f"{shown(text)} is not a hostlist; write names such as node[001-064,070] or n1,n2")
            part = _numbers(match[1], text) if match[1] is not None else [match[2]]
            parts.append(part)
            size *= len(part)
            at = match.end()
            if len(names) + size > MAX_NAMES:
                raise ValueError(f"{shown(text)} stands for more than {MAX_NAMES:,} names")
        names += ["".join(one) for one in product(*parts)]
    return names


def _words(text: str) -> Iterator[str]:
    """Split at commas outside of brackets."""
    word, depth = "", 0
    for letter in text:
        depth += (letter == "[") - (letter == "]")
        if letter == "," and not depth:
            yield _checked(word, text)
            word = ""
        else:
            word += letter
    yield _checked(word, text)


def _checked(word: str, text: str) -> str:
    word = word.strip()
    if not word:
        raise ValueError(f"{shown(text)} has a name missing between commas")
    return word


def _numbers(inside: str, text: str) -> list[str]:
    found: list[str] = []
    for piece in inside.split(","):
        match = _RANGE.fullmatch(piece.strip())
        if match is None:
            raise ValueError(f"{shown(text)} has {shown(piece)} in brackets; write numbers and ranges: 001-064,070")
        first, last = match[1], match[2] or match[1]
        if int(last) < int(first):
            raise ValueError(f"{shown(text)} counts down from {first} to {last}; write the smaller one first")
        if len(found) + int(last) - int(first) >= MAX_NAMES:
            raise ValueError(f"{shown(text)} stands for more than {MAX_NAMES:,} names")
        width = len(first) if first.startswith("0") else 0
        found += [str(number).zfill(width) for number in range(int(first), int(last) + 1)]
    return found
