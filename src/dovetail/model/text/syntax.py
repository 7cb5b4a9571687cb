"""Explains PyYAML's syntax errors to users.

Guarantees: one line, with the most likely place of the mistake, and never a part of the text (it may hold secrets). The
messages of both PyYAML parsers, C and Python, are understood.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from yaml import Mark, MarkedYAMLError, YAMLError

# The first entry whose text occurs in PyYAML's message (its context, then its problem) explains the error.
_WORDS = (
    ("tab character", "a tab cannot indent YAML; use spaces"),
    ("sequence entries are not allowed", "a list item ('- ') cannot start here; begin it on a line of its own"),
    ("undefined tag handle", "tags (words that start with '!') are not allowed; put text with '!' in quotes"),
    ("scanning a tag", "tags (words that start with '!') are not allowed; put text with '!' in quotes"),
    ("parsing a tag", "tags (words that start with '!') are not allowed; put text with '!' in quotes"),
    ("scanning an alias", "'*' refers to an anchor and needs its name; put text that starts with '*' in quotes"),
    ("scanning an anchor", "'&' names an anchor and needs a name; put text that starts with '&' in quotes"),
    ("escape", "unknown '\\' escape in double quotes; write '\\\\' for a backslash, or use single quotes"),
    ("block scalar", "after '|' or '>' the text begins on the next line, indented"),
    ("directive", "a line that starts with '%' is not understood; put text that starts with '%' in quotes"),
    ("incompatible YAML document", "this version of YAML is not supported; remove the %YAML line"),
    ("document start>", "text after the end of a document; separate documents with a line of '---'"),
    ("expected '-' indicator", "this is neither an item ('- ') of the list above nor indented as part of one"),
    ("block collection", "this is neither an item ('- ') of the list above nor indented as part of one"),
)


def _line(text: str, mark: "Mark") -> str:
    """Empty if YAML counts lines differently (it also ends lines at U+2028 and lone carriage returns)."""
    lines = text.split("\n", mark.line + 1)
    return lines[mark.line] if mark.line < len(lines) else ""


def _opened(problem: str, context: str, start: "Mark") -> tuple[int | None, str] | None:
    """Something was opened and never closed: report where it began."""
    if "quoted scalar" in context and ("end of stream" in problem or "unexpected document" in problem):
        return start.line, f"the quote opened in column {start.column + 1} is never closed"
    if "simple key" in context:
        return start.line, "expected 'field: value'; the ':' is missing"
    for kind, opening in (("flow sequence", "["), ("flow mapping", "{")):
        if kind in context:
            return None, f"a ',' is missing, or the '{opening}' opened in line {start.line + 1} is not closed"
    return None


def _misfit(line: str, column: int) -> str:
    """Why this cannot follow what was read before."""
    if line[column : column + 1] == ":":
        return "a field has no name before its ':'"
    if line[column : column + 1] in (",", "]", "}"):
        return "a value is missing before this character; put text that starts with it in quotes"
    if line[:column].strip():
        return "this cannot follow what stands before it in the line; put the whole value in quotes"
    if line[column : column + 1] == "-":
        return "a list item ('- ') cannot stand among the fields of a mapping; indent it under its field"
    return "the indentation does not fit the lines before; fields of one mapping start in the same column"


def _reason(error: "MarkedYAMLError", text: str, mark: "Mark") -> tuple[int | None, str]:
    """The line (from 0) if it differs from the mark's, and the message."""
    problem, context = error.problem or "", error.context or ""
    if "cannot start any token" in problem:
        character = _line(text, mark)[mark.column : mark.column + 1]
        if character == "\t":
            return None, "a tab cannot indent YAML; use spaces"
        return None, f"a value cannot start with '{character}'; put it in quotes"
    if "mapping values are not allowed" in problem:
        if ": " in _line(text, mark)[: mark.column]:
            return None, "a second ': ' in one line; put text that contains ': ' in quotes"
        return None, "a field cannot start here; check the indentation of this line and the end of the one before"
    if error.context_mark is not None:
        found = _opened(problem, context, error.context_mark)
        if found:
            return found
    said = f"{context} {problem}"
    for needle, words in _WORDS:
        if needle in said:
            return None, words
    if "node content" in said or "block mapping" in said or "block end>" in said:
        return None, _misfit(_line(text, mark), mark.column)
    return None, problem.split("\n", 1)[0][:200] or "this is not YAML"


def explain_syntax(error: "YAMLError", text: str) -> tuple[int | None, str]:
    """The line (from 1) and the message."""
    mark: Mark | None = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    if mark is None:
        return None, "this is not YAML: " + str(error).split("\n", 1)[0][:200]
    line, words = _reason(error, text, mark)  # type: ignore[arg-type]
    if line is not None and line != mark.line:
        return line + 1, words
    return mark.line + 1, f"{words} (column {mark.column + 1})"
