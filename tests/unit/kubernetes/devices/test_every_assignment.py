"""The search for devices against trying every assignment there is, on small random pools and claims.

The plain search below looks at whole assignments only, in the order in which `allocate` promises to find them, and
judges each by rules written down anew. Whether it finds anything, and what first, must be what `allocate` says.
"""

from collections import Counter
from collections.abc import Iterator
from itertools import product
from typing import Any, NamedTuple

from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples
from tests.unit.kubernetes.devices.offers import (
    DRIVER,
    Json,
    claim,
    counters,
    device,
    device_class,
    first_of,
    pools,
    request,
    selects,
    slice_,
    sub,
)

from dovetail.kubernetes.devices.allocating import allocate
from dovetail.kubernetes.devices.device import DeviceId, DraDevice

TAINT = {"key": "broken", "effect": "NoSchedule"}
TOLERATED = [{"key": "broken", "operator": "Exists"}]


class Given(NamedTuple):
    """A device that a request of a claim gets; `said`: the request, or subrequest, as it is written."""

    claim: int
    request: str
    said: Json
    device: DraDevice


VALUES = [0, 0, 0, 1, 1, 1, "0", None]
DRAWS = [None, {"one": {"m": 1}}, {"one": {"m": 2}}, {"two": {"m": 1}}, {"one": {"m": 1}, "two": {"m": 1}}]
SELECTORS = [[], [], ["x=0"], ["x=1"], ["y=1"]]
PLAYS = [
    {"x", "rules"},
    {"x", "y", "rules", "in use"},
    {"x", "selectors"},
    {"y", "selectors", "in use"},
    {"draws"},
    {"draws", "x", "rules"},
    {"taints"},
    {"taints", "x", "selectors"},
    {"x", "y", "draws", "taints", "selectors", "in use", "rules"},
]
NAMED = [[], [], [], ["r0"], ["r1"], ["r0/s1"], ["r0/s0", "r1"]]


class Scene(NamedTuple):
    """`in_use`: positions of devices; `split`: how many are of the first pool; `there`: counters of each pool."""

    devices: list[Json]
    claims: list[Json]
    in_use: set[int]
    split: int
    there: Json


@st.composite
def scenes(draw: st.DrawFn) -> Scene:
    """With some of all that there is to obey: where everything plays a part in everything, hardly anything can be had,
    and hardly ever does a device have to be given back for another that is nearly like it."""
    plays = draw(st.sampled_from(PLAYS))

    def choose(part: str, options: list[Any]) -> Any:
        return draw(st.sampled_from(options)) if part in plays else options[0]

    def body(number: int) -> Json:
        values = {name: choose(name, VALUES) for name in "xy"}
        known = {name: value for name, value in values.items() if value is not None}
        return device(
            f"d{number}", draws=choose("draws", DRAWS), taints=choose("taints", [None, None, [TAINT]]), **known
        )

    def asked(most: int) -> tuple[int, list[str], Json]:
        tolerating = choose("taints", [{}, {"tolerations": TOLERATED}])
        return draw(st.sampled_from(range(most, 0, -1))), choose("selectors", SELECTORS), tolerating

    def wish(name: str, most: int) -> Json:
        if draw(st.sampled_from([False, False, False, True])):
            ways = [asked(most) for _ in range(2)]
            return first_of(name, *[sub(f"s{n}", count, *by, **more) for n, (count, by, more) in enumerate(ways)])
        count, by, more = asked(most)
        return request(name, count, *by, **more, **choose("in use", [{}, {}, {"adminAccess": True}]))

    def rules() -> list[Json]:
        kinds = [
            draw(st.sampled_from(["matchAttribute", "distinctAttribute"]))
            for _ in range(draw(st.sampled_from([1, 1, 2])))
        ]
        return [
            {kind: f"{DRIVER}/{draw(st.sampled_from('xxy'))}", "requests": draw(st.sampled_from(NAMED))}
            for kind in kinds
        ]

    shapes = draw(st.sampled_from([[[3]], [[3, 1]], [[1, 3]], [[2], [1, 1]], [[1], [2]]]))
    wanted = [
        claim(
            *[wish(f"r{number}", most) for number, most in enumerate(shape)],
            name=name,
            constraints=rules() if "rules" in plays else [],
        )
        for name, shape in zip("ab", shapes, strict=False)
    ]
    devices = [body(number) for number in range(draw(st.sampled_from([5, 4, 3])))]
    in_use = draw(st.sets(st.integers(0, len(devices) - 1), max_size=2)) if "in use" in plays else set()
    there = {"one": {"m": draw(st.sampled_from([3, 2, 4]))}, "two": {"m": draw(st.sampled_from([1, 2]))}}
    return Scene(devices, wanted, in_use, draw(st.integers(0, len(devices))), there)


