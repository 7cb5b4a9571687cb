"""An even spread: what counts as a domain, what counts in it, and what is said when one would have too many."""

from typing import Any

from tests.unit.placement.scene import scored
from tests.unit.placement.workload_affinity_scene import Society

from dovetail.model.node import Node


def over(level: str = "zone", **more: Any) -> list[dict[str, Any]]:
    return [{"over": level, **more}]


def test_the_next_task_goes_to_a_domain_that_has_as_few_as_any() -> None:
    society = Society.of(zone="aab")
    assert society.allowed("spread", spread=over()) == "xxx"
    society.place(0)
    assert society.allowed("spread", spread=over()) == "..x"
    assert society.allowed("spread", spread=over(max_skew=2)) == "xxx"
    society.place(2)
    assert society.allowed("spread", spread=over()) == "xxx"


def test_hosts_are_domains_of_their_own() -> None:
    society = Society.of(zone="ab-")
    society.place(1)
    assert society.allowed("spread", spread=over("host")) == "x.x"


def test_nothing_is_spread_over_nodes_in_no_domain() -> None:
    assert Society.of(zone="a-").allowed("spread", spread=over()) == "x."
    assert Society.of(zone="a-").allowed("spread", spread=over("rack")) == ".."


def test_only_the_workload_itself_counts_unless_others_are_named() -> None:
    society = Society.of(zone="ab")
    society.place(0, "front", labels={"app": "web"})
    assert society.allowed("spread", spread=over()) == "xx"
    of = {"labels": {"app": "web"}}
    assert society.allowed("spread", labels={"app": "web"}, spread=over(of=of)) == ".x"
    # A task that does not count itself adds nothing to where it goes.
    assert society.allowed("spread", spread=over(of=of)) == "xx"


def test_fewer_domains_than_asked_for_count_as_if_an_empty_one_were_there() -> None:
    society = Society.of(zone="ab")
    society.place(0)
    society.place(1)
    assert society.allowed("spread", spread=over()) == "xx"
    assert society.allowed("spread", spread=over(min_domains=3)) == ".."
    assert society.allowed("spread", spread=over(min_domains=3, max_skew=2)) == "xx"


def test_a_domain_that_the_task_cannot_go_to_does_not_hold_up_the_others() -> None:
    """Zone b is empty in each case, and closed to the task in another way."""
    society = Society.of(zone="ab")
    society.place(0)
    assert society.allowed("spread", spread=over()) == ".x"
    zone_a = [{"match": [{"key": "zone", "operator": "In", "values": ["a"]}]}]
    closed: list[dict[str, Any]] = [
        {"node_selector": {"zone": "a"}},
        {"node_affinity": {"required": zone_a}},
        {"constraints": [{"require": 'node.labels.zone == "a"'}]},
        {"scope": {"zone": "a"}},
    ]
    for fields in closed:
        assert society.allowed("spread", spread=over(), **fields)[0] == "x", fields
    society.cluster.set_cordoned("n1", True)
    assert society.allowed("spread", spread=over())[0] == "x"


def test_a_domain_of_another_backend_or_with_a_taint_does_not_hold_up_the_others() -> None:
    society = Society.of(zone="ab")
    society.place(0)
    node = society.cluster.node("n1").model_dump()
    taints = [{"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}]
    society.cluster.join(Node.model_validate(node | {"taints": taints}))
    assert society.allowed("spread", spread=over()) == "xx"
    tolerant = [{"key": "dedicated", "operator": "Exists"}]
    assert society.allowed("spread", spread=over(), tolerations=tolerant) == ".x"
    society.cluster.join(Node.model_validate(node | {"backend": "elsewhere"}))
    assert society.allowed("spread", spread=over(), backends={"allow": ["registered"]})[0] == "x"


def test_wishes_about_nodes_close_no_domain() -> None:
    society = Society.of(zone="ab")
    society.place(0)
    for wish in ({"avoid": 'node.labels.zone == "b"'}, {"prefer": 'node.labels.zone == "a"'}):
        assert society.allowed("spread", spread=over(), constraints=[wish | {"priority": 1}]) == ".x"


def test_a_refusal_says_how_uneven_it_would_be() -> None:
    society = Society.of(zone="ab-")
    society.place(0)
    society.place(0)
    refused = society.refused("spread", 0, spread=over())
    assert (refused.filter, refused.reason) == ("spread", "spread_uneven")
    assert refused.message == "its zone would have 3 more tasks than the emptiest one, at most 1 are allowed"
    refused = society.refused("spread", 2, spread=over())
    assert refused.message == "the node is in no zone, so nothing is spread over it"


def test_a_wish_for_an_even_spread_gives_less_to_fuller_domains() -> None:
    society = Society.of(zone="abc-")
    society.place(0)
    society.place(1)
    society.place(1)
    request = society.ask(spread=over(weight=1))
    assert scored("preferred", society.cluster, request) == [0.5, 1 / 3, 1.0, 0.0]
    assert society.allowed("spread", spread=over(weight=1)) == "xxxx"
