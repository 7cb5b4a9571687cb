"""Labels that say where nodes hang, out of what `scontrol show topology` prints.

The levels are those of topology.conf as `model.topology_readers` has them: `leaf`, `spine`, `core` for switches,
`block` and up for blocks. What scontrol adds to the file's own words is left out before reading.
"""

import logging
import re

from dovetail.model.network.topology_readers.slurm import read_slurm
from dovetail.model.text.complaint import Invalid

_KEPT = re.compile(r"\b(SwitchName|Switches|Nodes|LinkSpeed|BlockName)=(\S+)")
_log = logging.getLogger(__name__)


def labels_by_node(printed: str) -> dict[str, dict[str, str]]:
    """By Slurm's name of the node. Empty where nothing is known, or what is cannot be read."""
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
    """A switch above others also lists all nodes below it; the file has either."""
    words = dict(_KEPT.findall(line))
    if "Switches" in words:
        words.pop("Nodes", None)
    return (
        " ".join(f"{key}={value}" for key, value in words.items()) if {"SwitchName", "BlockName"} & set(words) else ""
    )
