"""A topology makes sense by itself, or is refused with the field that does not."""

from typing import Any

import pytest

from dovetail.model.network.topology import MAX_LINK_PATTERNS, Topology
from dovetail.model.text.complaint import Invalid
from dovetail.model.text.reading import read_one

LEVELS = [{"name": "spine"}, {"name": "leaf", "bandwidth": "400Gbps", "latency": "5us"}]


def topology(**fields: Any) -> Topology:
    return Topology.model_validate({"levels": LEVELS, **fields})


def complaint(text: str) -> str:
    with pytest.raises(Invalid) as caught:
        read_one(Topology, text, "net.yaml")
    return str(caught.value)


def test_domains_may_be_made_of_hostlists_and_of_narrower_domains() -> None:
    found = topology(domains={"leaf": {"l1": "n[1-2]", "l2": ["n3"]}, "spine": {"s1": ["l1", "l2", "n4"]}})
    assert found.places() == {
        "n1": {"leaf": "l1", "spine": "s1"},
        "n2": {"leaf": "l1", "spine": "s1"},
        "n3": {"leaf": "l2", "spine": "s1"},
        "n4": {"spine": "s1"},
    }


def test_nodes_and_domains_may_both_say_where_a_host_is_if_they_agree() -> None:
    found = topology(domains={"leaf": {"l1": ["n1"]}}, nodes={"n1": {"leaf": "l1", "spine": "s1"}})
    assert found.places() == {"n1": {"leaf": "l1", "spine": "s1"}}


def test_what_is_written_out_is_read_in_again() -> None:
    found = topology(
        switches={"l1": "leaf"},
        links=[{"from": "n1", "to": "l1", "bandwidth": "200Gbps", "latency": "500ns", "utilisation": 0.5}],
        rules=[{"name": "close", "hops": 2}],
    )
    text = found.model_dump_json(exclude_unset=True, by_alias=True)
    assert '"from":"n1"' in text
    assert Topology.model_validate_json(text) == found


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("levels:\n- {name: leaf}\n- {name: leaf}\n", "net.yaml:3: levels[1].name: 'leaf' is given twice"),
        ("levels:\n- {name: host}\n- {name: leaf}\n", "net.yaml:2: levels[0].name: host is the narrowest level"),
        ("levels: [{name: leaf, bandwidth: fast}]\n", "levels[0].bandwidth: 'fast' is not a quantity"),
        ("levels: [{name: leaf}]\nnodes:\n  n1: {laef: l1}\n", "net.yaml:3: nodes.n1.laef: 'laef' is not among the"),
        ("levels: [{name: host}]\nnodes: {n1: {host: n1}}\n", "nodes.n1.host: host is each node by itself"),
        ("domains: {leaf: {l1: [n1]}}\n", "domains.leaf: 'leaf' is not among the levels"),
        ("links: [{from: a, to: a}]\n", "links[0].to: 'a' is linked to itself"),
        ("links: [{from: a, to: b}]\nswitches: [c]\n", "switches.c: no link leads to 'c'"),
        ("switches: [c]\n", "switches: need links"),
        (
            "levels: [{name: leaf}]\nswitches: {b: leaf, c: null}\nlinks: [{from: a, to: b}, {from: b, to: c}]\n",
            "switches.c: has no level although others have",
        ),
        ("levels: [{name: leaf}]\nrules: [{name: leaf, hops: 2}]\n", "rules[0].name: 'leaf' is a level already"),
        ("weights: {latency: 0, bandwidth: 0, loss: 0}\n", "weights: are all 0"),
        (
            "levels: [{name: leaf}]\ndomains:\n  leaf: {l1: [n1], l2: [n1]}\n",
            "'n1' is in it and in 'l1'; a host is in one domain of a level",
        ),
        (
            "levels: [{name: leaf}]\ndomains: {leaf: {l1: [n1]}}\nnodes: {n1: {leaf: l2}}\n",
            "nodes.n1.leaf: is 'l2', but by domains it is in 'l1'",
        ),
    ],
)
def test_a_mistake_is_named_with_its_place(text: str, words: str) -> None:
    assert words in complaint(text)


def test_hosts_that_are_each_linked_in_their_own_way_are_counted() -> None:
    ring = [{"from": f"n{i}", "to": f"n{(i + 1) % (MAX_LINK_PATTERNS + 1)}"} for i in range(MAX_LINK_PATTERNS + 1)]
    with pytest.raises(ValueError, match="describe levels and domains instead of links"):
        Topology.model_validate({"links": ring})
    fabric = [{"from": f"n{i}", "to": "l1"} for i in range(MAX_LINK_PATTERNS + 1)]
    Topology.model_validate({"links": fabric, "switches": ["l1"]})  # alike, they are one
