"""Profiles with their weights, and the schedulers that use them."""

from rich.console import Group, RenderableType
from rich.text import Text

from dovetail.cli.render.parts.table import Header, count, table
from dovetail.responses.system import Profiles

_PROFILES = (
    Header(""),
    Header("PROFILE"),
    Header("ORDER"),
    Header("SELECTS"),
    Header("SCORES AND WEIGHTS", folds=True),
    Header("FILTERS", wide=True),
)
_SCHEDULERS = (
    Header("SCHEDULER"),
    Header("PROFILE"),
    Header("NAMESPACES", shrinks=True),
    Header("NODES", shrinks=True),
)


def profile_list(answer: Profiles, wide: bool = False) -> RenderableType:
    lines = [
        [
            "▶" if profile["default"] else "",
            profile["name"],
            profile["order"],
            profile["select"],
            ", ".join(f"{name} {weight:g}" for name, weight in profile["scores"].items()) or "none",
            ", ".join(profile["filters"]),
        ]
        for profile in answer["profiles"]
    ]
    head = f"{count(len(lines), 'profile')}, {answer['default']} unless a workload says otherwise"
    schedulers = [
        [
            scheduler["name"],
            scheduler["profile"],
            ", ".join(scheduler["namespaces"]) or "all",
            ", ".join(f"{key}={value}" for key, value in scheduler["node_selector"].items()) or "all",
        ]
        for scheduler in answer["schedulers"]
    ]
    return Group(Text(head), table(_PROFILES, lines, wide), Text(""), table(_SCHEDULERS, schedulers, wide))
