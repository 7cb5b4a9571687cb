"""Charts as SVG text: lines with their confidence, bars with whiskers, dots by group.

Colours are classes of the page (`c0` to `c9`), so that a chart is right in light and dark. Every mark has a title,
which a browser shows under the pointer and reads to those who cannot see it. All text is escaped.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

from dovetail.reports.axes import Axis, amount_axis

WIDTH, HEIGHT = 560, 250
LEFT, RIGHT, TOP, BOTTOM = 52, 14, 10, 28
COLOURS = 10
BAR, GAP = 18, 10
LABEL_WIDTH = 190
MOST_LETTERS = 30


@dataclass(frozen=True, slots=True)
class Line:
    """`low` and `high`: the band of confidence around it; none with one seed."""

    name: str
    colour: int
    points: Sequence[tuple[float, float]]
    low: Sequence[float] = ()
    high: Sequence[float] = ()


@dataclass(frozen=True, slots=True)
class Bar:
    name: str
    colour: int
    value: float
    plus_minus: float | None = None


def lines(title: str, x: Axis, y: Axis, series: Sequence[Line]) -> str:
    def at(px: float, py: float) -> tuple[float, float]:
        across, up = min(max(x.place(px), 0.0), 1.0), min(max(y.place(py), 0.0), 1.0)
        return LEFT + across * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - up * (HEIGHT - TOP - BOTTOM)

    parts = [_grid(x, y, at)]
    for line in series:
        if line.low and line.high:
            upper = [at(px, high) for (px, _), high in zip(line.points, line.high, strict=True)]
            lower = [at(px, low) for (px, _), low in zip(line.points, line.low, strict=True)]
            parts.append(f'<polygon class="band c{line.colour % COLOURS}" points="{_points([*upper, *lower[::-1]])}"/>')
    for line in series:
        drawn = _points([at(*point) for point in line.points])
        name = escape(line.name)
        parts.append(
            f'<polyline class="line c{line.colour % COLOURS}" points="{drawn}"><title>{name}</title></polyline>'
        )
    return _svg(title, WIDTH, HEIGHT, parts)


def bars(title: str, rows: Sequence[Bar], written: Callable[[float], str], rough: Callable[[float], str]) -> str:
    """One bar below the other, each with its value. `rough`: how its interval is written."""
    highest = max((row.value + (row.plus_minus or 0.0) for row in rows), default=0.0)
    axis = amount_axis(highest)
    height = len(rows) * (BAR + GAP) + GAP
    room = WIDTH - LABEL_WIDTH - 125
    parts = []
    for index, row in enumerate(rows):
        top = GAP + index * (BAR + GAP)
        middle = top + BAR / 2
        end = LABEL_WIDTH + axis.place(row.value) * room
        parts.append(f'<text class="name" x="{LABEL_WIDTH - 8}" y="{middle + 4:.1f}">{_label(row.name)}</text>')
        parts.append(
            f'<rect class="bar c{row.colour % COLOURS}" x="{LABEL_WIDTH}" y="{top}" height="{BAR}" rx="2" '
            f'width="{max(end - LABEL_WIDTH, 1):.1f}">'
            f"<title>{escape(row.name)}: {escape(written(row.value))}</title></rect>"
        )
        if row.plus_minus:
            low = LABEL_WIDTH + axis.place(max(row.value - row.plus_minus, 0.0)) * room
            end = LABEL_WIDTH + axis.place(row.value + row.plus_minus) * room
            way = f"M{low:.1f} {middle}H{end:.1f}M{low:.1f} {middle - 4}v8M{end:.1f} {middle - 4}v8"
            parts.append(f'<path class="whisker" d="{way}"/>')
        said = written(row.value) + (f" ± {rough(row.plus_minus)}" if row.plus_minus else "")
        parts.append(f'<text class="value" x="{end + 8:.1f}" y="{middle + 4:.1f}">{escape(said)}</text>')
    return _svg(title, WIDTH, height, parts)


def dots(title: str, groups: Sequence[tuple[str, Sequence[Bar]]], x: Axis) -> str:
    """One row a group, and in it one dot a variant: far apart are those that treat the group differently."""
    height = TOP + len(groups) * 26 + BOTTOM
    room = WIDTH - LABEL_WIDTH - 30

    def across(value: float) -> float:
        return LABEL_WIDTH + min(max(x.place(value), 0.0), 1.0) * room

    parts = []
    for value, label in x.marks:
        place = across(value)
        parts.append(f'<line class="grid" x1="{place:.1f}" x2="{place:.1f}" y1="{TOP}" y2="{height - BOTTOM}"/>')
        parts.append(f'<text class="tick mid" x="{place:.1f}" y="{height - 10}">{escape(label)}</text>')
    for index, (name, row) in enumerate(groups):
        middle = TOP + index * 26 + 13
        places = [across(one.value) for one in row]
        parts.append(f'<text class="name" x="{LABEL_WIDTH - 10}" y="{middle + 4}">{_label(name)}</text>')
        parts.append(f'<line class="rod" x1="{min(places):.1f}" x2="{max(places):.1f}" y1="{middle}" y2="{middle}"/>')
        for one, place in zip(row, places, strict=True):
            title_ = f"{escape(name)}, {escape(one.name)}: {one.value:.3g}"
            dot = f'<circle class="dot c{one.colour % COLOURS}" cx="{place:.1f}" cy="{middle}" r="5">'
            parts.append(f"{dot}<title>{title_}</title></circle>")
    return _svg(title, WIDTH, height, parts)


def _grid(x: Axis, y: Axis, at: Callable[[float, float], tuple[float, float]]) -> str:
    parts = []
    bottom = HEIGHT - BOTTOM
    for value, label in y.marks:
        place = HEIGHT - BOTTOM - min(max(y.place(value), 0.0), 1.0) * (HEIGHT - TOP - BOTTOM)
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{place:.1f}" y2="{place:.1f}"/>')
        parts.append(f'<text class="tick end" x="{LEFT - 6}" y="{place + 4:.1f}">{escape(label)}</text>')
    for value, label in x.marks:
        place, _ = at(value, 0.0)
        parts.append(f'<line class="mark" x1="{place:.1f}" x2="{place:.1f}" y1="{bottom}" y2="{bottom + 4}"/>')
        parts.append(f'<text class="tick mid" x="{place:.1f}" y="{HEIGHT - 8}">{escape(label)}</text>')
    return "".join(parts)


def _points(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{px:.1f},{py:.1f}" for px, py in points)


def _label(name: str) -> str:
    cut = name if len(name) <= MOST_LETTERS else f"{name[: MOST_LETTERS - 1]}…"
    return f"{escape(cut)}<title>{escape(name)}</title>"


def _svg(title: str, width: int, height: int, parts: Sequence[str]) -> str:
    return f'<svg viewBox="0 0 {width} {height}" role="img" aria-label="{escape(title)}">{"".join(parts)}</svg>'
