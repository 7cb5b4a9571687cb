"""Numbers and strings as they are written, and writing them so.

Guarantees: `read_string(write_string(x)) == x`, and the same of numbers. Strings follow CEL: single, double and triple
quotes, `r` for raw, and its escapes.
"""

import re

from dovetail.constraints.error import ExpressionError

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
