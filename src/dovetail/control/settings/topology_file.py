"""The topology file that the settings may name. The server reads it at every start; `config check` reads it too."""

from pathlib import Path
from typing import Annotated

from pydantic import Field

from dovetail.model.network.topology import Topology
from dovetail.model.network.topology_format import TopologyFormat
from dovetail.model.network.topology_readers.reading import read_topology
from dovetail.model.text.complaint import Complaint, Invalid
from dovetail.model.text.strict import Strict


class TopologyFile(Strict):
    """A topology file that is read at every start."""

    file: Annotated[str, Field(min_length=1, max_length=3000)]
    """The path of the file."""
    format: TopologyFormat | None = None
    """The format of the file; by default its suffix says it."""


def read_topology_file(named: TopologyFile | None) -> Topology | None:
    """The topology file that the settings name. Raises Invalid."""
    if named is None:
        return None
    try:
        text = Path(named.file).expanduser().read_bytes()
    except OSError as error:
        words = f"cannot be read: {error.strerror}; the settings name it as topology"
        raise Invalid([Complaint(named.file, None, "", words)]) from None
    return read_topology(text, named.file, named.format)
