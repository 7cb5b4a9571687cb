"""Who may have which device: what claims have, what they are about to get, and what that leaves on each node."""

from typing import Any

import pytest
from tests.unit.kubernetes.devices.offers import claim, device, device_class, request, selects, slice_

from dovetail.kubernetes.devices.claims import DeviceClaims
from dovetail.kubernetes.devices.device import Unallocatable

Json = dict[str, Any]


def world(**devices: int) -> DeviceClaims:
    """Nodes with so many devices each."""
    found = DeviceClaims(selects)
    found.set_class(device_class())
    for node, count in devices.items():
        found.inventory.set_node(node, {})
        offered = [device(f"d{number}") for number in range(count)]
        if offered:
            found.inventory.set_slice(slice_(f"of-{node}", *offered, pool=node, nodeName=node))
    return found


def pod(*claims: str, name: str = "a", **status: Any) -> Json:
    each = [{"name": one, "resourceClaimName": one} for one in claims]
    about = {"namespace": "default", "name": name, "uid": f"uid-{name}"}
    return {"metadata": about, "spec": {"resourceClaims": each}, "status": status}


def marked(claims: DeviceClaims, asking: Json) -> list[str]:
    """The nodes that can give the pod what its claims lack."""
    ask = claims.ask_of(asking)
    assert ask is not None
    assert not ask.refused
    return [node for node in claims.inventory.nodes if ask.marked in claims.marks(node)]


def test_nodes_are_marked_that_have_what_is_asked_for_until_it_is_given_away() -> None:
    claims = world(a=2, b=1, c=0)
    for name in ("one", "two"):
        claims.set_claim(claim(request(), name=name))
    claims.set_claim(claim(request(count=2), name="pair"))
    assert marked(claims, pod("one")) == ["a", "b"]
    assert marked(claims, pod("pair")) == ["a"]
    claims.take_changed()
    given = claims.allot(pod("one"), "a")
    claims.assume(given)
    assert claims.take_changed() == {"a"}
    assert marked(claims, pod("two")) == ["a", "b"]
    assert marked(claims, pod("pair")) == []
    claims.give_up(given)
    assert marked(claims, pod("pair")) == ["a"]


def test_what_the_api_says_a_claim_has_nobody_else_gets() -> None:
    claims = world(a=1)
    claims.set_claim(claim(request(), name="one"))
    claims.set_claim(claim(request(), name="two"))
    (given,) = claims.allot(pod("one"), "a")
    claims.assume([given])
    claims.set_claim({**claim(request(), name="one"), "status": {"allocation": given.allocation}})
    claims.give_up([given])
    assert marked(claims, pod("two")) == []
    with pytest.raises(Unallocatable, match="not free on a any more"):
        claims.allot(pod("two"), "a")
    claims.drop_claim("default", "one")
    assert marked(claims, pod("two")) == ["a"]


def test_news_of_a_claim_that_is_being_given_devices_does_not_free_them() -> None:
    claims = world(a=1)
    claims.set_claim(claim(request(), name="one"))
    claims.set_claim(claim(request(), name="two"))
    claims.assume(claims.allot(pod("one"), "a"))
    claims.set_claim(claim(request(), name="one"))  # such as its finalizer, which is written first
    assert marked(claims, pod("two")) == []
    ask = claims.ask_of(pod("one", name="b"))
    assert ask is not None
    assert "is being given its devices" in ask.refused


def test_what_the_watch_tells_late_does_not_undo_what_was_written_since() -> None:
    claims = world(a=1)
    before = claim(request(), name="one")
    claims.set_claim(before)
    claims.set_claim(claim(request(), name="two"))
    (given,) = claims.allot(pod("one"), "a")
    written = {**before, "metadata": {**before["metadata"], "resourceVersion": "10"}}
    claims.set_claim({**written, "status": {"allocation": given.allocation}})
    claims.set_claim({**before, "metadata": {**before["metadata"], "resourceVersion": "9"}})
    assert marked(claims, pod("two")) == []
    claims.set_claim({**before, "metadata": {**before["metadata"], "resourceVersion": "11"}})
    assert marked(claims, pod("two")) == ["a"]


def test_pods_that_share_a_claim_are_told_when_it_did_not_get_its_devices() -> None:
    claims = world(a=1)
    claims.set_claim(claim(request(), name="one"))
    given = claims.allot(pod("one"), "a")
    claims.assume(given)
    claims.ask_of(pod("one", name="b"))
    claims.take_affected_pods()
    claims.give_up(given)
    assert ("default", "b") in claims.take_affected_pods()


def test_a_claim_that_a_pod_names_twice_gets_its_devices_once() -> None:
    claims = world(a=1)
    claims.set_claim(claim(request(), name="one"))
    twice = pod("one")
    twice["spec"]["resourceClaims"].append({"name": "again", "resourceClaimName": "one"})
    assert len(claims.allot(twice, "a")) == 1


