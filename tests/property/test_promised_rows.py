"""What promises leave of rows is what adding them up one by one says, whatever was made and taken back before."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dovetail.cluster.arrays import F8
from dovetail.engine.promises.promised_rows import PromisedRows

WIDTH = 5
AMOUNTS = st.lists(st.integers(0, 9), min_size=1, max_size=3)
ROWS = st.lists(st.tuples(st.integers(0, WIDTH - 1), AMOUNTS), min_size=1, max_size=4)
Step = tuple[int, list[tuple[int, list[int]]] | None]  # to whom, on which rows how much; None: taken back
STEPS = st.lists(st.tuples(st.integers(1, 6), ROWS | st.none()), max_size=40)


@given(steps=STEPS, but=st.sets(st.integers(1, 6), max_size=2))
def test_it_is_the_sum_of_all_that_are_left(
    steps: list[tuple[int, list[tuple[int, list[int]]] | None]], but: set[int]
) -> None:
    found, plain = PromisedRows(), dict[int, list[tuple[int, F8]]]()
    for owner, rows in steps:
        found.remove(owner)
        plain.pop(owner, None)
        if rows is not None:
            plain[owner] = [(row, np.array(amounts, dtype=np.float64)) for row, amounts in rows]
            found.add(owner, f"work {owner}", tuple(plain[owner]))
    for row in range(WIDTH):
        assert set(found.owners(row)) == {owner for owner, rows in plain.items() if any(at == row for at, _ in rows)}
    free = np.arange(3.0 * WIDTH).reshape(3, WIDTH) * 10
    left, whose = free.copy(), dict[int, str]()
    for owner, promised in plain.items():
        for row, column in () if owner in but else promised:
            left[: len(column), row] -= column
            whose.setdefault(row, f"work {owner}")
    room = found.left(free, but)
    if room is None:
        assert not whose
        return
    assert room.rows.tolist() == sorted(whose)
    assert list(room.owners) == [whose[row] for row in sorted(whose)]
    np.testing.assert_array_equal(room.room, left[:, room.rows])
    np.testing.assert_array_equal(free, np.arange(3.0 * WIDTH).reshape(3, WIDTH) * 10)
