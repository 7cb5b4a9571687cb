"""Whatever the text, the outcome is a topology or a list of complaints; no other exception."""

from contextlib import suppress

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dovetail.model.network.topology import Topology
from dovetail.model.network.topology_format import TopologyFormat
from dovetail.model.network.topology_readers.reading import read_topology
from dovetail.model.text.complaint import Invalid

PIECES = [
    *("SwitchName=", "Nodes=", "Switches=", "BlockName=", "BlockSizes=", "n[1-3]", "s1", "s2", "\\", "#", "="),
    *("from,to,bandwidth\n", "host,leaf\n", "n1,l1\n", "n1,l1,400Gbps\n", ",", '"', "[", "]", "{", "}", ":", "-"),
    *("levels", "links", "hosts", "switches", "lldp", "interface", "chassis", "id", "value", "items", "metadata"),
    *("name", "labels", "leaf", "domains", "1", "0", "-1", "1e999", "null", "true", "\n", " ", "\x00", "é", "٣"),
]
TEXTS = st.one_of(st.text(max_size=200), st.lists(st.sampled_from(PIECES), max_size=40).map("".join))


@pytest.mark.parametrize("of", list(TopologyFormat))
@given(text=TEXTS)
@example("host,my leaf\nn1,l 1\n")
@example("host,leaf\n,l1\n")
@example("from,to\n,b\n")
@example('{"hosts": {"n1": {"lldp": {"interface": {"e": {"chassis": {"s": {"capability": 3}}, "port": 7}}}}}}')
@example('{"hosts": {"n1": {"lldp": {"interface": {"e": {"chassis": {"s p": {}}}}}}}}')
@example('{"items": [{"metadata": {"name": "n 1", "labels": {"zone": "a"}}}]}')
@example("BlockName=b Nodes=n1\nBlockSizes=0")
@example("SwitchName=a Nodes=a")
@example("domains: {leaf: {l1: 3}}\nlevels: [{name: leaf}]\n")
@example("links: [{from: 1, to: 2}]\nswitches: [1]\n")
def test_a_text_is_a_topology_or_has_complaints(of: TopologyFormat, text: str) -> None:
    with suppress(Invalid):
        assert isinstance(read_topology(text, "any", of), Topology)
