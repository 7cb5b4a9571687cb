"""Which devices claims get on a node, and why they get none."""

from typing import Any

import pytest
from tests.unit.kubernetes.devices.offers import (
    DRIVER,
    Json,
    claim,
    counters,
    device,
    device_class,
    first_of,
    id_,
    inventory,
    pools,
    request,
    selects,
    slice_,
    sub,
    zone,
)

from dovetail.kubernetes.devices.allocating import allocate
from dovetail.kubernetes.devices.device import DeviceId, DevicePool, DraDevice, Unallocatable

ANY = {"any": device_class()}
X, Y = f"{DRIVER}/x", f"{DRIVER}/y"
NO_SCHEDULE = {"key": "broken", "value": "yes", "effect": "NoSchedule"}


def give(
    found: list[DevicePool], *claims: Json, in_use: set[DeviceId] | None = None, classes: Json | None = None
) -> list[Any] | None:
    given = allocate(claims, found, in_use or set(), classes or ANY, selects, "n1")
    return None if given is None else list(given)


def devices(given: list[Any] | None) -> list[list[str]] | None:
    """Of each claim, what it gets for which request."""
    if given is None:
        return None
    return [[f"{one['request']}={one['device']}" for one in each["devices"]["results"]] for each in given]


def local(*bodies: Json) -> list[DevicePool]:
    return pools(slice_("s", *bodies))


def test_a_claim_gets_the_first_device_that_is_free() -> None:
    there = local(device("a"), device("b"))
    assert devices(give(there, claim(request()))) == [["r=a"]]
    assert devices(give(there, claim(request()), in_use={id_("a")})) == [["r=b"]]
    assert give(there, claim(request()), in_use={id_("a"), id_("b")}) is None


def test_an_allocation_is_written_as_the_api_keeps_it() -> None:
    assert give(local(device("a")), claim(request())) == [
        {
            "devices": {"results": [{"request": "r", "driver": DRIVER, "pool": "p", "device": "a"}]},
            "nodeSelector": {
                "nodeSelectorTerms": [
                    {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]},
                ]
            },
        }
    ]


def test_a_claim_that_asks_for_nothing_gets_nothing_and_is_satisfied() -> None:
    assert give([], claim()) == [{"devices": {"results": []}}]
    assert give([]) == []


def test_a_count_left_out_is_one() -> None:
    asked = request()
    del asked["exactly"]["count"], asked["exactly"]["allocationMode"]
    assert devices(give(local(device("a"), device("b")), claim(asked))) == [["r=a"]]


def test_a_device_must_satisfy_the_selectors_of_class_and_request() -> None:
    there = local(device("a", kind="gpu"), device("b", kind="gpu", size="large"), device("c", size="large"))
    classes = {"any": device_class("any", "kind=gpu")}
    assert devices(give(there, claim(request("r", 1, "size=large")), classes=classes)) == [["r=b"]]
    assert give(there, claim(request("r", 2, "size=large")), classes=classes) is None


def test_an_earlier_request_gives_way_if_a_later_one_can_only_have_its_device() -> None:
    there = local(device("large", size="large"), device("small"))
    both = request("any"), request("large", 1, "size=large")
    assert devices(give(there, claim(*both))) == [["any=small", "large=large"]]
    apart = claim(both[0], name="one"), claim(both[1], name="two")
    assert devices(give(there, *apart)) == [["any=small"], ["large=large"]]


def test_claims_of_a_pod_get_all_or_nothing() -> None:
    assert give(local(device("a")), claim(request(), name="one"), claim(request(), name="two")) is None


def test_devices_come_from_several_pools_but_not_from_flawed_ones() -> None:
    there = pools(
        slice_("s1", device("a"), pool="p1"),
        slice_("s2", device("b"), pool="p2", count=2),
        slice_("s3", device("c"), pool="p3"),
    )
    assert devices(give(there, claim(request("r", 2)))) == [["r=a", "r=c"]]
    assert give(there, claim(request("r", 3))) is None


def all_of(name: str = "r", *selectors: str, **more: Any) -> Json:
    return request(name, 1, *selectors, allocationMode="All", **more)


def test_all_are_those_that_are_selected_and_none_of_them_may_be_in_use() -> None:
    there = local(device("a", kind="gpu"), device("b"), device("c", kind="gpu"))
    assert devices(give(there, claim(all_of("r", "kind=gpu")))) == [["r=a", "r=c"]]
    assert give(there, claim(all_of("r", "kind=gpu")), in_use={id_("c")}) is None
    assert devices(give(there, claim(all_of("r", "kind=gpu")), in_use={id_("b")})) == [["r=a", "r=c"]]


