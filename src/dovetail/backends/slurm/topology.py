"""Labels for the place of nodes in the network, from the output of `scontrol show topology`.

The levels are those of topology.conf in `model.topology_readers`: `leaf`, `spine`, `core` for switches, `block` and up
for blocks. Words that scontrol adds to those of the file are removed before parsing.
"""

import logging
import re

from dovetail.model.network.topology_readers.slurm import read_slurm
from dovetail.model.text.complaint import Invalid

_KEPT = re.compile(r"\b(SwitchName|Switches|Nodes|LinkSpeed|BlockName)=(\S+)")
_log = logging.getLogger(__name__)


def labels_by_node(printed: str) -> dict[str, dict[str, str]]:
    """By the node's name in Slurm. Empty if the topology is unknown or cannot be parsed."""
    text = "\n".join(filter(None, map(_as_in_the_file, printed.splitlines())))
    if not text:
        return {}
    try:
        topology = read_slurm(text, "scontrol show topology")
    except Invalid as invalid:
        _log.warning("the topology is left out: %s", invalid)
        return {}
    found: dict[str, dict[str, str]] = {}
    for level in topology.levels:
        for domain, hosts in topology.domains.get(level.name, {}).items():
            for host in hosts:
                found.setdefault(host, {})[level.key] = domain
    return found


def _as_in_the_file(line: str) -> str:
    """A switch above others also lists all nodes below it; the file has one of the two."""
    words = dict(_KEPT.findall(line))
    if "Switches" in words:
        words.pop("Nodes", None)
    return (
        " ".join(f"{key}={value}" for key, value in words.items()) if {"SwitchName", "BlockName"} & set(words) else ""
    )
