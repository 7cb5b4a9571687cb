"""From tree to text, with no more brackets than are needed.

Guarantees: what is written parses to the same tree. The tree is no deeper than what `syntax` accepts.
"""

import re

from dovetail.constraints.syntax.literals import write_number, write_string
from dovetail.constraints.syntax.tree import Call, Index, ListOf, Literal, Name, Select, Tree

_TERNARY, _OR, _AND, _RELATION, _SUM, _PRODUCT, _UNARY, _MEMBER = range(8)
_BINARY = {
    "||": _OR,
    "&&": _AND,
    **dict.fromkeys(("==", "!=", "<", "<=", ">", ">=", "in"), _RELATION),
    "+": _SUM,
    "-": _SUM,
    "*": _PRODUCT,
    "/": _PRODUCT,
    "%": _PRODUCT,
}
IDENTIFIER = re.compile(r"(?!(?:in|true|false|null)\b)[A-Za-z_][A-Za-z_0-9]*", re.ASCII)


def write(tree: Tree) -> str:
    return _written(tree, _TERNARY)


def _written(tree: Tree, least: int) -> str:
    """The text, in brackets if it binds less tightly than `least`."""
    text, binds = _text(tree)
    return text if binds >= least else f"({text})"


def _text(tree: Tree) -> tuple[str, int]:
    match tree:
        case Literal(value):
            return _literal(value)
        case Name(name):
            return name, _MEMBER
        case Select(of, name, True):
            return f"has({_written(of, _MEMBER)}.{name})", _MEMBER
        case Select(of, name):
            return f"{_written(of, _MEMBER)}.{name}", _MEMBER
        case Index(of, key):
            return f"{_written(of, _MEMBER)}[{write(key)}]", _MEMBER
        case ListOf(items):
            return f"[{', '.join(map(write, items))}]", _MEMBER
        case Call():
            return _call(tree)


def _literal(value: bool | int | float | str | bytes | None) -> tuple[str, int]:
    if isinstance(value, str):
        return write_string(value), _MEMBER
    if isinstance(value, bool):
        return "true" if value else "false", _MEMBER
    if isinstance(value, int | float):
        return write_number(value), _UNARY  # `5.size()` would be read as a double
    assert value is None, "bytes cannot be read"
    return "null", _MEMBER


def _call(tree: Call) -> tuple[str, int]:
    name, args = tree.name, tree.args
    if tree.method:
        return f"{_written(args[0], _MEMBER)}.{name}({', '.join(map(write, args[1:]))})", _MEMBER
    if name == "?:":
        condition, yes, no = args
        return f"{_written(condition, _OR)} ? {_written(yes, _OR)} : {_written(no, _TERNARY)}", _TERNARY
    if name in ("&&", "||"):
        return f" {name} ".join(_written(arg, _BINARY[name] + 1) for arg in args), _BINARY[name]
    if name == "!" or (name == "-" and len(args) == 1):
        # Two minus signs in a row, or one before a number, would be read as part of the number.
        plain = isinstance(args[0], Literal) or (name == "-" and isinstance(args[0], Call) and args[0].name == "-")
        return f"{name}{_written(args[0], _MEMBER if plain else _UNARY)}", _UNARY
    if name in _BINARY:
        binds = _BINARY[name]
        return f"{_written(args[0], binds)} {name} {_written(args[1], binds + 1)}", binds
    return f"{name}({', '.join(map(write, args))})", _MEMBER
