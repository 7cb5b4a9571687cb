"""A copy of the endpoints follows the changes, and can be kept as text."""

import json

import pytest
from tests.unit.discovery.endpoints import by_id, changes, endpoint, mirror

from dovetail.discovery.mirror import EndpointMirror, UnreadableCopy

WEB0, WEB1 = endpoint("web", 0, "n1", "10.0.0.1"), endpoint("web", 1, "n2", "10.0.0.2")
CART = endpoint("cart", 0, "n1", "10.0.0.1")


def test_changes_name_the_services_that_they_concern() -> None:
    found = mirror(WEB0, CART)
    assert found.apply(changes(WEB1, full=False, services=[], nodes=[])) == ({("default", "web")}, False)
    assert by_id(found.of(("default", "web"))) == by_id([WEB0, WEB1])
    gone = changes(full=False, services=[], endpoints_gone=[WEB0.workload, 12_345])
    assert found.apply(gone)[0] == {("default", "web")}
    assert list(found.of(("default", "web"))) == [WEB1]


def test_everything_replaces_what_was_there() -> None:
    found = mirror(WEB0, CART)
    concerned, nodes = found.apply(changes(WEB1, version=9))
    assert concerned == {("default", "web"), ("default", "cart")}
    assert nodes
    assert list(found.endpoints()) == [WEB1]
    assert found.nodes == {"n2": "10.0.0.2"}


def test_text_gives_the_same_copy_back() -> None:
    found = mirror(WEB0, WEB1, CART)
    again = EndpointMirror.read(b"".join(found.text()))
    assert by_id(again.endpoints()) == by_id(found.endpoints())
    assert (again.services, again.nodes, again.version) == (found.services, found.nodes, 0)


def test_a_large_copy_comes_in_pieces_that_are_one_document() -> None:
    many = [endpoint("web", index, "n1", "10.0.0.1", workload=index) for index in range(1_001)]
    pieces = list(mirror(*many).text())
    assert len(pieces) > 10
    assert len(json.loads(b"".join(pieces))["endpoints"]) == 1_001


@pytest.mark.parametrize("text", ["", "{}", "[]", "null", '{"format": 2}', '{"format": 1, "services": 3}', "{\xff"])
def test_other_text_is_refused(text: str) -> None:
    with pytest.raises(UnreadableCopy):
        EndpointMirror.read(text)
