"""What a claim asks for, read from it and the classes it names.

Guarantees: whatever is not understood is refused in words that name claim and request, rather than left out; a claim
that is read can be searched for without looking at it again.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from dovetail.kubernetes.devices.device import DraDevice, Unallocatable
from dovetail.kubernetes.devices.rules import Rule, rule_of
from dovetail.kubernetes_client.objects import Json

MOST_RESULTS = 32
"""Devices that one claim can be given, as the API limits it."""
#: Effects of taints that keep a device from being allocated; others only inform.
_EXCLUDING = ("NoSchedule", "NoExecute")


@dataclass(frozen=True, slots=True, eq=False)
class Ask:
    """One request, or one of the subrequests of which the first that can be had is taken.

    `name`: as results have it; `names`: all that constraints may call it; `words`: where it stands, for errors;
    `count`: None asks for all devices; `expressions`: of its class and its own, which must all hold.
    """

    claim: int
    name: str
    names: frozenset[str]
    words: str
    class_name: str
    expressions: tuple[str, ...]
    count: int | None
    admin: bool
    tolerations: Sequence[Json]
    rules: tuple[Rule, ...]

    def tolerates(self, device: DraDevice) -> bool:
        """Does it tolerate all taints that keep the device from being allocated?"""
        taints: Sequence[Json] = device.body.get("taints") or ()
        excluding = [taint for taint in taints if taint.get("effect") in _EXCLUDING]
        return all(any(_tolerates(one, taint) for one in self.tolerations) for taint in excluding)

    @property
    def least(self) -> int:
        """Devices that it takes at the least; all are one or more."""
        return 1 if self.count is None else self.count


def _tolerates(toleration: Json, taint: Json) -> bool:
    """An empty key is any key, an empty effect any effect."""
    if toleration.get("effect") and toleration["effect"] != taint.get("effect"):
        return False
    if toleration.get("key") and toleration["key"] != taint.get("key"):
        return False
    operator = toleration.get("operator") or "Equal"
    if operator == "Equal":
        return (toleration.get("value") or "") == (taint.get("value") or "")
    return bool(operator == "Exists")


#: One request: an ask, or several of which one has to be satisfied, the first preferred.
Wish = tuple[Ask, ...]


def wishes_of(claims: Sequence[Json], classes: Mapping[str, Json]) -> list[Wish]:
    """Of each claim its requests, in order. Raises Unallocatable."""
    found: list[Wish] = []
    for number, claim in enumerate(claims):
        about = claim["metadata"]
        words = f"claim {about.get('namespace', '')}/{about['name']}"
        asked: Json = claim["spec"].get("devices") or {}
        rules = [rule_of(constraint, words) for constraint in asked.get("constraints") or ()]
        wishes = [tuple(_asks(number, one, classes, rules, words)) for one in asked.get("requests") or ()]
        least = sum(min(ask.least for ask in wish) for wish in wishes)
        if least > MOST_RESULTS:
            raise Unallocatable(f"{words}: asks for {least} devices, but a claim can have {MOST_RESULTS} at most")
        found += wishes
    return found


def _asks(number: int, request: Json, classes: Mapping[str, Json], rules: Sequence[Rule], words: str) -> Iterator[Ask]:
    name = request["name"]
    if (exactly := request.get("exactly")) is not None:
        yield _ask(number, name, frozenset([name]), exactly, classes, rules, words)
        return
    if not request.get("firstAvailable"):
        raise Unallocatable(
            f"{words}, request {name}: is of a kind that is not supported; exactly and firstAvailable are"
        )
    for one in request["firstAvailable"]:
        full = f"{name}/{one['name']}"
        yield _ask(number, full, frozenset([name, full]), one, classes, rules, words)


def _ask(
    number: int,
    name: str,
    names: frozenset[str],
    said: Json,
    classes: Mapping[str, Json],
    rules: Sequence[Rule],
    claim_words: str,
) -> Ask:
    words = f"{claim_words}, request {name}"
    class_name = said.get("deviceClassName") or ""
    if class_name not in classes:
        raise Unallocatable(f"{words}: device class {class_name or 'without a name'} does not exist; create it")
    if said.get("capacity"):
        raise Unallocatable(f"{words}: asks for a part of a device's capacity, which is not supported")
    mode = said.get("allocationMode") or "ExactCount"
    if mode not in ("ExactCount", "All"):
        raise Unallocatable(f"{words}: allocation mode {mode} is not supported; ExactCount and All are")
    of_class = _expressions(classes[class_name]["spec"].get("selectors") or (), f"{words}, class {class_name}")
    return Ask(
        claim=number,
        name=name,
        names=names,
        words=words,
        class_name=class_name,
        expressions=(*of_class, *_expressions(said.get("selectors") or (), words)),
        count=None if mode == "All" else int(said.get("count") or 1),
        admin=bool(said.get("adminAccess")),
        tolerations=said.get("tolerations") or (),
        rules=tuple([rule for rule in rules if rule.concerns(names)]),
    )


def _expressions(selectors: Sequence[Json], words: str) -> list[str]:
    found = []
    for selector in selectors:
        expression = (selector.get("cel") or {}).get("expression")
        if not expression:
            raise Unallocatable(f"{words}: a selector is of a kind that is not supported; cel is")
        found.append(expression)
    return found
