"""A page that holds everything itself: style, charts and figures in one HTML file, without scripts or other hosts.

Guarantees: names of users are escaped wherever they stand. The policy in the page's head allows no script and no
request, so it is safe to open from disk. The same content gives the same bytes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from importlib.resources import files

from dovetail import __version__

_SHAPE = "M1 3h6l2 4 2-4h6v12h-6l-2-4-2 4H1z"
_LOGO = f'<svg class="logo" viewBox="0 0 18 18" aria-hidden="true"><path d="{_SHAPE}" fill="var(--accent)"/></svg>'
_SAFE = "default-src 'none'; style-src 'unsafe-inline'"


@dataclass(frozen=True, slots=True)
class Panel:
    """One chart or table, with what it shows in words. `body` is HTML; `whole`: as wide as the page."""

    title: str
    about: str
    body: str
    whole: bool = False


def page(title: str, subtitle: str, answer: str, panels: Sequence[Panel], notes: Sequence[str] = ()) -> str:
    """Panels in order; those that are not `whole` stand side by side."""
    parts = [
        f'<div class="panel"><p class="answer">{escape(answer)}</p>'
        + "".join(f'<p class="note">{escape(note)}</p>' for note in notes)
        + "</div>"
    ]
    row: list[str] = []
    for panel in panels:
        if panel.whole:
            parts += [*_side_by_side(row), _panel(panel)]
            row = []
        else:
            row.append(_panel(panel))
    parts += _side_by_side(row)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{_SAFE}">'
        f"<title>{escape(title)}</title>\n<style>\n{_style()}</style></head>\n"
        f"<body><header>{_LOGO}<b>Dovetail</b><span>report</span></header>\n"
        f"<main><h1>{escape(title)}</h1><p>{escape(subtitle)}</p>\n"
        + "\n".join(parts)
        + f"\n<footer>Made by Dovetail {__version__}.</footer></main></body></html>\n"
    )


def table(headers: Sequence[tuple[str, str]], rows: Sequence[Sequence[str]]) -> str:
    """`headers`: title and class of each column. Cells are whole `<td>` elements (`cell`)."""
    head = "".join(f'<th scope="col" class="{css}">{escape(title)}</th>' for title, css in headers)
    body = "".join(f"<tr>{''.join(row)}</tr>" for row in rows)
    return f'<div class="wide" tabindex="0"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def cell(text: str, css: str = "", less: str = "", mark: int | None = None) -> str:
    """`less`: said more quietly behind it. `mark`: the number of the colour that stands before it."""
    before = "" if mark is None else f'<i class="c{mark}"></i>'
    after = f" <small>{escape(less)}</small>" if less else ""
    return f'<td class="{css}">{before}{escape(text)}{after}</td>'


def key(names: Sequence[tuple[str, int]]) -> str:
    """Which colour is which."""
    return (
        '<div class="key">'
        + "".join(f'<span><i class="c{c}"></i>{escape(name)}</span>' for name, c in names)
        + "</div>"
    )


def empty(words: str) -> str:
    return f'<p class="empty">{escape(words)}</p>'


def _panel(panel: Panel) -> str:
    return f'<section class="panel"><h2>{escape(panel.title)}</h2><p>{escape(panel.about)}</p>{panel.body}</section>'


def _side_by_side(panels: Sequence[str]) -> list[str]:
    return [f'<div class="grid">{"".join(panels)}</div><div style="height:14px"></div>'] if panels else []


@cache
def _style() -> str:
    return files("dovetail.reports").joinpath("page.css").read_text(encoding="utf-8")
