"""Taints as codes of distinct sets."""

from dovetail.cluster.labels import TaintTable
from dovetail.model.workloads.selection import Effect, Taint

SPOT = Taint(key="spot", effect=Effect.NO_SCHEDULE)
DEDICATED = Taint(key="dedicated", value="gpu", effect=Effect.NO_EXECUTE)


def test_nodes_with_the_same_taints_share_a_code_whatever_the_order() -> None:
    table = TaintTable()
    table.set_row(0, [SPOT, DEDICATED])
    table.set_row(1, [DEDICATED, SPOT, SPOT])
    table.set_row(2, [SPOT])
    assert table.codes[0] == table.codes[1] != table.codes[2]
    assert set(table.row(1)) == {SPOT, DEDICATED}


def test_a_node_without_taints_has_the_empty_set() -> None:
    table = TaintTable()
    table.set_row(0, [SPOT])
    table.set_row(0, [])
    table.widen(40)
    assert table.row(0) == table.row(39) == ()
