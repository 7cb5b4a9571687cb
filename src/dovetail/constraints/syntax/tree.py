"""An expression as a tree, with the place of each part in the text.

Guarantees: immutable and comparable; positions are left out of comparisons. What the parser read and what a structure
says become the same tree. Macros over lists that are written out (`["a", "b"].exists(z, …)`) are unrolled before.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace


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
    function; a method has what it is called on as its first argument and `method` set. `-x` has one argument, `&&` and
    `||` have as many as are joined."""

    name: str
    args: tuple["Tree", ...]
    method: bool = False
    span: Span = field(default=NOWHERE, compare=False)


Tree = Literal | Name | Select | Index | ListOf | Call
NODE_LABELS = Select(Name("node"), "labels")


def children_of(tree: Tree) -> tuple[Tree, ...]:
    match tree:
        case Select(of):
            return (of,)
        case Index(of, key):
            return (of, key)
        case ListOf(items):
            return items
        case Call(_, args):
            return args
    return ()


def map_children(tree: Tree, change: Callable[[Tree], Tree]) -> Tree:
    """The tree with every child changed."""
    match tree:
        case Select(of):
            return replace(tree, of=change(of))
        case Index(of, key):
            return replace(tree, of=change(of), key=change(key))
        case ListOf(items):
            return replace(tree, items=tuple([change(item) for item in items]))
        case Call(_, args):
            return replace(tree, args=tuple([change(arg) for arg in args]))
    return tree


def joined(name: str, args: tuple[Tree, ...], span: Span = NOWHERE) -> Tree:
    """`&&` or `||` of them; one inside one of the same is one."""
    flat: list[Tree] = []
    for arg in args:
        flat += arg.args if isinstance(arg, Call) and arg.name == name else (arg,)
    return Call(name, tuple(flat), span=span)


def levels_of(tree: Tree) -> int:
    """How deeply it is nested."""
    depth, level = 0, [tree]
    while level:
        depth, level = depth + 1, [child for one in level for child in children_of(one)]
    return depth


def size_of(tree: Tree) -> int:
    """How many parts it has, itself included."""
    return 1 + sum(map(size_of, children_of(tree)))


def label_of(tree: Tree) -> str | None:
    """The key, if the tree is a label of the node: `node.labels.zone`, `node.labels["zone"]`."""
    match tree:
        case Select(of, key, False) | Index(of, Literal(str(key))) if of == NODE_LABELS:
            return key
    return None
