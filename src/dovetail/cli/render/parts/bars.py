"""Bars of blocks, an eighth of a character fine."""

from dovetail.cli.render.parts.text import Text

_EIGHTHS = " ▏▎▍▌▋▊▉"
_HEIGHTS = "▁▂▃▄▅▆▇█"
ACCENT = "blue"


def bar(share: float, width: int, style: str = ACCENT, track: bool = False) -> Text:
    """A share of 0 to 1. Any share above 0 is visible; a track marks where full would be."""
    share = min(1.0, max(0.0, share))
    eighths = round(share * width * 8)
    if share > 0:
        eighths = max(1, eighths)
    full, rest = divmod(eighths, 8)
    drawn = "█" * full + (_EIGHTHS[rest] if rest else "")
    found = Text(drawn, style=style)
    found.append(("·" if track else " ") * (width - len(drawn)), style="dim")
    return found


def gauge(used: float, capacity: float, width: int = 8) -> Text:
    """Use as a bar and a percentage: `█████▏··  65%`; a dash without capacity."""
    if capacity <= 0:
        return Text("-", style="dim")
    share = used / capacity
    return Text.assemble(bar(share, width, track=True), f" {share:4.0%}")


def height(share: float) -> str:
    """One character for a share of 0 to 1."""
    return _HEIGHTS[min(7, max(0, int(share * 8)))]
