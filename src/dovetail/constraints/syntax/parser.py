"""From text to tree, by the parser of cel-python.

Guarantees: `parse` never evaluates anything, refuses what is too large before the parser sees it, and raises
`ExpressionError` with the place and plain words. `a && b && c` is one call with three arguments, likewise `||`, however
it is bracketed; a minus before a number belongs to the number. `parse(write(tree)) == tree` for every tree that was
parsed. The parser is loaded when it is first needed: `warm_up` does that beforehand. Left to others: types.
"""

import re
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast

from dovetail.constraints.error import ExpressionError
from dovetail.constraints.syntax.macros import unroll
from dovetail.constraints.syntax.scanning import Scanned, scan
from dovetail.constraints.syntax.tree import Call, Index, ListOf, Literal, Name, Select, Span, Tree, joined, levels_of
from dovetail.constraints.syntax.writer import INT_MAX, INT_MIN, read_number, read_string

MAX_TREE_DEPTH = 100
KEPT = 4096

_RELATIONS = {
    "relation_lt": "<",
    "relation_le": "<=",
    "relation_gt": ">",
    "relation_ge": ">=",
    "relation_eq": "==",
    "relation_ne": "!=",
    "relation_in": "in",
    "addition_add": "+",
    "addition_sub": "-",
    "multiplication_mul": "*",
    "multiplication_div": "/",
    "multiplication_mod": "%",
}
_TRANSIENT = (
    *("expr", "conditionalor", "conditionaland", "relation", "addition", "multiplication"),
    *("unary", "member", "primary"),
)
_WORDS = {"true": True, "false": False, "null": None}
_OPENING = frozenset({"(", "[", "{", ",", ":", "?"})
_SIGNS = frozenset({"&&", "||", "==", "!=", "<=", ">=", "<", ">", "+", "-", "*", "/", "%", "!", "in", "."})


_parsed: dict[str, Tree] = {}


def parse(text: str) -> Tree:
    found = _parsed.get(text)
    if found is None:
        found = unroll(text, parse_as_written(text))
        remember(text, found)
    return found


def remember(text: str, tree: Tree) -> None:
    """The tree that `parse` would return, worked out elsewhere."""
    if len(_parsed) >= KEPT:
        with suppress(StopIteration, KeyError, RuntimeError):  # another thread may have been faster
            del _parsed[next(iter(_parsed))]
    _parsed[text] = tree


def remembered() -> list[tuple[str, Tree]]:
    return list(_parsed.items())


def forget() -> None:
    _parsed.clear()


def parse_as_written(text: str) -> Tree:
    """The tree with its macros, for callers that give a meaning to macros over other lists."""
    scanned = scan(text)
    tree = _Builder(text).build(_read(text, scanned))
    if levels_of(tree) > MAX_TREE_DEPTH:
        raise ExpressionError(text, 0, f"is nested deeper than {MAX_TREE_DEPTH} levels; write it flatter")
    return tree


def warm_up() -> None:
    """Load the parser now rather than with the first expression; for servers."""
    parse("true")


@lru_cache(maxsize=1)
def _parser() -> Any:
    """The parser that cel-python makes of its grammar, except that a rule which only passes something on leaves nothing
    in the tree, which makes reading an expression a third faster."""
    from lark import Lark  # takes a third of a second, which most commands need not wait for

    package = find_spec("celpy")  # only its grammar is needed: importing the package takes another third
    assert package is not None, "cel-python is installed with Dovetail"
    grammar = Path(str(package.origin)).with_name("cel.lark").read_text()
    passing = re.compile(rf"^(?=(?:{'|'.join(_TRANSIENT)})\s*:)", re.MULTILINE)
    options: dict[str, Any] = {"parser": "lalr", "start": "expr", "priority": "invert", "maybe_placeholders": False}
    return Lark(passing.sub("?", grammar), propagate_positions=True, g_regex_flags=re.MULTILINE, **options)


def _read(text: str, scanned: Scanned) -> Any:
    from lark.exceptions import UnexpectedCharacters, UnexpectedToken

    try:
        return _parser().parse(scanned.blanked)
    except UnexpectedToken as error:
        at = len(text.rstrip()) if error.token.type == "$END" else cast("int", error.token.start_pos)
    except UnexpectedCharacters as error:
        at = error.pos_in_stream or 0
    raise ExpressionError(text, at, _complaint(scanned, at)) from None


def _complaint(scanned: Scanned, at: int) -> str:
    """What is wrong at a place, from what comes before and after it."""
    before = next((token for start, token in reversed(scanned.tokens) if start < at), "")
    here = next((token for start, token in scanned.tokens if start >= at), "")
    shown = "this string" if here == '""' else here
    if not here:
        if before in _SIGNS | _OPENING:
            return f"expected a value after {before}" if before != "." else "expected a name after the dot"
        return "the expression ends too early"
    if before == ".":
        return f"expected a name after the dot, got {shown}"
    if not before:
        return f"an expression cannot begin with {shown}"
    if before in _SIGNS | _OPENING:
        return f"expected a value after {before}, got {shown}"
    if here in _SIGNS | _OPENING | {")", "]", "}"}:
        return f"{shown} does not belong here"
    return f"expected an operator such as && or == before {shown}"


