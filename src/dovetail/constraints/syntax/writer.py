"""From tree to text, with no more brackets than are needed; and literals, read and written.

Guarantees: what is written parses to the same tree, and literals read as what was written. Strings follow CEL: single,
double and triple quotes, `r` for raw, and its escapes. The tree is no deeper than what `syntax` accepts.
"""

import re

from dovetail.constraints.error import ExpressionError
from dovetail.constraints.syntax.tree import Call, Index, ListOf, Literal, Name, Select, Tree

INT_MIN, INT_MAX = -(2**63), 2**63 - 1

_SIMPLE = {
    "a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v",
    "\\": "\\", "?": "?", '"': '"', "'": "'", "`": "`",
}  # fmt: skip
_ESCAPE = re.compile(
    r"\\(?:(?P<simple>[abfnrtv\\?\"'`])|[xX](?P<x>[0-9a-fA-F]{2})|u(?P<u>[0-9a-fA-F]{4})|U(?P<U>[0-9a-fA-F]{8})"
    r"|(?P<octal>[0-3][0-7]{2})|(?P<bad>.|\Z))",
    re.DOTALL,
)
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


def read_string(text: str, at: int, written: str) -> str:
    """The value of a string literal that stands in `text` at that offset."""
    quote = written.lstrip("rR")
    raw = len(quote) < len(written)
    width = 3 if quote[:3] in ('"""', "'''") else 1
    body = quote[width:-width]
    if raw or "\\" not in body:
        return body
    first = at + len(written) - len(quote) + width

    def replaced(found: re.Match[str]) -> str:
        if found["simple"]:
            return _SIMPLE[found["simple"]]
        if found["bad"] is not None:
            raise ExpressionError(
                text, first + found.start(), rf"\{found['bad']} means nothing in a string; for a backslash write \\"
            )
        if found["octal"]:
            return chr(int(found["octal"], 8))
        code = int(found["x"] or found["u"] or found["U"], 16)
        if code > 0x10FFFF or 0xD800 <= code < 0xE000:
            raise ExpressionError(text, first + found.start(), f"{found[0]} is no character")
        return chr(code)

    return _ESCAPE.sub(replaced, body)


def write_string(value: str) -> str:
    signs = []
    for sign in value:
        if sign in '"\\':
            signs.append("\\" + sign)
        elif sign.isprintable():
            signs.append(sign)
        elif ord(sign) <= 0xFFFF:
            signs.append(f"\\u{ord(sign):04x}")
        else:
            signs.append(f"\\U{ord(sign):08x}")
    return f'"{"".join(signs)}"'


def read_number(text: str, at: int, written: str) -> int | float:
    """A whole number of 64 bits, or a double. What is unsigned in CEL (`64u`) is a whole number like any other."""
    plain = written.rstrip("uU")
    sign = -1 if plain.startswith("-") else 1
    digits = plain.lstrip("-")
    if digits.startswith("0x"):
        value: int | float = sign * int(digits, 16)
    elif digits.isdecimal():
        value = sign * int(digits)
    else:
        value = float(plain)
        if value in (float("inf"), float("-inf")):
            raise ExpressionError(text, at, f"{written[:40]} is larger than any double")
        return value
    if not INT_MIN <= value <= INT_MAX:
        raise ExpressionError(text, at, f"{written[:40]} does not fit into 64 bits; for a double write {digits[:40]}.0")
    return value


def write_number(value: int | float) -> str:
    if isinstance(value, int):
        return str(value)
    written = repr(value)
    return written if "." in written or "e" in written else f"{written}.0"


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
