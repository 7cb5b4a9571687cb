"""The topology file formats. Separate from the readers, so that naming a format imports none of them."""

from enum import StrEnum


class TopologyFormat(StrEnum):
    YAML = "yaml"
    SLURM = "slurm"
    LLDP = "lldp"
    CSV = "csv"
    KUBERNETES = "kubernetes"


def format_of(name: str) -> TopologyFormat:
    """By file name: topology.conf is Slurm's, .csv a table; anything else is our YAML or JSON."""
    ending = name.rsplit(".", 1)[-1].lower()
    return {"conf": TopologyFormat.SLURM, "csv": TopologyFormat.CSV}.get(ending, TopologyFormat.YAML)