def test_all_are_at_least_one() -> None:
    assert give(local(device("a")), claim(all_of("r", "kind=gpu"))) is None
    assert give([], claim(all_of())) is None


def test_a_request_before_one_for_all_must_take_what_is_not_among_them() -> None:
    there = local(device("a", kind="gpu"), device("b"))
    wanted = claim(request("one"), all_of("all", "kind=gpu"))
    assert devices(give(there, wanted)) == [["one=b", "all=a"]]
    assert give(there, claim(request("one"), all_of("all"))) is None


def test_all_devices_cannot_be_had_while_a_pool_is_flawed() -> None:
    there = pools(slice_("s1", device("a"), pool="p1"), slice_("s2", device("b"), pool="p2", count=2))
    with pytest.raises(
        Unallocatable, match=r"claim default/c, request r: asks for all .*pool gpu.example.com/p2 on node n1"
    ):
        give(there, claim(all_of()))


def test_of_subrequests_the_first_that_can_be_had_is_taken() -> None:
    there = local(device("a", size="small"), device("b", size="small"))
    wanted = claim(first_of("r", sub("large", 1, "size=large"), sub("small", 2, "size=small"), sub("none", 1)))
    assert devices(give(there, wanted)) == [["r/small=a", "r/small=b"]]
    assert devices(give(there, wanted, in_use={id_("a")})) == [["r/none=b"]]


def test_a_subrequest_gives_way_to_its_next_if_another_request_needs_its_device() -> None:
    there = local(device("a", size="large"), device("b"))
    wanted = claim(first_of("r", sub("large", 1, "size=large"), sub("any")), request("s", 1, "size=large"))
    assert devices(give(there, wanted)) == [["r/any=b", "s=a"]]


def test_administrators_may_have_what_is_in_use_and_take_nothing_from_others() -> None:
    there = local(device("a"))
    admin = claim(request(adminAccess=True), name="admin")
    given = give(there, admin, claim(request(), name="plain"))
    assert devices(given) == [["r=a"], ["r=a"]]
    assert given is not None
    assert given[0]["devices"]["results"][0]["adminAccess"] is True
    assert "adminAccess" not in given[1]["devices"]["results"][0]
    assert devices(give(there, admin, in_use={id_("a")})) == [["r=a"]]


def test_one_claim_gets_no_device_twice_not_even_for_administrators() -> None:
    there = local(device("a"), device("b"))
    assert devices(give(there, claim(request("r", 2, adminAccess=True)))) == [["r=a", "r=b"]]
    assert devices(give(there, claim(request("r"), request("s", adminAccess=True)))) == [["r=a", "s=b"]]
    assert give(there, claim(request("r", adminAccess=True), all_of("s", adminAccess=True))) is None


def test_an_administrator_looks_at_what_is_in_use_if_others_need_what_is_free() -> None:
    wanted = claim(request("r", adminAccess=True), request("s"))
    assert devices(give(local(device("free"), device("used")), wanted, in_use={id_("used")})) == [["r=used", "s=free"]]


def test_administrators_need_no_counters() -> None:
    there = pools(
        slice_("c", count=2, sharedCounters=counters(set={"memory": 1})),
        slice_("d", device("a", draws={"set": {"memory": 1}}), count=2),
    )
    assert devices(give(there, claim(request(adminAccess=True)), in_use={id_("a")})) == [["r=a"]]


@pytest.mark.parametrize("effect", ["NoSchedule", "NoExecute"])
def test_a_tainted_device_is_for_those_who_tolerate_it(effect: str) -> None:
    there = local(device("a", taints=[NO_SCHEDULE | {"effect": effect}]))
    assert give(there, claim(request())) is None
    assert give(there, claim(request(adminAccess=True))) is None
    for toleration in (
        {"key": "broken", "operator": "Exists"},
        {"operator": "Exists", "effect": effect},
        {"key": "broken", "operator": "Equal", "value": "yes"},
        {"key": "broken", "value": "yes"},
    ):
        given = give(there, claim(request(tolerations=[toleration])))
        assert given is not None
        assert given[0]["devices"]["results"][0]["tolerations"] == [toleration]
    for toleration in (
        {"key": "other", "operator": "Exists"},
        {"key": "broken", "operator": "Equal", "value": "no"},
        {"operator": "Exists", "effect": "None"},
        {"key": "broken", "operator": "Like", "value": "yes"},
    ):
        assert give(there, claim(request(tolerations=[toleration]))) is None


