"""What is wrong with an expression, and where.

Guarantees: `str(error)` is one line that names the place; `caret` shows it. Nothing here reads or judges expressions.
"""

SHOWN_WIDTH = 76


class ExpressionError(ValueError):
    """An expression that cannot be parsed or is invalid. `at` is an offset into `text`; `text` is empty for an
    expression written as a structure, whose errors name fields."""

    def __init__(self, text: str, at: int, message: str) -> None:
        self.text = text
        self.at = max(0, min(at, len(text)))
        self.message = " ".join(message.split())
        before = self.text[: self.at]
        self._line_start = before.rfind("\n") + 1
        line = before.count("\n") + 1
        column = self.at - self._line_start + 1
        place = f"line {line}, column {column}" if "\n" in text.strip("\n") else f"column {column}"
        super().__init__(f"{place}: {self.message}" if text else self.message)

    @property
    def caret(self) -> str:
        """Three lines: what is wrong, the line it is in (the part around the place, if it is long), and a caret."""
        if not self.text:
            return str(self)
        end = self.text.find("\n", self._line_start)
        line = self.text[self._line_start : len(self.text) if end < 0 else end]
        line = "".join(sign if sign.isprintable() else " " for sign in line)
        place = self.at - self._line_start
        start = max(0, min(place - SHOWN_WIDTH // 2, len(line) - SHOWN_WIDTH))
        left, right = "…" if start else "", "…" if start + SHOWN_WIDTH < len(line) else ""
        cut = f"{left}{line[start : start + SHOWN_WIDTH]}{right}"
        return f"{self}\n{cut}\n{' ' * (len(left) + place - start)}^"
