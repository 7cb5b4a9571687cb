"""Which volumes nodes have attached for their tasks."""

from dovetail.cluster.placements import AttachedVolumes

U, V, W = ("csi", "u"), ("csi", "v"), ("other", "w")


def test_a_volume_that_several_tasks_of_a_node_use_is_attached_once() -> None:
    table = AttachedVolumes()
    table.count((U, V), 0, 1)
    table.count((V, W), 0, 1)
    table.count((V,), 2, 1)
    assert table.counts("csi", 3).tolist() == [2, 0, 1]
    assert table.has("csi", "v", 3).tolist() == [1, 0, 1]
    assert table.counts("other", 3).tolist() == [1, 0, 0]


def test_it_is_let_go_when_the_last_of_them_leaves_and_nothing_is_left_behind() -> None:
    table = AttachedVolumes()
    for sign in (1, -1):
        table.count((U, V), 0, sign)
        table.count((V,), 0, sign)
        table.count((V,), 1, sign)
    assert table == AttachedVolumes()
    assert table.counts("csi", 2).tolist() == [0, 0]


def test_order_does_not_matter() -> None:
    table = AttachedVolumes()
    table.count((V,), 0, 1)
    table.count((U, V), 0, 1)
    table.count((V,), 0, -1)
    assert table.counts("csi", 1).tolist() == [2]
