"""Slurm's topology.conf, as trees and as blocks."""

import pytest

from dovetail.model.network.topology_format import TopologyFormat, format_of
from dovetail.model.network.topology_readers.reading import read_topology
from dovetail.model.network.topology_readers.slurm import read_slurm
from dovetail.model.text.complaint import Invalid

TREE = """
# Three tiers.
SwitchName=l1 Nodes=node[001-002]
SwitchName=l2 nodes=node003,node004   # any case will do
SwitchName=l3 \\
    Nodes=node005 LinkSpeed=100
SwitchName=s1 Switches=l[1-2]
switchname=s2 Switches=l3
SwitchName=top Switches=s[1-2]
"""


def test_a_tree_has_a_level_for_each_height() -> None:
    found = read_slurm(TREE, "topology.conf")
    assert [level.name for level in found.levels] == ["core", "spine", "leaf"]
    assert found.places()["node002"] == {"leaf": "l1", "spine": "s1", "core": "top"}
    assert found.places()["node005"] == {"leaf": "l3", "spine": "s2", "core": "top"}


def test_a_host_may_hang_higher_than_others() -> None:
    found = read_slurm(
        "SwitchName=a Nodes=n1\nSwitchName=b Nodes=n2\nSwitchName=m Switches=a\nSwitchName=t Switches=m,b", "x"
    )
    assert found.places() == {"n1": {"leaf": "a", "spine": "m", "core": "t"}, "n2": {"leaf": "b", "core": "t"}}


def test_blocks_are_a_level_and_larger_sizes_are_blocks_together() -> None:
    text = "BlockName=b1 Nodes=n[1-2]\nBlockName=b2 Nodes=n[3-4]\nBlockName=b3 Nodes=n[5-6]\nBlockSizes=2,4\n"
    found = read_slurm(text, "topology.conf")
    assert [level.name for level in found.levels] == ["blocks-2", "block"]
    assert found.places()["n4"] == {"block": "b2", "blocks-2": "b1"}
    assert found.places()["n5"] == {"block": "b3", "blocks-2": "b3"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "t.conf:1: holds no SwitchName="),
        ("\nSwitchName=s1\n", "t.conf:2: s1: needs either Switches= or Nodes="),
        ("SwitchName=s1 Nodes=n[1-\n", "t.conf:1: Nodes: 'n[1-' is not a hostlist"),
        ("SwitchName=s1 Nodes=n1\nSwitchName=s1 Nodes=n2\n", "t.conf:2: SwitchName: 's1' is already in line 1"),
        ("SwitchName=s1 Switches=s2\n", "t.conf:1: Switches: there is no SwitchName=s2"),
        ("SwitchName=s1 Switches=s2\nSwitchName=s2 Switches=s1\n", "a tree has no circles"),
        ("SwitchName=s1 Nodes=n1\nSwitchName=s2 Nodes=n1\n", "t.conf:2: s2: 'n1' is on s1 already"),
        ("SwitchNam=s1 Nodes=n1\n", "Did you mean 'SwitchName'?"),
        ("SwitchName=s1 oops\n", "'oops' is not Keyword=value"),
        ("BlockName=b1 Nodes=n1\nBlockName=b2 Nodes=n1\n", "t.conf:2: b2: 'n1' is in block b1 already"),
        ("BlockName=b1 Nodes=n1\nBlockSizes=3,4\n", "4 is not a multiple of the smallest, 3"),
    ],
)
def test_a_mistake_is_named_with_its_line(text: str, words: str) -> None:
    with pytest.raises(Invalid) as caught:
        read_topology(text, "t.conf")
    assert words in str(caught.value)


def test_a_name_says_the_format_of_a_file() -> None:
    assert format_of("/etc/slurm/topology.conf") is TopologyFormat.SLURM
    assert format_of("links.CSV") is TopologyFormat.CSV
    assert format_of("net.json") is format_of("net") is TopologyFormat.YAML
