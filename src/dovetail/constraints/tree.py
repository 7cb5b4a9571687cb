"""An expression as a tree, with the place of each part in the text.

Guarantees: immutable and comparable; positions are left out of comparisons. What the parser read and what a structure
says become the same tree. Macros over lists that are written out (`["a", "b"].exists(z, …)`) are unrolled before.
"""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Span:
    """Offsets into the text, the end not included."""

    start: int
    end: int


NOWHERE = Span(0, 0)


@dataclass(frozen=True, slots=True)
class Literal:
    """A value as it is written. An unsigned number is an int here: `64u` is 64."""

    value: bool | int | float | str | bytes | None
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Name:
    """A name that stands alone: `node`."""

    name: str
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Select:
    """`of.name`; with `test`, `has(of.name)`."""

    of: "Tree"
    name: str
    test: bool = False
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Index:
    """`of[key]`."""

    of: "Tree"
    key: "Tree"
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class ListOf:
    items: tuple["Tree", ...]
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Call:
    """An operator (`&&`, `||`, `!`, `-`, `+`, `*`, `/`, `%`, `==`, `!=`, `<`, `<=`, `>`, `>=`, `in`, `?:`) or a
    function; a method has what it is called on as its first argument and `method` set. `-x` has one argument."""

    name: str
    args: tuple["Tree", ...]
    method: bool = False
    span: Span = field(default=NOWHERE, compare=False)


Tree = Literal | Name | Select | Index | ListOf | Call