def test_who_looks_after_a_device_keeps_nobody_from_it() -> None:
    claims = world(a=1)
    claims.set_claim(claim(request(adminAccess=True), name="watcher"))
    claims.set_claim(claim(request(), name="user"))
    claims.assume(claims.allot(pod("watcher"), "a"))
    assert marked(claims, pod("user")) == ["a"]


def test_pods_that_ask_for_the_same_are_answered_once_and_what_nobody_asks_for_is_forgotten() -> None:
    asked = 0

    def counted(expression: str, one: Any) -> bool:
        nonlocal asked
        asked += 1
        return selects(expression, one)

    claims = DeviceClaims(counted)
    claims.set_class(device_class("any", "kind=x"))
    claims.inventory.set_node("a", {})
    claims.inventory.set_slice(slice_("s", device("d0", kind="x"), nodeName="a"))
    for name in ("one", "two"):
        claims.set_claim(claim(request(), name=name))
    first, second = claims.ask_of(pod("one")), claims.ask_of(pod("two"))
    assert first == second
    assert asked == 1
    assert list(claims.marks("a")) == [first.marked if first else ""]
    claims.keep_only([])
    assert not claims.wanted
    assert claims.marks("a") == {}
    assert "a" in claims.take_changed()


def test_a_claim_that_has_its_devices_holds_its_pod_to_where_they_are() -> None:
    claims = world(a=1, b=1)
    claims.set_claim(claim(request(), name="one"))
    (given,) = claims.allot(pod("one"), "b")
    claims.set_claim({**claim(request(), name="one"), "status": {"allocation": given.allocation}})
    ask = claims.ask_of(pod("one"))
    assert ask is not None
    assert ask.marked == ""
    assert len(ask.available) == 1
    assert claims.idle(pod("one")) != []
    used = {"allocation": given.allocation, "reservedFor": [{"resource": "pods", "name": "b", "uid": "uid-b"}]}
    claims.set_claim({**claim(request(), name="one"), "status": used})
    assert claims.idle(pod("one")) == []
    assert claims.idle(pod("one", name="b")) != []


def test_what_is_wrong_on_one_node_keeps_nobody_from_the_others() -> None:
    claims = world(a=1)
    claims.inventory.set_node("b", {})
    claims.inventory.set_slice(slice_("half", device("d0"), pool="b", nodeName="b", count=2))
    claims.set_claim(claim(request(allocationMode="All"), name="all"))
    assert marked(claims, pod("all")) == ["a"]
    claims.inventory.drop_slice("of-a")
    claims.set_claim(claim(request(allocationMode="All"), name="other"))
    for name in ("all", "other"):
        ask = claims.ask_of(pod(name))
        assert ask is not None
        assert f"claim default/{name}, request r: asks for all devices" in ask.refused


@pytest.mark.parametrize(
    ("asking", "words"),
    [
        (pod("none"), "none does not exist"),
        (pod("leaving"), "is being deleted"),
        (pod("crowded"), "is used by 256 pods"),
        (pod("strange"), "colour"),
        (pod("classless"), "no-such-class"),
        (
            {**pod(), "spec": {"resourceClaims": [{"name": "mine", "resourceClaimTemplateName": "t"}]}},
            "has not been made from its template yet",
        ),
        (
            {
                **pod(resourceClaimStatuses=[{"name": "mine", "resourceClaimName": "strange"}]),
                "spec": {"resourceClaims": [{"name": "mine", "resourceClaimTemplateName": "t"}]},
            },
            "was not made for this pod",
        ),
    ],
)
def test_claims_that_no_node_can_help_are_refused_with_the_reason(asking: Json, words: str) -> None:
    claims = world(a=1)
    leaving = claim(request(), name="leaving")
    leaving["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    claims.set_claim(leaving)
    users = [{"resource": "pods", "name": f"p{number}", "uid": f"uid-p{number}"} for number in range(256)]
    crowded = {"allocation": {"devices": {"results": []}}, "reservedFor": users}
    claims.set_claim({**claim(request(), name="crowded"), "status": crowded})
    claims.set_claim(claim(request("r", 1, "colour is red"), name="strange"))
    claims.set_claim(claim(request(deviceClassName="no-such-class"), name="classless"))
    ask = claims.ask_of(asking)
    assert ask is not None
    assert words in ask.refused


def test_a_template_that_turned_out_to_need_no_claim_asks_for_nothing() -> None:
    claims = world(a=0)
    asking = {
        **pod(resourceClaimStatuses=[{"name": "mine"}]),
        "spec": {"resourceClaims": [{"name": "mine", "resourceClaimTemplateName": "t"}]},
    }
    ask = claims.ask_of(asking)
    assert ask is not None
    assert (ask.refused, ask.available, ask.marked) == ("", (), "")
    assert claims.allot(asking, "a") == []
