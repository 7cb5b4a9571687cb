"""Bars of blocks, an eighth of a character fine."""

from collections.abc import Sequence
from functools import lru_cache

from dovetail.cli.render.parts.text import Text

_EIGHTHS = " ▏▎▍▌▋▊▉"
_HEIGHTS = "▁▂▃▄▅▆▇█"
ACCENT = "blue"


def bar(share: float, width: int, style: str = ACCENT, track: bool = False) -> Text:
    """A share of 0 to 1. Any share above 0 is visible; a track marks where full would be."""
    share = min(1.0, max(0.0, share))
    drawn, rest = _blocks(max(1, round(share * width * 8)) if share > 0 else 0, width, track)
    return Text(drawn, style=style).append(rest, style="dim")


@lru_cache(maxsize=1024)
def _blocks(eighths: int, width: int, track: bool) -> tuple[str, str]:
    """What is full, and what is not."""
    full, rest = divmod(eighths, 8)
    drawn = "█" * full + (_EIGHTHS[rest] if rest else "")
    return drawn, ("·" if track else " ") * (width - len(drawn))


def gauge(used: float, capacity: float, width: int = 8) -> Text:
    """Use as a bar and a percentage: `█████▏··  65%`; a dash without capacity."""
    if capacity <= 0:
        return Text("-", style="dim")
    share = used / capacity
    return Text.assemble(bar(share, width, track=True), f" {share:4.0%}")


def height(share: float) -> str:
    """One character for a share of 0 to 1."""
    return _HEIGHTS[min(7, max(0, int(share * 8)))]


def sparkline(values: Sequence[float], width: int, most: float | None = None) -> str:
    """The newest values, one character each, the newest last. `most` is full height; else the largest value is."""
    newest = values[-width:] if width > 0 else []
    whole = most or max(newest, default=0.0)
    return "".join(height(value / whole) if whole else _HEIGHTS[0] for value in newest)
