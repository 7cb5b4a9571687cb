"""Chooses the reader for each topology format."""

from collections.abc import Callable

from pydantic import ValidationError

from dovetail.model.network.topology import Topology
from dovetail.model.network.topology_format import TopologyFormat, format_of
from dovetail.model.network.topology_readers.link_table import read_table
from dovetail.model.network.topology_readers.lldp import read_lldp
from dovetail.model.network.topology_readers.node_labels import read_node_list
from dovetail.model.network.topology_readers.slurm import read_slurm
from dovetail.model.text.complaint import Complaint, Invalid
from dovetail.model.text.document import Document, decode
from dovetail.model.text.reading import read_one
from dovetail.model.text.validation_errors import complaints_of


def _read_yaml(text: str, source: str) -> Topology:
    found = read_one(Topology, text, source)
    if not found.model_fields_set:
        raise Invalid([Complaint(source, None, "", f"describes nothing; write {', '.join(Topology.model_fields)}")])
    return found


_READERS: dict[TopologyFormat, Callable[[str, str], Topology]] = {
    TopologyFormat.YAML: _read_yaml,
    TopologyFormat.SLURM: read_slurm,
    TopologyFormat.LLDP: read_lldp,
    TopologyFormat.CSV: read_table,
    TopologyFormat.KUBERNETES: read_node_list,
}


def read_topology(text: str | bytes, source: str, of: TopologyFormat | None = None) -> Topology:
    """Raises Invalid with line and message."""
    plain = decode(text, source) if isinstance(text, bytes) else text
    try:
        return _READERS[of or format_of(source)](plain, source)
    except ValidationError as error:  # the result of a reader is inconsistent
        raise Invalid(complaints_of(error, Topology, Document({}, source))) from None