def test_a_taint_without_a_known_effect_keeps_nobody_away() -> None:
    assert devices(give(local(device("a", taints=[NO_SCHEDULE | {"effect": "None"}])), claim(request()))) == [["r=a"]]


def test_every_taint_must_be_tolerated_and_of_all_devices_every_one() -> None:
    other = {"key": "other", "effect": "NoExecute"}
    tolerating: Json = {"tolerations": [{"key": "broken", "operator": "Exists"}]}
    there = local(device("a", taints=[NO_SCHEDULE]), device("b", taints=[NO_SCHEDULE, other]))
    assert devices(give(there, claim(request(**tolerating)))) == [["r=a"]]
    assert give(there, claim(all_of(**tolerating))) is None


def test_devices_that_must_match_have_the_same_value_of_the_same_kind() -> None:
    there = local(device("a", x=1), device("b", x=True), device("c"), device("d", x="1"), device("e", x=1))
    wanted = claim(request("r", 2), constraints=[{"matchAttribute": X}])
    assert devices(give(there, wanted)) == [["r=a", "r=e"]]
    assert give(there, wanted, in_use={id_("e")}) is None


def test_devices_that_must_be_distinct_have_different_values() -> None:
    there = local(
        device("a", x=1), device("b", x=1), device("c"), device("d", x=2), device("e", x={"version": "1.0.0"})
    )
    assert devices(give(there, claim(request("r", 3), constraints=[{"distinctAttribute": X}]))) == [
        ["r=a", "r=d", "r=e"]
    ]
    assert give(there, claim(request("r", 4), constraints=[{"distinctAttribute": X}])) is None


def test_an_attribute_may_be_written_with_its_domain_and_belongs_to_no_other_driver() -> None:
    full = device("a") | {"attributes": {"std.example/x": {"int": 1}}}
    wanted = claim(request(), constraints=[{"matchAttribute": "std.example/x"}])
    assert devices(give(local(device("short", x=1), full), wanted)) == [["r=a"]]


def test_a_value_of_an_unknown_kind_satisfies_no_constraint() -> None:
    there = local(device("a", x={"colour": "red"}))
    for kind in ("matchAttribute", "distinctAttribute"):
        assert give(there, claim(request(), constraints=[{kind: X}])) is None


def test_a_constraint_is_for_the_requests_that_it_names() -> None:
    there = local(device("a", x=1), device("b", x=2), device("c", x=1))
    asked = request("r"), request("s"), request("t")
    wanted = claim(*asked, constraints=[{"matchAttribute": X, "requests": ["r", "t"]}])
    assert devices(give(there, wanted)) == [["r=a", "s=b", "t=c"]]


@pytest.mark.parametrize(("named", "expected"), [("r", "s=c"), ("r/one", "s=c"), ("r/two", "s=b")])
def test_a_constraint_may_name_a_request_with_all_its_subrequests_or_one_of_them(named: str, expected: str) -> None:
    there = local(device("a", x=1), device("b", x=2), device("c", x=1))
    asked = first_of("r", sub("one"), sub("two")), request("s")
    wanted = claim(*asked, constraints=[{"matchAttribute": X, "requests": [named, "s"]}])
    assert devices(give(there, wanted)) == [["r/one=a", expected]]


def test_constraints_are_those_of_one_claim() -> None:
    there = local(device("a", x=1), device("b", x=1))
    each = [claim(request(), name=name, constraints=[{"distinctAttribute": X}]) for name in ("one", "two")]
    assert devices(give(there, *each)) == [["r=a"], ["r=b"]]


def test_partitions_can_be_had_while_the_counters_that_they_share_suffice() -> None:
    half, whole = {"set": {"memory": "500m"}}, {"set": {"memory": 1}}
    there = pools(
        slice_("c", count=2, sharedCounters=counters(set={"memory": 1, "cores": 1})),
        slice_("d", device("whole", draws=whole), device("h1", draws=half), device("h2", draws=half), count=2),
    )
    assert devices(give(there, claim(request()))) == [["r=whole"]]
    assert devices(give(there, claim(request("r", 2)))) == [["r=h1", "r=h2"]]
    assert give(there, claim(request("r", 3))) is None
    assert devices(give(there, claim(request()), in_use={id_("h2")})) == [["r=h1"]]
    assert give(there, claim(request()), in_use={id_("whole")}) is None


