"""Changes to a workload's definition, in words and as a JSON merge patch.

A change edits a draft, which is the definition as JSON. Several changes can edit one draft; the patch is the difference
between definition and draft. Guarantees: `merge_patch(definition, patch_between(definition, draft))` is the draft.
Left to others: which changes make sense (`remedies`, `measures`), and whether they help (`fit_trial`).
"""

from collections.abc import Callable, Iterable
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

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


def merge_patch(target: Draft, patch: Draft) -> Draft:
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


# --- what can be changed ---------------------------------------------------------------------------------------


def ask_for(resource: str, amount: int, asked: float, why: str = "") -> DefinitionChange:
    """Less of a resource; the less is left of it, the more that costs its user."""
    words = f"ask for {show_amount(resource, amount)} {resource} instead of {show_amount(resource, asked)}{why}"

    def edit(draft: Draft) -> None:
        draft.setdefault("resources", {})[resource] = write_amount(resource, amount)

    return DefinitionChange(words, "resources", 1.0 + 2.0 * (1.0 - amount / asked), edit)


def allow_label(key: str, value: str, more: list[str]) -> DefinitionChange:
    """Values of a label beside the one that the node selector names."""

    def edit(draft: Draft) -> None:
        _without_selector(draft, key)
        match = {"key": key, "operator": "In", "values": [value, *more]}
        terms = draft.setdefault("node_affinity", {}).setdefault("required", [])
        if not terms:
            terms.append({"match": [match]})
        else:
            for term in terms:
                term["match"].append(dict(match))

    return DefinitionChange(f"allow {key} {_either(more)}", "labels", 1.0 + 0.1 * (len(more) - 1), edit)


def drop_selector(key: str, value: str) -> DefinitionChange:
    return DefinitionChange(
        f"drop node_selector {key}={value}", "labels", 2.5, lambda draft: _without_selector(draft, key)
    )


def _without_selector(draft: Draft, key: str) -> None:
    del draft["node_selector"][key]
    if not draft["node_selector"]:
        del draft["node_selector"]


def tolerate(taints: list[Taint]) -> DefinitionChange:
    words = _both([f"{taint.key}={taint.value}" if taint.value else taint.key for taint in taints])

    def edit(draft: Draft) -> None:
        more = [
            {"key": taint.key, "operator": "Equal", "value": taint.value, "effect": str(taint.effect)}
            if taint.value
            else {"key": taint.key, "operator": "Exists", "effect": str(taint.effect)}
            for taint in taints
        ]
        draft["tolerations"] = [*draft.get("tolerations", []), *more]

    return DefinitionChange(f"tolerate {words}", "tolerations", 1.0 + 0.1 * (len(taints) - 1), edit)


def allow_backends(names: list[str]) -> DefinitionChange:
    def edit(draft: Draft) -> None:
        draft["backends"]["allow"] = [*draft["backends"]["allow"], *names]

    return DefinitionChange(f"allow backend {_either(names)}", "backends", 1.1, edit)


def allow_gpu_models(models: list[str]) -> DefinitionChange:
    def edit(draft: Draft) -> None:
        draft["resources"]["gpu_model"] = [*draft["resources"]["gpu_model"], *models]

    return DefinitionChange(f"allow GPU model {_either(models)}", "gpu_model", 1.2, edit)


def drop_gpu_field(field: str, ask: GpuAsk) -> DefinitionChange:
    """What it says of its GPUs beside how many."""

    def edit(draft: Draft) -> None:
        draft["resources"].pop(field, None)

    words = (
        f"ask for GPUs with less than {show_bytes(ask.memory)}" if field == "gpu_memory" else "take any GPUs of a node"
    )
    return DefinitionChange(words, field, 1.8, edit)


def drop_item(field: str, index: int, words: str) -> DefinitionChange:
    """One of a list of rules."""

    def edit(draft: Draft) -> None:
        draft[field][index] = None  # taken out at the end, so that the others keep their places until then

    return DefinitionChange(words, field, 2.5, edit)


def raise_skew(index: int, max_skew: int, level: str) -> DefinitionChange:
    def edit(draft: Draft) -> None:
        draft["spread"][index]["max_skew"] = max_skew

    return DefinitionChange(f"raise max_skew over {level} to {max_skew}", "spread", 1.2, edit)


def fewer_at_once(spec: Workload, count: int) -> DefinitionChange:
    """As many at once as fit; the others follow. The minimum of a gang is lowered to that number."""
    if spec.gang is None or spec.gang.min <= count:
        words = f"run {count} at a time instead of {min(spec.replicas, spec.concurrency or spec.replicas)}"
        return set_field("concurrency", count, words, "replicas", 1.6)

    def edit(draft: Draft) -> None:
        draft["gang"]["min"] = draft["concurrency"] = count

    return DefinitionChange(f"start with {count} together instead of {spec.gang.min}", "gang", 2.0, edit)


def set_field(name: str, value: Any, words: str, kind: str, cost: float) -> DefinitionChange:
    def edit(draft: Draft) -> None:
        draft[name] = value

    return DefinitionChange(words, kind, cost, edit)


def _either(names: list[str]) -> str:
    return " or ".join(names)


def _both(names: list[str]) -> str:
    return " and ".join(names)