class _Builder:
    """Walks the parser's tree without recursion, children first: it may be as deep as the text is long."""

    def __init__(self, text: str) -> None:
        self._text = text

    def build(self, root: Any) -> Tree:
        done: list[Any] = []
        waiting: list[tuple[Any, bool]] = [(root, False)]
        while waiting:
            node, visited = waiting.pop()
            children = [child for child in node.children if hasattr(child, "children")]
            if visited:
                first = len(done) - len(children)
                built = self._one(node, done[first:])
                del done[first:]
                done.append(built)
            else:
                waiting.append((node, True))
                waiting.extend((child, False) for child in reversed(children))
        return cast("Tree", done[0])

    def _one(self, node: Any, built: list[Any]) -> Any:
        maker = _MAKERS.get(node.data)
        return maker(self, node, built) if maker is not None else built[0]

    def _refuse(self, node: Any, message: str) -> ExpressionError:
        return ExpressionError(self._text, node.meta.start_pos, message)

    def literal(self, node: Any, built: list[Any]) -> Tree:  # noqa: ARG002 (makers look alike)
        span = _span(node)
        written = self._text[span.start : span.end]
        if written in _WORDS:
            return Literal(_WORDS[written], span)
        if written[-1] in "\"'":
            return Literal(read_string(self._text, span.start, written), span)
        return Literal(read_number(self._text, span.start, written), span)

    def ternary(self, node: Any, built: list[Any]) -> Tree:
        return built[0] if len(built) == 1 else Call("?:", tuple(built), span=_span(node))

    def joined(self, node: Any, built: list[Any]) -> Tree:
        if len(built) == 1:
            return cast("Tree", built[0])
        name = "&&" if node.data == "conditionaland" else "||"
        return joined(name, tuple(built), _span(node))

    def binary(self, node: Any, built: list[Any]) -> Tree:
        if len(built) == 1:
            return cast("Tree", built[0])
        return Call(_RELATIONS[node.children[0].data], tuple(built), span=_span(node))

    def unary(self, node: Any, built: list[Any]) -> Tree:
        if len(built) == 1:
            return cast("Tree", built[0])
        name, of = built
        value: Any = of.value if isinstance(of, Literal) else None
        if name == "-" and type(value) in (int, float) and (type(value) is float or INT_MIN <= -value <= INT_MAX):
            return Literal(-value, _span(node))
        return Call(name, (of,), span=_span(node))

    def select(self, node: Any, built: list[Any]) -> Tree:
        return Select(built[0], str(node.children[1]), span=_span(node))

    def method(self, node: Any, built: list[Any]) -> Tree:
        args: tuple[Tree, ...] = built[1] if len(built) > 1 else ()
        return Call(str(node.children[1]), (built[0], *args), method=True, span=_span(node))

    def index(self, node: Any, built: list[Any]) -> Tree:
        return Index(built[0], built[1], span=_span(node))

    def call(self, node: Any, built: list[Any]) -> Tree:
        name = str(node.children[0])
        args: tuple[Tree, ...] = built[0] if built else ()
        if name != "has":
            return Call(name, tuple(args), span=_span(node))
        if len(args) == 1 and isinstance(args[0], Index):
            raise self._refuse(node, 'has() takes a field such as node.labels.spot; or write "spot" in node.labels')
        if len(args) != 1 or not isinstance(args[0], Select) or args[0].test:
            raise self._refuse(node, "has() takes one field, such as has(node.labels.spot)")
        return Select(args[0].of, args[0].name, test=True, span=_span(node))

    def name(self, node: Any, built: list[Any]) -> Tree:  # noqa: ARG002
        return Name(str(node.children[0]), span=_span(node))

    def items(self, node: Any, built: list[Any]) -> tuple[Tree, ...]:  # noqa: ARG002
        return tuple(built)

    def listed(self, node: Any, built: list[Any]) -> Tree:
        return ListOf(built[0] if built else (), span=_span(node))

    def prefix(self, node: Any, built: list[Any]) -> str:  # noqa: ARG002
        return "!" if node.data == "unary_not" else "-"

    def no_maps(self, node: Any, built: list[Any]) -> Tree:  # noqa: ARG002
        raise self._refuse(node, "maps cannot be written here; compare with &&, || and in")

    def no_leading_dot(self, node: Any, built: list[Any]) -> Tree:  # noqa: ARG002
        raise self._refuse(node, "a name cannot begin with a dot")


_MAKERS: dict[str, Callable[[_Builder, Any, list[Any]], Any]] = {
    "expr": _Builder.ternary,
    "conditionalor": _Builder.joined,
    "conditionaland": _Builder.joined,
    "relation": _Builder.binary,
    "addition": _Builder.binary,
    "multiplication": _Builder.binary,
    "unary": _Builder.unary,
    "unary_not": _Builder.prefix,
    "unary_neg": _Builder.prefix,
    "member_dot": _Builder.select,
    "member_dot_arg": _Builder.method,
    "member_index": _Builder.index,
    "member_object": _Builder.no_maps,
    "map_lit": _Builder.no_maps,
    "ident_arg": _Builder.call,
    "ident": _Builder.name,
    "dot_ident": _Builder.no_leading_dot,
    "dot_ident_arg": _Builder.no_leading_dot,
    "exprlist": _Builder.items,
    "fieldinits": _Builder.items,
    "mapinits": _Builder.items,
    "list_lit": _Builder.listed,
    "literal": _Builder.literal,
}


def _span(node: Any) -> Span:
    return Span(node.meta.start_pos, node.meta.end_pos)
