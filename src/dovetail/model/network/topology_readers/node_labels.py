"""Well-known topology labels of Kubernetes and clouds, and topologies read from node lists.

Guarantees: `CONVENTIONS` are sorted widest first, so any subset gives nested levels. A node list as written by
`kubectl get nodes -o json` (or YAML) becomes a topology of the levels that its nodes have.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from dovetail.model.network.topology import Topology, TopologyLevel
from dovetail.model.text.complaint import Complaint, Invalid
from dovetail.model.text.document import Document, read_documents


class Convention(NamedTuple):
    """`name` is the common name of the level. Several labels may mean the same level."""

    name: str
    label: str


CONVENTIONS: tuple[Convention, ...] = (
    Convention("region", "topology.kubernetes.io/region"),
    Convention("region", "failure-domain.beta.kubernetes.io/region"),
    Convention("region", "region"),
    Convention("zone", "topology.kubernetes.io/zone"),
    Convention("zone", "failure-domain.beta.kubernetes.io/zone"),
    Convention("zone", "zone"),
    Convention("datacenter", "network.topology.nvidia.com/datacenter"),
    Convention("core", "network.topology.nvidia.com/core"),
    Convention("layer-1", "topology.k8s.aws/network-node-layer-1"),
    Convention("layer-2", "topology.k8s.aws/network-node-layer-2"),
    Convention("layer-3", "topology.k8s.aws/network-node-layer-3"),
    Convention("island", "oci.oraclecloud.com/rdma.hpc_island_id"),
    Convention("network-block", "oci.oraclecloud.com/rdma.network_block_id"),
    Convention("local-block", "oci.oraclecloud.com/rdma.local_block_id"),
    Convention("block", "cloud.google.com/gce-topology-block"),
    Convention("subblock", "cloud.google.com/gce-topology-subblock"),
    Convention("block", "cloud.provider.com/topology-block"),
    Convention("spine", "network.topology.nvidia.com/spine"),
    Convention("spine", "spine"),
    Convention("block", "network.topology.nvidia.com/block"),
    Convention("leaf", "network.topology.nvidia.com/leaf"),
    Convention("leaf", "leaf"),
    Convention("rack", "cloud.provider.com/topology-rack"),
    Convention("rack", "rack"),
    Convention("accelerator", "network.topology.nvidia.com/accelerator"),
    Convention("physical-host", "cloud.google.com/gce-topology-host"),
)


def levels_in(labels: set[str]) -> list[TopologyLevel]:
    """The levels of the well-known labels among these, widest first. A name is used once: by the label of that name, or
    the first one; other levels are named by their label."""
    there = [one for one in CONVENTIONS if one.label in labels]
    named: dict[str, str] = {one.name: one.label for one in there if one.name == one.label}
    for name, label in there:
        named.setdefault(name, label)
    return [TopologyLevel(name=name if named[name] == label else label, label=label) for name, label in there]


def read_node_list(text: str | bytes, source: str) -> Topology:
    """Raises Invalid."""
    documents = read_documents(text, source)
    items = [item for document in documents for item in _items(document)]
    if not items:
        raise Invalid([Complaint(source, None, "", "holds no node; write it with kubectl get nodes -o json")])
    nodes = [_node(item) for item in items]
    carried = {label for _, labels in nodes for label in labels}
    levels = levels_in(carried)
    if not levels:
        words = "no node carries a label that says where it is, such as topology.kubernetes.io/zone or rack"
        raise Invalid([Complaint(source, None, "", words)])
    places = {
        name: {level.name: labels[level.key] for level in levels if level.key in labels} for name, labels in nodes
    }
    return Topology(levels=levels, nodes=places)


def _items(document: Document) -> list[Document]:
    data = document.data
    if isinstance(data, dict) and isinstance(data.get("items"), list):
        return Document(data["items"], document.source, document.lines, (*document.at, "items")).items()
    return document.items()


def _node(item: Document) -> tuple[str, Mapping[str, str]]:
    metadata: Any = item.data.get("metadata") if isinstance(item.data, dict) else None
    name = metadata.get("name") if isinstance(metadata, dict) else None
    labels = (metadata.get("labels") or {}) if isinstance(metadata, dict) else {}
    if not isinstance(name, str) or not isinstance(labels, dict):
        words = "is not a node as Kubernetes lists it: metadata has no name, or labels are no mapping"
        raise Invalid([Complaint(item.source, item.line_of(()), "metadata", words)])
    return name, {str(key): str(value) for key, value in labels.items()}
