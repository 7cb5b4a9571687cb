"""What a snapshot leaves out: everything that may be secret, and that no decision reads.

Guarantees: no value of a variable, no command line, no cloud-init, no payload, no address and no inventory of a machine
gets into a snapshot. Tokens and settings of backends are never asked for in the first place. Names, labels, images,
requests and messages stay.
"""

from typing import Any

from dovetail.model.node import Node

LEFT_OUT = (
    "values of environment variables, and command lines",
    "definitions of VMs and payloads of functions",
    "addresses and inventories of machines",
    "tokens, and settings of backends",
)
_KEPT_OF_RUN = ("image", "simulate")


def without_secrets(definition: dict[str, Any]) -> dict[str, Any]:
    """A definition as the store keeps it, without what may be secret."""
    found = {name: value for name, value in definition.items() if name not in ("vm", "function")}
    if "run" in found:
        found["run"] = _run(found["run"])
    if "roles" in found:
        found["roles"] = [role | ({"run": _run(role["run"])} if role.get("run") else {}) for role in found["roles"]]
    return found


def _run(run: dict[str, Any]) -> dict[str, Any]:
    kept = {name: run[name] for name in _KEPT_OF_RUN if run.get(name) is not None}
    if run.get("env"):
        kept["env"] = dict.fromkeys(run["env"], "")
    return kept


def bare_node(node: Node) -> Node:
    given = node.model_fields_set - {"address", "inventory"}
    return Node.model_validate({name: getattr(node, name) for name in given})