def every(wishes: list[tuple[int, Json]], offered: list[DraDevice], before: list[Given]) -> Iterator[list[Given]]:
    """Every assignment of devices to requests, in order, whether it obeys the rules or not."""
    if not wishes:
        yield before
        return
    (number, asked), *rest = wishes
    alternatives = [(f"{asked['name']}/{one['name']}", one) for one in asked.get("firstAvailable") or ()]
    for name, said in alternatives or [(asked["name"], asked["exactly"])]:
        for found in product(offered, repeat=said["count"]):
            if len(set(map(id, found))) == len(found):
                yield from every(rest, offered, [*before, *[Given(number, name, said, one) for one in found]])


def is_right(
    wanted: list[Json], assigned: list[Given], in_use: set[DeviceId], known: list[DraDevice], there: Json
) -> bool:
    within = Counter([(one.claim, one.device.id) for one in assigned])
    owned = [one.device for one in assigned if not one.said.get("adminAccess")]
    owners = Counter([one.id for one in owned])
    if max([*within.values(), *owners.values()], default=0) > 1 or in_use & set(owners):
        return False
    for one in assigned:
        expressions = [selector["cel"]["expression"] for selector in one.said.get("selectors") or ()]
        if not all(selects(expression, one.device) for expression in expressions):
            return False
        if one.device.body.get("taints") and not one.said.get("tolerations"):
            return False
    used = [one for one in known if one.id in in_use] + owned
    drawn = Counter[tuple[str, str]]()
    for user in used:
        drawn.update(draws(user))
    if any(drawn[key] > there[key[1]]["m"] for one in owned for key in draws(one)):
        return False
    return all(
        obeys(rule, [one for one in assigned if one.claim == number])
        for number, each in enumerate(wanted)
        for rule in each["spec"]["devices"]["constraints"]
    )


def draws(one: DraDevice) -> dict[tuple[str, str], int]:
    """By pool and counter set."""
    said = one.body.get("consumesCounters") or ()
    return {(one.id.pool, drawn["counterSet"]): int(drawn["counters"]["m"]["value"]) for drawn in said}


def obeys(rule: Json, assigned: list[Given]) -> bool:
    attribute = (rule.get("matchAttribute") or rule["distinctAttribute"]).partition("/")[2]
    named = set(rule["requests"])
    concerned = [one for one in assigned if not named or named & {one.request, one.request.partition("/")[0]}]
    values = [repr((one.device.body.get("attributes") or {}).get(attribute)) for one in concerned]
    if "None" in values:
        return False
    return len(set(values)) <= 1 if "matchAttribute" in rule else len(set(values)) == len(values)


def told(allocations: list[Any] | None) -> list[list[tuple[str, str]]] | None:
    if allocations is None:
        return None
    return [[(one["request"], one["device"]) for one in each["devices"]["results"]] for each in allocations]


@examples(500)
@given(scenes())
def test_what_is_found_is_the_first_of_all_assignments_that_obey_the_rules(scene: Scene) -> None:
    slices = []
    for pool, part in (("p", scene.devices[: scene.split]), ("q", scene.devices[scene.split :])):
        slices.append(slice_(f"c of {pool}", pool=pool, count=2, sharedCounters=counters(**scene.there)))
        slices.append(slice_(f"d of {pool}", *part, pool=pool, count=2))
    found = pools(*slices)
    known = [each for pool in found for each in pool.devices]
    assert len(known) == len(scene.devices)
    in_use = {known[position].id for position in scene.in_use}

    wishes = [(number, one) for number, each in enumerate(scene.claims) for one in each["spec"]["devices"]["requests"]]
    everything = every(wishes, known, [])
    first = next((tried for tried in everything if is_right(scene.claims, tried, in_use, known, scene.there)), None)
    expected: list[list[tuple[str, str]]] | None = None if first is None else [[] for _ in scene.claims]
    for one in first or ():
        assert expected is not None
        expected[one.claim].append((one.request, one.device.id.name))
    assert told(allocate(scene.claims, found, in_use, {"any": device_class()}, selects, "n1")) == expected