def test_what_other_nodes_use_of_a_pool_draws_on_its_counters_too() -> None:
    draws = {"set": {"memory": 1}}
    there = inventory(
        slice_("c", count=3, allNodes=True, sharedCounters=counters(set={"memory": 1})),
        slice_("one", device("a", draws=draws), count=3),
        slice_("two", device("b", draws=draws), count=3, nodeName="n2"),
    ).pools("n1")
    assert devices(give(there, claim(request()))) == [["r=a"]]
    assert give(there, claim(request()), in_use={id_("b")}) is None


def test_a_counter_that_is_drawn_on_too_much_refuses_only_those_who_draw_on_it() -> None:
    there = pools(
        slice_("c", count=2, sharedCounters=counters(one={"memory": 1}, two={"memory": 1})),
        slice_(
            "d",
            device("greedy", draws={"one": {"memory": 2}}),
            device("a", draws={"one": {"memory": 0}}),
            device("b", draws={"two": {"memory": 1}}),
            count=2,
        ),
    )
    assert devices(give(there, claim(request()), in_use={id_("greedy")})) == [["r=b"]]


def test_no_claim_gets_more_than_it_can_be_given() -> None:
    there = local(*[device(f"d{number}", kind="gpu" if number < 33 else "other") for number in range(40)])
    assert len((devices(give(there, claim(request("r", 32)))) or [[]])[0]) == 32
    with pytest.raises(Unallocatable, match="asks for 33 devices, but a claim can have 32"):
        give(there, claim(request("r", 32), request("s")))
    assert give(there, claim(all_of("r", "kind=gpu"))) is None
    fewer = claim(first_of("r", sub("many", 33), sub("few", 31)), first_of("s", sub("two", 2), sub("one")))
    found = devices(give(there, fewer))
    assert found is not None
    assert len(found[0]) == 32


def test_more_devices_in_all_than_calls_can_be_nested_are_found() -> None:
    many = [device(f"d{number}") for number in range(64 * 32)]
    found = give(local(*many), *[claim(request("r", 32), name=f"c{number}") for number in range(64)])
    assert found is not None
    assert [len(each["devices"]["results"]) for each in found] == [32] * 64


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        (claim(request(deviceClassName="none")), "claim default/c, request r: device class none does not exist"),
        (claim(request(deviceClassName="")), "device class without a name does not exist"),
        (claim(request(allocationMode="Half")), "request r: allocation mode Half is not supported"),
        (claim(request(capacity={"requests": {"memory": "1Gi"}})), "request r: .*capacity, which is not supported"),
        (claim({"name": "r", "someday": {}}), "request r: is of a kind that is not supported"),
        (claim(first_of("r", sub("s", deviceClassName="none"))), "request r/s: device class none does not exist"),
        (claim(request(selectors=[{"rego": {}}])), "request r: a selector is of a kind that is not supported"),
        (claim(request(), constraints=[{"sameColour": X}]), "claim default/c: a constraint is of a kind"),
        (claim(request("r", 1, "nonsense")), "claim default/c, request r: 'nonsense' cannot be read"),
        (claim(all_of("r", "nonsense")), "claim default/c, request r: 'nonsense' cannot be read"),
    ],
)
def test_what_no_node_can_satisfy_is_refused_in_words(wanted: Json, words: str) -> None:
    with pytest.raises(Unallocatable, match=words):
        give(local(device("a")), wanted)


def test_a_selector_that_fails_on_a_device_nobody_gets_to_does_no_harm() -> None:
    def fails_on_the_last(expression: str, one: DraDevice) -> bool:
        return one.id.name == "a" or selects(expression, one)

    there = local(device("a"), device("b"))
    wanted = claim(request("r", 1, "nonsense"))
    assert allocate([wanted], there, set(), ANY, fails_on_the_last, "n1") is not None
    with pytest.raises(Unallocatable):
        allocate([wanted], there, {id_("a")}, ANY, fails_on_the_last, "n1")


def test_an_impossible_claim_of_devices_that_differ_in_nothing_asked_for_is_soon_refused() -> None:
    """Tried one by one, 8 of 32 are ten million ways."""
    there = local(*[device(f"d{number}", x=number % 2, serial=f"{number}") for number in range(32)])
    assert give(there, claim(request("r", 17), constraints=[{"matchAttribute": X}])) is None
    wanted = claim(
        request("r", 8), request("s", 1, "size=large"), constraints=[{"matchAttribute": X, "requests": ["r"]}]
    )
    assert give(there, wanted) is None


