"""The language of resource requests in OpenPBS: `select`, `place`, and `exec_vnode` which says what a job got. Pure.

    select      2:ncpus=4:mem=8gb:vnode=n1+1:ncpus=1     chunks; the number of copies is 1 if left out
    place       scatter:excl:group=rack                  arrangement, sharing, grouping; each may be left out
    exec_vnode  (n1:ncpus=4:mem=8388608kb)+(n2:ncpus=1)  the vnodes of each chunk

One grammar reads and checks all three. What is written is read as the same again.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from dovetail.model.text.strict import shown

GRAMMAR = r"""
select: chunk ("+" chunk)*
chunk: COUNT (":" resource)* | resource (":" resource)*
resource: NAME "=" _value
_value: QUOTED | WORD | COUNT | NAME

place: _part (":" _part)*
_part: ARRANGEMENT | SHARING | grouping
grouping: "group" "=" NAME

exec_vnode: _group ("+" _group)*
_group: "(" vnode ("+" vnode)* ")"
vnode: (NAME | WORD | COUNT) (":" resource)*

ARRANGEMENT: /(free|pack|scatter|vscatter)\b/
SHARING: /(excl|exclhost|shared)\b/
COUNT.2: /[0-9]+(?![^:+()=])/
NAME.1: /[A-Za-z][A-Za-z0-9_-]*(?![^:+()=])/
WORD: /[^\s:+()="',]+/
QUOTED: /"[^"]*"|'[^']*'/
"""


class SelectError(ValueError):
    """It is not in the language. The message says where."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """A part of a request that one vnode gives, `count` times. Values are as written, without quotes."""

    count: int = 1
    resources: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return ":".join([str(self.count), *(f"{name}={_quoted(value)}" for name, value in self.resources.items())])


@dataclass(frozen=True, slots=True)
class ChunkSelect:
    chunks: tuple[Chunk, ...]

    def __str__(self) -> str:
        return "+".join(map(str, self.chunks))

    @property
    def vnodes(self) -> list[str]:
        """The vnodes or hosts that it names."""
        named = (chunk.resources.get("vnode") or chunk.resources.get("host") for chunk in self.chunks)
        return [name for name in named if name is not None]


@dataclass(frozen=True, slots=True)
class Place:
    """`arrangement`: free, pack, scatter (chunks on different hosts) or vscatter (on different vnodes). `sharing`:
    excl, exclhost or shared. `group`: all chunks on vnodes with one value of this resource."""

    arrangement: str | None = None
    sharing: str | None = None
    group: str | None = None

    def __str__(self) -> str:
        grouping = None if self.group is None else f"group={self.group}"
        return ":".join(part for part in (self.arrangement, self.sharing, grouping) if part is not None)


def select_of(chunks: Iterable[Chunk]) -> ChunkSelect:
    """Equal neighbours become one chunk with a larger count, so the order of chunks stays."""
    found: list[Chunk] = []
    for chunk in chunks:
        if found and found[-1].resources == chunk.resources:
            found[-1] = Chunk(found[-1].count + chunk.count, chunk.resources)
        else:
            found.append(chunk)
    return ChunkSelect(tuple(found))


def read_select(text: str) -> ChunkSelect:
    """Raises SelectError."""
    return ChunkSelect(tuple(_chunk(tree) for tree in _parsed("select", text).children))


def read_place(text: str) -> Place:
    """Raises SelectError."""
    found: dict[str, str] = {}
    for part in _parsed("place", text).children:
        kind, value = _part(part)
        if kind in found:
            raise SelectError(f"place={shown(text)} has two words for its {kind}: {found[kind]} and {value}")
        found[kind] = value
    return Place(**found)


def read_exec_vnode(text: str) -> list[tuple[str, dict[str, str]]]:
    """The vnodes that a job got, and what of each. Raises SelectError."""
    trees = _parsed("exec_vnode", text).children
    return [(str(tree.children[0]), _resources(tree.children[1:])) for tree in trees]


def _chunk(tree: Any) -> Chunk:
    first, *others = tree.children
    counted = getattr(first, "type", "") == "COUNT"
    return Chunk(int(str(first)) if counted else 1, _resources(others if counted else tree.children))


def _resources(trees: Iterable[Any]) -> dict[str, str]:
    found: dict[str, str] = {}
    for tree in trees:
        name, value = map(str, tree.children)
        if name in found:
            raise SelectError(f"resource {name} stands twice in one chunk; give it once")
        found[name] = value[1:-1] if value[:1] in ("'", '"') else value
    return found


def _part(part: Any) -> tuple[str, str]:
    kind = getattr(part, "type", "")
    return (str(kind).lower(), str(part)) if kind else ("group", str(part.children[0]))


def _quoted(value: str) -> str:
    if not set(value) & set(" :+()=,'\""):
        return value
    return f"'{value}'" if '"' in value else f'"{value}"'


@lru_cache(maxsize=1)
def _parser() -> Any:
    from lark import Lark  # takes a third of a second, which servers without this backend need not wait for

    return Lark(GRAMMAR, parser="lalr", lexer="contextual", start=["select", "place", "exec_vnode"])


@lru_cache(maxsize=4096)
def _parsed(start: str, text: str) -> Any:
    from lark.exceptions import UnexpectedInput

    try:
        return _parser().parse(text, start=start)
    except UnexpectedInput as error:
        at = getattr(error, "column", 0) or 0
        place = f"at character {at}" if at > 0 else "at its end"
        raise SelectError(f"{start}={shown(text)} cannot be read {place}") from None
