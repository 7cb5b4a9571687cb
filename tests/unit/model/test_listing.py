"""Lists in messages."""

import pytest

from dovetail.model.text.listing import ranges


@pytest.mark.parametrize(
    ("numbers", "text"),
    [(range(8), "0–7"), ([3, 4], "3, 4"), ([0, 1, 2, 6], "0–2, 6"), ([5, 1], "1, 5"), ([], ""), ([4], "4")],
)
def test_numbers_in_a_row_are_a_range(numbers: list[int], text: str) -> None:
    assert ranges(numbers) == text
