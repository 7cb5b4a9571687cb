"""The formats in which a network can be described; apart from their readers, so that naming one loads none."""

from enum import StrEnum


class TopologyFormat(StrEnum):
    YAML = "yaml"
    SLURM = "slurm"
    LLDP = "lldp"
    CSV = "csv"
    KUBERNETES = "kubernetes"


def format_of(name: str) -> TopologyFormat:
    """By the name of a file: topology.conf is Slurm's, .csv a table; anything else is ours, as YAML or JSON."""
    ending = name.rsplit(".", 1)[-1].lower()
    return {"conf": TopologyFormat.SLURM, "csv": TopologyFormat.CSV}.get(ending, TopologyFormat.YAML)
