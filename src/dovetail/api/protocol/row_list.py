"""Lists whose rows are all at hand: which of them a caller sees, in which order, and how many there are.

Guarantees: a list without parameters is complete and in the order of its route. Rows that are equal in the column that
sorts stay in that order, in either direction; those without a value come last. The lists of workloads and of nodes take
the same parameters and are sorted where they are kept, in the store and in the engine, because they may be very long.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Annotated, Any, Generic, TypeAlias, TypeVar

from pydantic import BaseModel, Field, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, core_schema

from dovetail.api.protocol.body import MAX_ID
from dovetail.model.text.strict import closest, shown
from dovetail.responses import ItemPage

Row = TypeVar("Row", bound=Mapping[str, Any])
Sortable: TypeAlias = "str | float | None"

_DIGITS = re.compile(r"(\d+)", re.ASCII)


class SortedBy:
    """For `Annotated`: the name of a column, with `-` before it in descending order."""

    def __init__(self, columns: Iterable[str]) -> None:
        self.columns = tuple(columns)

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self._known, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        descending = (f"-{name}" for name in self.columns)
        return handler(schema) | {"enum": [*self.columns, *descending]}

    def _known(self, given: str) -> str:
        column = given.removeprefix("-")
        if column not in self.columns:
            listed = ", ".join(self.columns)
            raise ValueError(
                f"{shown(column)} does not sort this list.{closest(column, self.columns)} Known columns: {listed}; "
                "with '-' before it in descending order"
            )
        return given


class PageQuery(BaseModel):
    """What is asked of a list. A route derives its own, whose `sort` knows the columns."""

    search: Annotated[str, Field(max_length=200, description="only rows that contain it, in upper or lower case")] = ""
    sort: str | None = None
    limit: Annotated[int | None, Field(ge=1, le=MAX_ID, description="all if left out")] = None
    offset: Annotated[int, Field(ge=0, le=MAX_ID, description="so many are left out")] = 0


@dataclass(frozen=True)
class RowList(Generic[Row]):
    """One list. `sorts`: what each column sorts by. `searched`: the texts of a row that a search looks into.
    `counted`: the kind of a row, as the counts beside the page name it."""

    sorts: Mapping[str, Callable[[Row], Sortable]]
    searched: Callable[[Row], Iterable[str | None]]
    counted: Callable[[Row], str]

    def page(self, rows: Sequence[Row], asked: PageQuery) -> ItemPage[Row]:
        found = [row for row in rows if self._contains(row, asked.search.lower())]
        counts = Counter(map(self.counted, found))
        if asked.sort:
            found = self._sorted(found, asked.sort.removeprefix("-"), descending=asked.sort.startswith("-"))
        end = None if asked.limit is None else asked.offset + asked.limit
        return {"items": found[asked.offset : end], "total": len(found), "counts": dict(sorted(counts.items()))}

    def _contains(self, row: Row, search: str) -> bool:
        return not search or any(search in text.lower() for text in self.searched(row) if text)

    def _sorted(self, rows: list[Row], column: str, *, descending: bool) -> list[Row]:
        value = self.sorts[column]
        with_value = [(_order(found), row) for row in rows if (found := value(row)) is not None]
        with_value.sort(key=itemgetter(0), reverse=descending)
        return [row for _, row in with_value] + [row for row in rows if value(row) is None]


def fields(*names: str) -> dict[str, Callable[[Any], Sortable]]:
    """Columns that sort by the field of that name."""
    return {name: itemgetter(name) for name in names}


def _order(value: str | float) -> tuple[Any, ...]:
    """Digits inside of texts count as numbers, however many: n2 before n10."""
    if not isinstance(value, str):
        return (value,)
    parts = _DIGITS.split(value.lower())  # by turns text and digits
    parts[1::2] = [f"{len(digits.lstrip('0')):06}{digits.lstrip('0')}" for digits in parts[1::2]]
    return tuple(parts), value
