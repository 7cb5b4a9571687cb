"""From what Slurm says to nodes: amounts, GPUs, places in the network, and why a node takes nothing."""

from dataclasses import replace
from typing import Any

from dovetail.backends.batch.description import node_name
from dovetail.backends.slurm.driver import PartitionRecord, SlurmNode, SlurmReservation
from dovetail.backends.slurm.gres import asked_for, counted, extended_of, gpus_of
from dovetail.backends.slurm.inventory import Survey, coming_reservation, labels_by_node
from dovetail.backends.slurm.settings import SlurmSettings
from dovetail.model.device import Gpus

MIB = 2**20
NODE = SlurmNode("n1", "IDLE", cpus=8, memory_mib=1000, partitions=("all",), gres="gpu:a100:4,fpga:2")
ALL = PartitionRecord("all", "n[1-2]", default=True)


def described(*nodes: SlurmNode, ours: Any = None, settings: Any = None, **more: Any) -> Any:
    partitions = more.pop("partitions", (ALL,))
    settings = SlurmSettings.model_validate(settings or {})
    return Survey(settings, "hpc", 1000.0, nodes, partitions, ours=ours or {}, **more).describe()


def test_capacity_is_what_is_free_and_what_ours_asked_for() -> None:
    busy = replace(
        NODE, state="MIXED", allocated_cpus=5, allocated_memory_mib=600, gres_used="gpu:a100:3(IDX:0-2),fpga:1"
    )
    node = described(busy)["n1"].node
    assert (node.capacity.cpu, node.capacity.memory, node.capacity.slots) == (3, 400 * MIB, 3)
    assert (node.capacity.gpu, node.capacity.amounts()["gres/fpga"]) == (1, 1)
    # Ours asked for half a CPU and got one; for no memory and got some; for a GPU and got one.
    ours = {"n1": {"cpu": 500, "slots": 1, "gpu": 1000, "memory": 0}}
    node = described(busy, ours=ours)["n1"].node
    assert (node.capacity.cpu, node.capacity.memory, node.capacity.slots) == (3.5, 400 * MIB, 4)
    assert (node.capacity.gpu, node.gpus) == (2, [Gpus(count=2, model="a100")])


def test_capacity_is_never_more_than_the_node_has() -> None:
    """Slurm says what its nodes and what its jobs hold at two different moments."""
    node = described(NODE, ours={"n1": {"cpu": 4000, "memory": 500 * MIB, "slots": 2, "gpu": 2000}})["n1"].node
    assert (node.capacity.cpu, node.capacity.memory, node.capacity.slots, node.capacity.gpu) == (8, 1000 * MIB, 8, 4)


def test_a_partition_is_the_sum_of_its_usable_nodes() -> None:
    other = replace(NODE, name="n2", gres="gpu:h100:2")
    drained = replace(NODE, name="n3", flags=frozenset({"DRAIN"}))
    down = replace(NODE, name="n4", state="DOWN")
    found = described(NODE, other, drained, down, settings={"place": "slurm"})
    assert list(found) == ["all"]
    node = found["all"].node
    assert (node.capacity.cpu, node.capacity.memory, node.capacity.slots) == (16, 2000 * MIB, 16)
    assert node.gpus == [Gpus(count=4, model="a100"), Gpus(count=2, model="h100")]
    assert not found["all"].closed
    assert "none of the 2 nodes" in described(drained, down, settings={"place": "slurm"})["all"].closed


def test_a_node_that_slurm_cannot_reach_is_silent_and_one_it_closed_is_closed() -> None:
    down = described(replace(NODE, state="DOWN", flags=frozenset({"NOT_RESPONDING"}), reason="no heartbeat"))["n1"]
    assert (down.silent, down.closed) == ("DOWN+NOT_RESPONDING in Slurm: no heartbeat", "")
    drained = described(replace(NODE, flags=frozenset({"DRAIN"}), reason="a fan"))["n1"]
    assert (drained.silent, drained.closed) == ("", "DRAIN in Slurm: a fan")
    shut = described(NODE, partitions=(replace(ALL, up=False),))["n1"]
    assert "no partition of it is up" in shut.closed


