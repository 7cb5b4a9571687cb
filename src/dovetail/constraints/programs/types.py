"""The types of values in an expression, and their names in errors."""

from dataclasses import dataclass
from typing import Optional


@dataclass(frozen=True, slots=True)
class Type:
    name: str
    of: Optional["Type"] = None

    def __str__(self) -> str:
        return self.name if self.of is None else f"{self.name} of {self.of}"


BOOL, INT, DOUBLE, STRING = Type("bool"), Type("int"), Type("double"), Type("string")
ANYTHING = Type("anything")  # the items of an empty list
NUMBERS = frozenset({INT, DOUBLE})


def list_of(item: Type) -> Type:
    return Type("list", item)


def comparable(left: Type, right: Type) -> bool:
    """May they be compared with `==`? Whole numbers and doubles may."""
    if left.of is not None and right.of is not None:
        return comparable(left.of, right.of)
    return left == right or {left, right} <= NUMBERS or ANYTHING in (left, right)
