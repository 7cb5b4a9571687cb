"""What a table says that changed leads from any version to the present content."""

from hypothesis import given
from hypothesis import strategies as st

from dovetail.discovery.change_table import ChangeTable, TableChanges

STEPS = st.lists(st.tuples(st.sampled_from("abcdef"), st.integers(0, 3) | st.none()), max_size=60)


def applied(copy: dict[str, int], changes: TableChanges[str, int]) -> dict[str, int]:
    found = {} if changes.full else {key: value for key, value in copy.items() if key not in changes.dropped}
    return found | dict(changes.put)


def test_a_new_follower_gets_everything_and_then_only_what_changed() -> None:
    table: ChangeTable[str, int] = ChangeTable(100)
    table.put("a", 1)
    table.put("b", 2)
    first = table.after(0)
    assert (first.full, dict(first.put)) == (True, {"a": 1, "b": 2})
    table.put("c", 3)
    table.drop("a")
    then = table.after(first.version)
    assert (then.full, then.put, then.dropped) == (False, [("c", 3)], ["a"])


def test_what_changes_nothing_makes_no_version() -> None:
    table: ChangeTable[str, int] = ChangeTable(0)
    assert table.put("a", 1)
    before = table.version
    assert not table.put("a", 1)
    assert not table.drop("nobody")
    assert table.version == before


def test_versions_of_another_life_get_everything() -> None:
    table: ChangeTable[str, int] = ChangeTable(100)
    table.put("a", 1)
    assert table.after(99).full
    assert table.after(1_000).full


def test_what_was_dropped_long_ago_is_forgotten_and_old_versions_get_everything() -> None:
    table: ChangeTable[str, int] = ChangeTable(0, most_dropped=10)
    begun = table.version
    for number in range(50):
        table.put(str(number), number)
        table.drop(str(number))
    recent = table.version
    table.put("last", 1)
    assert table.after(begun).full
    assert table.after(recent).put == [("last", 1)]
    assert len(table._entries) <= 12


@given(STEPS, st.integers(1, 4))
def test_a_copy_that_follows_is_always_the_same(steps: list[tuple[str, int | None]], most_dropped: int) -> None:
    table: ChangeTable[str, int] = ChangeTable(7, most_dropped)
    content: dict[str, int] = {}
    copies: list[tuple[int, dict[str, int]]] = [(0, {})]
    for key, value in steps:
        if value is None:
            table.drop(key)
            content.pop(key, None)
        else:
            table.put(key, value)
            content[key] = value
        copies.append((table.version, dict(content)))
        for version, copy in copies:
            assert applied(copy, table.after(version)) == content
