"""What the engine remembers across a restart beside its records: one text for each part, under a name.

A part registers how it is written and read back. Parts that change with every event are written from time to time
(`texts`); the others when they change (`text`).
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Remembered:
    """One part. `write(now)` returns None where there is nothing to remember."""

    name: str
    write: Callable[[float], str | None]
    read: Callable[[str], None]
    periodic: bool = True


class Memory:
    def __init__(self, parts: Iterable[Remembered]) -> None:
        self._parts = {part.name: part for part in parts}

    def texts(self, now: float) -> dict[str, str]:
        """The parts that are written from time to time."""
        written = {part.name: part.write(now) for part in self._parts.values() if part.periodic}
        return {name: text for name, text in written.items() if text is not None}

    def text(self, name: str) -> str:
        """One part, because it changed."""
        text = self._parts[name].write(0.0)
        assert text is not None
        return text

    def recall(self, texts: Mapping[str, str]) -> None:
        """Read parts back in the order of their registration: later ones may need earlier ones."""
        for name, part in self._parts.items():
            if name in texts:
                part.read(texts[name])
