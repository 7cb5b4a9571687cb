"""Does a device satisfy a selector? CEL over what its ResourceSlice says of it, as kube-scheduler asks.

Guarantees: the answer is true or false, or a `SelectorError` that says which selector, which device and why; never a
guess. The same selector of the same device is answered from memory, errors included, for as many as `ANSWERS_KEPT`.
A domain in which the device has nothing is an empty map; an attribute that is not there is an error, unless asked for
with `in` or `has()`. Left to others: which selectors a claim has, and what an error means for it.
"""

import marshal
from collections.abc import Callable, Mapping
from functools import lru_cache
from hashlib import blake2b
from typing import Any

from dovetail.constraints.error import ExpressionError
from dovetail.kubernetes.devices.cel_program import Open, program
from dovetail.kubernetes.devices.cel_values import CelError, TooMuch, kind_of, quantity, read_version
from dovetail.kubernetes.devices.device import DraDevice, SelectorError
from dovetail.kubernetes_client.objects import Json

ANSWERS_KEPT = 262_144
PROGRAMS_KEPT = 4096
_DIGEST_BYTES = 16  # so that no two devices ever share one; the whole of a device would take kilobytes
_FIELDS = {"device": frozenset({"driver", "attributes", "capacity", "allowMultipleAllocations"})}
_NOTHING: Json = {}

Program = Callable[[Mapping[str, Any]], Any]


class Selecting:
    def __init__(self) -> None:
        # A text is why there is no answer; it does not name the device, since others may be just like it.
        self._answers: dict[tuple[str, bytes], bool | str] = {}

    def __call__(self, expression: str, device: DraDevice) -> bool:
        key = expression, _digest(device)
        answer = self._answers.get(key)
        if answer is None:
            if len(self._answers) >= ANSWERS_KEPT:
                self._answers.clear()
            answer = self._answers[key] = _answer(_program(expression), device)
        if isinstance(answer, str):
            driver, pool, name = device.id
            raise SelectorError(f"selector {expression!r} on device {name} of pool {pool} of driver {driver}: {answer}")
        return answer


def _digest(device: DraDevice) -> bytes:
    """Everything about a device that a selector can see."""
    body = device.body
    attributes, capacity = body.get("attributes"), body.get("capacity")
    amounts = [(name, one.get("value")) for name, one in capacity.items()] if capacity else None
    seen = [device.id.driver, attributes, amounts, body.get("allowMultipleAllocations")]
    # Later versions write equal things differently.
    return blake2b(marshal.dumps(seen, 2), digest_size=_DIGEST_BYTES).digest()


@lru_cache(maxsize=PROGRAMS_KEPT)
def _program(expression: str) -> Program:
    try:
        return program(expression, _FIELDS)
    except ExpressionError as error:
        raise SelectorError(f"selector {expression!r} cannot be read: {error}") from None


def _answer(run: Program, device: DraDevice) -> bool | str:
    try:
        found = run({"device": _variable(device.id.driver, device.body)})
    except (CelError, TooMuch) as error:
        return str(error)
    return found if isinstance(found, bool) else f"it is neither true nor false, but a {kind_of(found)}"


def _variable(driver: str, body: Json) -> dict[str, Any]:
    attributes, capacity = Open(), Open()
    for name, attribute in (body.get("attributes") or _NOTHING).items():
        domain, key = _qualified(name, driver)
        attributes.setdefault(domain, {})[key] = _attribute(name, attribute)
    for name, amount in (body.get("capacity") or _NOTHING).items():
        domain, key = _qualified(name, driver)
        capacity.setdefault(domain, {})[key] = quantity(str(amount["value"]))
    return {
        "driver": driver,
        "attributes": attributes,
        "capacity": capacity,
        "allowMultipleAllocations": bool(body.get("allowMultipleAllocations")),
    }


def _qualified(name: str, driver: str) -> tuple[str, str]:
    domain, slash, key = name.partition("/")
    return (domain, key) if slash else (driver, name)


def _attribute(name: str, attribute: Json) -> Any:
    """The one value that it has, or the list of them."""
    for kind, read in _READ.items():
        if attribute.get(kind) is not None:
            try:
                return read(attribute[kind])
            except CelError as error:
                raise CelError(f"attribute {name}: {error}") from None
    has = ", ".join(sorted(attribute)) or "nothing"
    raise CelError(f"attribute {name} has {has} where one of {', '.join(_READ)} is understood")


_READ: dict[str, Callable[[Any], Any]] = {
    "ints": list,
    "bools": list,
    "strings": list,
    "versions": lambda texts: [read_version(text) for text in texts],
    "int": int,
    "bool": bool,
    "string": str,
    "version": read_version,
}
