"""CSV tables of links and of hosts."""

import pytest

from dovetail.model.network.topology_readers.reading import read_topology
from dovetail.model.text.complaint import Invalid


def test_links_are_read_with_what_is_said_of_them() -> None:
    found = read_topology("from,to,bandwidth,latency,loss\nn1,l1,200Gbps,1us,0.01\nn2,l1,,,\n", "links.csv")
    first, second = found.links
    assert (first.start, first.end, first.bandwidth, first.latency, first.loss) == ("n1", "l1", 200_000, 1000, 0.01)
    assert (second.bandwidth, second.latency) == (None, None)
    assert list(found.switches) == ["l1"]  # what has one link only is a host


def test_in_a_ring_everything_is_a_host() -> None:
    found = read_topology("from,to\na,b\nb,c\nc,a\n", "links.csv")
    assert found.switches == {}


def test_kinds_say_which_are_switches_and_of_which_level() -> None:
    text = "from,to,from_kind,to_kind\nn1,l1,host,leaf\nn1,l2,host,leaf\nl1,s1,leaf,spine\nl2,s1,leaf,spine\n"
    found = read_topology(text, "links.csv")
    assert found.switches == {"l1": "leaf", "l2": "leaf", "s1": "spine"}
    assert [level.name for level in found.levels] == ["spine", "leaf"]


def test_a_table_of_hosts_has_a_level_a_column_the_widest_with_fewest_domains() -> None:
    found = read_topology("ip,DSW,PSW,ASW\nx1,G6,P1,S1\nx2,G6,P1,S2\nx3,G6,P2,S3\n", "topo.csv")
    assert [level.name for level in found.levels] == ["DSW", "PSW", "ASW"]
    assert found.places()["x2"] == {"DSW": "G6", "PSW": "P1", "ASW": "S2"}


def test_domains_of_one_name_in_two_wider_ones_are_two() -> None:
    found = read_topology("host,pod,leaf\nx1,p1,l1\nx2,p2,l1\nx3,p2,l2\nx4,p2,l3\n", "topo.csv")
    leaves = {host: place["leaf"] for host, place in found.places().items()}
    assert leaves == {"x1": "p1/l1", "x2": "p2/l1", "x3": "l2", "x4": "l3"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "t.csv: is empty"),
        ("from,to,speed\na,b,1\n", "t.csv:1: speed: unknown column"),
        ("from,to\na\n", "t.csv:2: has 1 cells, and the header has 2"),
        ("from,to,latency\na,b,fast\n", "t.csv:2: latency: 'fast' is not a quantity"),
        ("from,to,loss\na,b,lots\n", "t.csv:2: loss:"),
        ("from,to\na,a\n", "'a' is linked to itself"),
        ("from,to,from_kind\na,b,host\na,c,leaf\n", "t.csv:3: from_kind: 'a' was 'host' before"),
        ("host\nn1\n", "t.csv:1: has one column"),
        ("host,leaf\nn1,l1\nn1,l2\n", "t.csv:3: host: 'n1' is already in line 2"),
        ("host,leaf,leaf\nn1,l1,l2\n", "'leaf' occurs 2 times in the header"),
    ],
)
def test_a_mistake_is_named_with_its_line(text: str, words: str) -> None:
    with pytest.raises(Invalid) as caught:
        read_topology(text, "t.csv")
    assert words in str(caught.value)
