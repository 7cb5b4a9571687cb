"""Lists whose rows are all at hand: search, order, pages, counts."""

from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError
from tests.examples import examples

from dovetail.api.protocol.row_list import PageQuery, RowList, SortedBy, fields

Row = dict[str, Any]
LIST: RowList[Row] = RowList(
    sorts=fields("name", "size") | {"kind": lambda row: ("bad", "good").index(row["kind"])},
    searched=lambda row: (row["name"], row["note"]),
    counted=lambda row: str(row["kind"]),
)
SortedColumn = Annotated[str, SortedBy(LIST.sorts)]


def row(name: str, size: float | None = 1, kind: str = "good", note: str | None = None) -> Row:
    return {"name": name, "size": size, "kind": kind, "note": note}


ROWS = [row("n10", 3), row("n2", None, "bad", "Of Ada"), row("N1", 3), row("n03", 7)]


def names(**asked: Any) -> list[str]:
    return [one["name"] for one in LIST.page(ROWS, PageQuery(**asked))["items"]]


def test_without_parameters_a_list_is_complete_and_in_its_own_order() -> None:
    assert LIST.page(ROWS, PageQuery()) == {"items": ROWS, "total": 4, "counts": {"bad": 1, "good": 3}}
    assert LIST.page([], PageQuery(sort="name")) == {"items": [], "total": 0, "counts": {}}


def test_digits_in_texts_count_as_numbers() -> None:
    assert names(sort="name") == ["N1", "n2", "n03", "n10"]
    assert names(sort="-name") == ["n10", "n03", "n2", "N1"]
    huge = [row("9" * 5000), row("10")]
    assert [one["name"][:2] for one in LIST.page(huge, PageQuery(sort="name"))["items"]] == ["10", "99"]


def test_equal_rows_keep_their_order_and_those_without_a_value_come_last() -> None:
    assert names(sort="size") == ["n10", "N1", "n03", "n2"]
    assert names(sort="-size") == ["n03", "n10", "N1", "n2"]
    assert names(sort="kind") == ["n2", "n10", "N1", "n03"]


def test_a_search_ignores_case_and_looks_only_where_it_should() -> None:
    assert names(search="ADA") == ["n2"]
    assert names(search="n1") == ["n10", "N1"]
    assert names(search="good") == [], "the kind is not searched"


def test_total_and_counts_are_of_all_pages_that_the_search_finds() -> None:
    page = LIST.page(ROWS, PageQuery(search="n1", limit=1, offset=1))
    assert ([one["name"] for one in page["items"]], page["total"], page["counts"]) == (["N1"], 2, {"good": 2})
    assert names(offset=4) == []


@examples(50)
@given(
    rows=st.lists(
        st.builds(
            row,
            st.text(st.sampled_from("aB019-٣"), max_size=6),
            st.none() | st.integers(0, 3) | st.floats(0, 3),
            st.just("good"),
        ),
        max_size=12,
    ),
    sort=st.sampled_from(["name", "-name", "size", "-size"]),
    limit=st.integers(1, 5),
)
def test_the_pages_of_a_sorted_list_join_up(rows: list[Row], sort: str, limit: int) -> None:
    whole = LIST.page(rows, PageQuery(sort=sort))["items"]
    assert sorted(map(id, whole)) == sorted(map(id, rows))
    pages = [
        LIST.page(rows, PageQuery(sort=sort, limit=limit, offset=first))["items"]
        for first in range(0, len(rows), limit)
    ]
    assert [id(one) for page in pages for one in page] == [id(one) for one in whole]


def test_a_column_that_does_not_sort_is_refused_with_those_that_do() -> None:
    column = TypeAdapter[str](SortedColumn)
    assert [column.validate_python(one) for one in ("size", "-size")] == ["size", "-size"]
    for strange in ("", "-", "--size", "size ", "SIZE"):
        with pytest.raises(ValidationError, match="Known columns: name, size, kind; with '-' before it"):
            column.validate_python(strange)
    with pytest.raises(ValidationError, match=r"'sise' does not sort this list\. Did you mean 'size'\?"):
        column.validate_python("sise")
    assert column.json_schema()["enum"] == ["name", "size", "kind", "-name", "-size", "-kind"]
