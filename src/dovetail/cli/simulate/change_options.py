"""Options that say what is different: `dovetail what-if` sends them to the server, `dovetail simulate` plays them.

They become plain data as `POST /what-if` takes it; whoever plays it checks it.
"""

import re
from pathlib import Path
from typing import Annotated, Any

from dovetail.cli.terminal.failure import ExitCode, Failure
from dovetail.cli.terminal.files import SUFFIXES, read_file
from dovetail.cli.terminal.parameters import Option

_TIMES = re.compile(r"\s*(\d{1,6})\s*[x×*]\s*(.+)", re.DOTALL)
_FIELDS = ("capacity", "like", "labels", "gpus", "prefix", "taints", "count")

AddNodes = Annotated[
    list[str],
    Option("--add-nodes", metavar="N x WHAT", help="More nodes: '8 x {gpu: 8, cpu: 96, memory: 1TiB}', or '8 x NODE'."),
]
RemoveNode = Annotated[list[str], Option("--remove-node", metavar="NODE", help="Without this node; repeatable.")]
Fail = Annotated[
    list[str], Option("--fail", metavar="NAME@TIME", help="A node or a domain such as a leaf fails: l3@2h; repeatable.")
]
CancelWork = Annotated[list[str], Option("--cancel", metavar="WORKLOAD", help="Without this workload; repeatable.")]


def changes_of(add_nodes: list[str], remove_node: list[str], fail: list[str], cancel: list[str]) -> dict[str, Any]:
    """Raises Failure for what cannot be read."""
    found: dict[str, Any] = {
        "add_nodes": [_added(text) for text in add_nodes],
        "remove_nodes": remove_node,
        "fail": [_failure(text) for text in fail],
        "cancel": cancel,
    }
    return {name: value for name, value in found.items() if value}


def _added(text: str) -> dict[str, Any]:
    found = _TIMES.fullmatch(text)
    times, rest = ({"count": int(found[1])}, found[2].strip()) if found else ({}, text.strip())
    if not rest.startswith("{"):
        return {"like": rest, **times}
    data = _mapping("--add-nodes", rest)
    return ({**data, **times}) if any(name in data for name in _FIELDS) else {"capacity": data, **times}


def _failure(text: str) -> dict[str, Any]:
    name, _, at = text.partition("@")
    return {"name": name, **({"at": at} if at else {})}


def _mapping(option: str, text: str) -> dict[str, Any]:
    import yaml

    try:
        data = yaml.safe_load(text)
    except yaml.YAMLError:
        data = None
    if not isinstance(data, dict):
        how = "write '8 x {gpu: 8, cpu: 96, memory: 1TiB}', or '8 x NODE' for more like that one"
        raise Failure(f"{option}: {text!r} is no mapping; {how}", ExitCode.USAGE)
    return data


def profile_of(text: str) -> str | dict[str, Any]:
    """A name, or the settings in a file."""
    if not text.endswith(SUFFIXES):
        return text
    return _mapping("--profile", read_file(Path(text)).decode(errors="replace"))
