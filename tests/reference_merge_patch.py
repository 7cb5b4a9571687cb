"""JSON merge patch (RFC 7386), as a client applies the patch of a suggestion."""

from typing import Any


def merge_patch(target: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    """The target with a patch applied."""
    found = dict(target)
    for name, value in patch.items():
        if value is None:
            found.pop(name, None)
        elif isinstance(value, dict):
            old = found.get(name)
            found[name] = merge_patch(old if isinstance(old, dict) else {}, value)
        else:
            found[name] = value
    return found