def test_a_search_that_finds_no_end_is_given_up_in_words() -> None:
    there = local(*[device(f"d{number}", x=number % 7, y=f"{number}") for number in range(32)])
    constraints = [{"distinctAttribute": Y}, {"distinctAttribute": X, "requests": ["last"]}]
    with pytest.raises(Unallocatable, match=r"claims default/c: whether node n1 .* 100,000 steps"):
        give(there, claim(request("r", 8), request("last", 8), constraints=constraints))


def test_the_configuration_of_a_class_comes_once_for_all_its_requests_then_the_claims_own() -> None:
    classes = {"any": device_class(config=[{"opaque": {"driver": DRIVER, "parameters": {"a": 1}}}])}
    classes["bare"] = device_class("bare")
    own = [
        {"opaque": {"driver": DRIVER, "parameters": {"b": 2}}},
        {"requests": ["r", "t"], "opaque": {"driver": DRIVER, "parameters": {"c": 3}}},
    ]
    wanted = claim(request("r"), request("s", deviceClassName="bare"), request("t"), config=own)
    given = give(local(device("a"), device("b"), device("c")), wanted, classes=classes)
    assert given is not None
    assert given[0]["devices"]["config"] == [
        {"source": "FromClass", "requests": ["r", "t"], "opaque": {"driver": DRIVER, "parameters": {"a": 1}}},
        {"source": "FromClaim", "opaque": {"driver": DRIVER, "parameters": {"b": 2}}},
        {"source": "FromClaim", "requests": ["r", "t"], "opaque": {"driver": DRIVER, "parameters": {"c": 3}}},
    ]


def test_the_configuration_of_subrequests_that_were_not_chosen_is_left_out() -> None:
    classes = {
        "any": device_class("any", config=[{"opaque": {"driver": "any"}}]),
        "large": device_class("large", "size=large", config=[{"opaque": {"driver": "large"}}]),
    }
    own = [{"requests": [name], "opaque": {"driver": name}} for name in ("r/one", "r/two", "r")]
    wanted = claim(first_of("r", sub("one", deviceClassName="large"), sub("two")), config=own)
    given = give(local(device("a")), wanted, classes=classes)
    assert given is not None
    found = [(one["source"], one["requests"], one["opaque"]["driver"]) for one in given[0]["devices"]["config"]]
    assert found == [("FromClass", ["r/two"], "any"), ("FromClaim", ["r/two"], "r/two"), ("FromClaim", ["r"], "r")]


def selector_for(*slices: Json, count: int = 1) -> Any:
    there = inventory(*slices, nodes={"n1": {"zone": "a", "rack": "1"}}).pools("n1")
    given = give(there, claim(request("r", count)))
    assert given is not None
    return given[0].get("nodeSelector")


def test_devices_of_all_nodes_bind_a_claim_to_none() -> None:
    assert selector_for(slice_("s", device("a"), allNodes=True)) is None


def test_selectors_of_several_slices_must_all_hold_and_none_is_said_twice() -> None:
    rack = {"key": "rack", "operator": "Exists"}
    zones, turned = zone("a", "b"), zone("b", "a")
    turned["nodeSelectorTerms"][0]["matchExpressions"].append(rack)
    slices = [slice_("s1", device("a"), pool="p1", nodeSelector=zones)]
    slices += [slice_("s2", device("b"), pool="p2", nodeSelector=turned)]
    expressions = [*zones["nodeSelectorTerms"][0]["matchExpressions"], rack]
    assert selector_for(*slices, count=2) == {"nodeSelectorTerms": [{"matchExpressions": expressions}]}


def test_one_device_of_one_node_binds_the_claim_to_that_node() -> None:
    field = {"key": "metadata.name", "operator": "In", "values": ["n1"]}
    bound = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    spread, own = slice_("s1", device("a"), pool="p1", nodeSelector=zone("a")), slice_("s2", device("b"), pool="p2")
    assert selector_for(spread, own, count=2) == bound
    several = {"nodeSelectorTerms": zone("a")["nodeSelectorTerms"] * 2}
    assert selector_for(slice_("s", device("a"), nodeSelector=several)) == bound


def test_where_devices_say_it_themselves_their_own_selectors_count() -> None:
    named, chosen = device("a") | {"nodeName": "n1"}, device("b") | {"nodeSelector": zone("a")}
    field = {"key": "metadata.name", "operator": "In", "values": ["n1"]}
    one = slice_("s", chosen, named, perDeviceNodeSelection=True)
    assert selector_for(one) == zone("a")
    assert selector_for(one, count=2) == {"nodeSelectorTerms": [{"matchFields": [field]}]}
