"""Changes to a workload's definition, in words and as a JSON merge patch.

A change edits a draft, which is the definition as JSON. Several changes can edit one draft; the patch is the difference
between definition and draft. Left to others: which changes make sense (`remedies`, `measures`, `looser_layouts`), and
whether they help (`fit_trial`).
"""

from collections.abc import Callable, Iterable
from copy import deepcopy
from dataclasses import dataclass
from functools import reduce
from operator import getitem
from typing import Any

from dovetail.engine.planning.plan import at_once
from dovetail.model.requests.asks import GpuAsk
from dovetail.model.resources import show_amount, write_amount
from dovetail.model.text.quantity import show_bytes
from dovetail.model.workloads.selection import Taint
from dovetail.model.workloads.workload import Workload

Draft = dict[str, Any]
Edit = Callable[[Draft], None]


@dataclass(frozen=True, slots=True)
class DefinitionChange:
    """One change; `cost` says how much it asks of the user, for ranking."""

    words: str
    kind: str
    cost: float
    edit: Edit


def definition(spec: Workload) -> Draft:
    """As its user wrote it, as far as that is known."""
    found: Draft = spec.model_dump(mode="json", exclude_unset=True)
    return found


def redefined(spec: Workload, changes: Iterable[DefinitionChange]) -> tuple[Workload, Draft]:
    """The workload with the changes made, and the patch that makes them. Raises ValueError where it makes no sense."""
    before = definition(spec)
    draft = deepcopy(before)
    for change in changes:
        change.edit(draft)
    for name, value in list(draft.items()):
        if isinstance(value, list) and None in value:
            draft[name] = [item for item in value if item is not None]
            if not draft[name]:
                del draft[name]
    return Workload.model_validate(draft), patch_between(before, draft)


def patch_between(before: Draft, after: Draft) -> Draft:
    """JSON merge patch (RFC 7386): lists are given whole, None takes a field away."""
    patch: Draft = {name: None for name in before if name not in after}
    for name, value in after.items():
        old = before.get(name)
        if isinstance(value, dict) and isinstance(old, dict):
            if inner := patch_between(old, value):
                patch[name] = inner
        elif name not in before or old != value:
            patch[name] = value
    return patch


# --- edits of a draft --------------------------------------------------------------------------------------------


def setting(value: Any, *path: str | int) -> Edit:
    """Sets one value; objects on the way to it that are missing are made."""

    def edit(draft: Draft) -> None:
        place: Any = draft
        for step in path[:-1]:
            place = place[step] if isinstance(step, int) else place.setdefault(step, {})
        place[path[-1]] = value

    return edit


def adding(items: list[Any], *path: str) -> Edit:
    """Appends to a list; one that is missing is made."""

    def edit(draft: Draft) -> None:
        *above, last = path
        place = reduce(getitem, above, draft)
        place[last] = [*place.get(last, []), *items]

    return edit


def removing(*path: str | int) -> Edit:
    """Removes one value, and every object and list around it that is empty without it."""

    def edit(draft: Draft) -> None:
        places: list[Any] = [draft]
        for step in path[:-1]:
            places.append(places[-1][step])
        for place, step in zip(reversed(places), reversed(path), strict=True):
            del place[step]
            if place:
                return

    return edit


# --- what can be changed ---------------------------------------------------------------------------------------


def ask_for(resource: str, amount: int, asked: float, why: str = "") -> DefinitionChange:
    """Less of a resource; the less is left of it, the more that costs its user."""
    words = f"ask for {show_amount(resource, amount)} {resource} instead of {show_amount(resource, asked)}{why}"
    cost = 1.0 + 2.0 * (1.0 - amount / asked)
    return DefinitionChange(words, "resources", cost, setting(write_amount(resource, amount), "resources", resource))


def allow_label(key: str, value: str, more: list[str]) -> DefinitionChange:
    """Values of a label beside the one that the node selector names."""

    def edit(draft: Draft) -> None:
        removing("node_selector", key)(draft)
        affinity = draft.setdefault("node_affinity", {})
        affinity["required"] = affinity.get("required") or [{"match": []}]
        for term in affinity["required"]:
            term["match"].append({"key": key, "operator": "In", "values": [value, *more]})

    return DefinitionChange(f"allow {key} {' or '.join(more)}", "labels", 1.0 + 0.1 * (len(more) - 1), edit)


def drop_selector(key: str, value: str) -> DefinitionChange:
    return DefinitionChange(f"drop node_selector {key}={value}", "labels", 2.5, removing("node_selector", key))


def tolerate(taints: list[Taint]) -> DefinitionChange:
    words = " and ".join(f"{taint.key}={taint.value}" if taint.value else taint.key for taint in taints)
    more = [
        {"key": taint.key, "operator": "Equal", "value": taint.value, "effect": str(taint.effect)}
        if taint.value
        else {"key": taint.key, "operator": "Exists", "effect": str(taint.effect)}
        for taint in taints
    ]
    cost = 1.0 + 0.1 * (len(taints) - 1)
    return DefinitionChange(f"tolerate {words}", "tolerations", cost, adding(more, "tolerations"))


def allow_backends(names: list[str]) -> DefinitionChange:
    return DefinitionChange(f"allow backend {' or '.join(names)}", "backends", 1.1, adding(names, "backends", "allow"))


def allow_gpu_models(models: list[str]) -> DefinitionChange:
    return DefinitionChange(
        f"allow GPU model {' or '.join(models)}", "gpu_model", 1.2, adding(models, "resources", "gpu_model")
    )


def drop_gpu_field(field: str, ask: GpuAsk) -> DefinitionChange:
    """What it says of its GPUs beside how many."""
    words = (
        f"ask for GPUs with less than {show_bytes(ask.memory)}" if field == "gpu_memory" else "take any GPUs of a node"
    )
    return DefinitionChange(words, field, 1.8, removing("resources", field))


def drop_item(field: str, index: int, words: str) -> DefinitionChange:
    """One of a list of rules: `redefined` takes it out at the end, so that the others keep their places until then."""
    return DefinitionChange(words, field, 2.5, setting(None, field, index))


def raise_skew(index: int, max_skew: int, level: str) -> DefinitionChange:
    words = f"raise max_skew over {level} to {max_skew}"
    return DefinitionChange(words, "spread", 1.2, setting(max_skew, "spread", index, "max_skew"))


def fewer_at_once(spec: Workload, count: int) -> DefinitionChange:
    """As many at once as fit; the others follow. The minimum of a gang is lowered to that number."""
    if spec.gang is None or spec.gang.min <= count:
        words = f"run {count} at a time instead of {at_once(spec)}"
        return DefinitionChange(words, "replicas", 1.6, setting(count, "concurrency"))

    def edit(draft: Draft) -> None:
        draft["gang"]["min"] = draft["concurrency"] = count

    return DefinitionChange(f"start with {count} together instead of {spec.gang.min}", "gang", 2.0, edit)