def test_reservations_close_nodes_except_those_that_jobs_go_into() -> None:
    kept = (SlurmReservation("mine", "n1", 900, 1100), SlurmReservation("past", "n[1-2]", 100, 999))
    other = replace(NODE, name="n2")
    found = described(NODE, other, reservations=kept)
    assert (found["n1"].closed, found["n2"].closed) == ("reserved in Slurm: mine", "")
    found = described(NODE, other, reservations=kept, settings={"reservation": "mine"})
    assert (found["n1"].closed, "not in the reservation mine" in found["n2"].closed) == ("", True)


def test_a_job_meets_a_coming_reservation_unless_it_ends_before() -> None:
    settings, coming = SlurmSettings(), [SlurmReservation("maint", "n[1-2]", 1600, 2000)]
    assert coming_reservation("n1", coming, settings, 1000, 10) is None
    assert coming_reservation("n1", coming, settings, 1000, 11) is coming[0]
    assert coming_reservation("n1", coming, settings, 1000, None) is coming[0]
    assert coming_reservation("n3", coming, settings, 1000, None) is None


def test_partitions_are_those_that_the_settings_name_in_their_order() -> None:
    several = (ALL, PartitionRecord("long", "n1", max_minutes=60), PartitionRecord("debug", "n1"))
    node = replace(NODE, partitions=("all", "long", "debug"))
    assert described(node, partitions=several)["n1"].queue == "all"
    chosen = described(node, partitions=several, settings={"partitions": ["long", "all"]})["n1"]
    assert (chosen.queue, chosen.max_minutes) == ("long", 60)
    assert "slurm.partition/debug" not in chosen.node.labels
    assert not described(node, partitions=several, settings={"partitions": ["none"]})


def test_names_that_cannot_be_node_names_are_made_to_fit() -> None:
    assert node_name("", "n1") == "n1"
    assert node_name("hpc-", "001") == "hpc-001"
    assert node_name("", "001") == "001"
    assert node_name("", "a--b.c_") == "a-b-c", "it ends with a sign"


def test_generic_resources_are_counted_by_kind_and_type() -> None:
    found = counted("gpu:a100:2(S:0-1),gpu:h100:1,fpga:3,shard:no,bandwidth:lustre:4G")
    assert found == {("gpu", "a100"): 2, ("gpu", "h100"): 1, ("fpga", ""): 3, ("bandwidth", "lustre"): 4 * 2**30}
    assert gpus_of(counted("gpu:2")) == [Gpus(count=2)]
    assert extended_of(found) == {"gres/fpga": 3, "gres/bandwidth": 4 * 2**30}
    assert counted("(null)") == counted("") == counted("gpu:0") == {}
    assert asked_for(["a100", "a100", ""], {"gres/fpga": 2}) == "gpu:1,gpu:a100:2,fpga:2"


def test_switches_become_levels() -> None:
    printed = (
        "SwitchName=leaf1 Level=0 LinkSpeed=1 Nodes=n[1-2]\nSwitchName=leaf2 Level=0 LinkSpeed=1 Nodes=n3\n"
        "SwitchName=spine Level=1 LinkSpeed=1 Nodes=n[1-3] Switches=leaf[1-2]\n"
    )
    assert labels_by_node(printed)["n2"] == {"leaf": "leaf1", "spine": "spine"}
    blocks = "BlockName=b1 BlockIndex=0 Nodes=n[1-2] BlockSize=2\nBlockName=b2 BlockIndex=1 Nodes=n3 BlockSize=2\n"
    assert labels_by_node(blocks) == {"n1": {"block": "b1"}, "n2": {"block": "b1"}, "n3": {"block": "b2"}}
    assert labels_by_node("No topology information available\n") == {}
    assert labels_by_node("SwitchName=a Switches=b\n") == {}  # it cannot be read, and nothing else is lost by that
