"""A first check of an expression before any parser sees it: how long, how many parts, how deeply nested.

Guarantees: time is linear in the length, whatever the text; it refuses what is too large, and strings that are not
closed. Strings and comments are blanked out in place, so that the parser's patterns never meet what users put into
them.
Left to others: what the text means.
"""

import re
from typing import NamedTuple

from dovetail.constraints.error import ExpressionError
from dovetail.model.workloads.limits import MAX_EXPRESSION

MAX_TOKENS = 1000
MAX_DEPTH = 64

# One alternative for each kind of token; none can match in two ways, so nothing is tried twice.
_TOKEN = re.compile(
    r"""(?P<space>[\t\n\f\r ]+|//[^\n]*)
    |(?P<string>[rRbB]{0,2}(?:\"{3}|'{3}|"|'))
    |(?P<word>[A-Za-z_][A-Za-z_0-9]*)
    |(?P<number>(?:0x[0-9a-fA-F]+|[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|\.[0-9]+(?:[eE][+-]?[0-9]+)?)[uU]?)
    |(?P<open>[(\[{])
    |(?P<close>[)\]}])
    |(?P<operator>&&|\|\||[=!<>]=|[-+*/%<>!?:.,])""",
    re.VERBOSE,
)
_CLOSES = {")": "(", "]": "[", "}": "{"}
_HINTS = {
    "=": "= compares nothing; write ==",
    "&": "write && for and",
    "|": "write || for or",
    "`": "` does not quote; write a text in double quotes",
    ";": "an expression is one condition; join several with &&",
}
_WORDS = {"and": "&&", "or": "||", "not": "!", "AND": "&&", "OR": "||", "NOT": "!"}


class Scanned(NamedTuple):
    blanked: str  # as long as the text, with spaces for comments, plain letters inside strings, strings for bools
    tokens: tuple[tuple[int, str], ...]  # where each token begins, and the token; a string stands for itself as '""'


def scan(text: str) -> Scanned:
    if len(text) > MAX_EXPRESSION:
        raise ExpressionError(
            text[:MAX_EXPRESSION],
            MAX_EXPRESSION,
            f"is {len(text)} characters long; an expression has at most {MAX_EXPRESSION}",
        )
    try:
        text.encode()
    except UnicodeEncodeError as error:  # half of a surrogate pair, which only JSON escapes can bring in
        raise ExpressionError(text, error.start, "this is half a character; send the whole of it") from None
    parts: list[str] = []
    tokens: list[tuple[int, str]] = []
    nesting = _Nesting(text)
    at = 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            raise ExpressionError(text, at, _HINTS.get(text[at], f"{text[at]!r} has no meaning here"))
        end, kind = found.end(), found.lastgroup
        if kind == "string":
            end = _string_end(text, found)
            parts.append(f'"{"s" * (end - at - 2)}"')
            tokens.append((at, '""'))
            nesting.value()
        elif kind == "space":
            parts.append(" " * (end - at))
        else:
            # The parser loses the place of true and false; that of a string it keeps.
            parts.append(f'"{"s" * (end - at - 2)}"' if found[0] in ("true", "false") else found[0])
            tokens.append((at, found[0]))
            nesting.see(found[0], kind or "", at)
        if len(tokens) > MAX_TOKENS:
            raise ExpressionError(text, at, f"has more than {MAX_TOKENS} words and signs; split it into several")
        at = end
    nesting.finish()
    if not tokens:
        raise ExpressionError(text, 0, "the expression is empty; write a condition such as node.free.cpu >= 2")
    return Scanned("".join(parts), tuple(tokens))


def _string_end(text: str, opening: re.Match[str]) -> int:
    """Where the string that opens there ends."""
    prefix, quote = _split_quote(opening[0])
    if "b" in prefix.lower():
        raise ExpressionError(text, opening.start(), "bytes have no use here; write a text without the b")
    raw, at = bool(prefix), opening.end()
    while at < len(text):
        if text.startswith(quote, at):
            return at + len(quote)
        if text[at] in "\r\n" and len(quote) == 1:
            break
        at += 2 if text[at] == "\\" and not raw else 1
    raise ExpressionError(text, opening.start(), f"this string is not closed; end it with {quote}")


def _split_quote(opening: str) -> tuple[str, str]:
    quote = opening.lstrip("rRbB")
    return opening[: len(opening) - len(quote)], quote


class _Nesting:
    """Brackets that are open, and prefix operators in a row."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._open: list[tuple[str, int]] = []
        self._prefixes = 0
        self._after_value = False
        self._after_dot = False

    def value(self) -> None:
        self._prefixes, self._after_value = 0, True

    def see(self, word: str, kind: str, at: int) -> None:
        is_word = kind == "word" and word in _WORDS and not self._after_dot
        if is_word and self._after_value != (word.lower() == "not"):
            raise ExpressionError(self._text, at, f"{word} is written {_WORDS[word]} here")
        self._after_dot = word == "."
        if kind == "open":
            self._open.append((word, at))
            self._prefixes, self._after_value = 0, False
        elif kind == "close":
            if not self._open:
                raise ExpressionError(self._text, at, f"{word} closes nothing; nothing was opened before it")
            opened, where = self._open.pop()
            if opened != _CLOSES[word]:
                raise ExpressionError(
                    self._text, at, f"{word} does not close {opened} at column {where + 1}; close that first"
                )
            self._prefixes, self._after_value = 0, True
        elif word in "!-" and not self._after_value:
            self._prefixes += 1
        else:
            self._prefixes, self._after_value = 0, kind in ("word", "number") and word != "in"
        if len(self._open) + self._prefixes > MAX_DEPTH:
            raise ExpressionError(self._text, at, f"is nested deeper than {MAX_DEPTH} levels; write it flatter")

    def finish(self) -> None:
        if self._open:
            opened, where = self._open[-1]
            raise ExpressionError(self._text, where, f"{opened} is not closed")
