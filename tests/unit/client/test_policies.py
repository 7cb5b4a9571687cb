"""The client's part about policies against a real server: every answer is what its type says."""

from collections.abc import Iterator

import pytest
from tests.patience import wait_for
from tests.unit.api.server import serving, settings_in
from tests.unit.client.test_client import is_a

from dovetail.client import Client, DovetailError
from dovetail.model.policy import Policy
from dovetail.responses.policies import (
    ChangedAffinity,
    ChangedPolicy,
    CheckedConstraint,
    ConstraintInForce,
    FailingNode,
    PolicyAttachments,
    PolicyDetail,
    PolicyRule,
    PolicyVersion,
    SatisfyingNodes,
    ServiceAffinityRow,
    ViolationRow,
)

EAST = 'node.labels.zone == "east"'


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving(settings_in(tmp_path_factory.mktemp("data"))) as found:
        yield found


@pytest.fixture
def client(url: str) -> Iterator[Client]:
    with Client(url) as found:
        yield found


def test_answers_about_policies_have_their_types(client: Client) -> None:
    client.submit({"name": "w", "resources": {"cpu": 1}})
    wait_for(lambda: client.workload("w")["state"] == "running")
    policy = Policy.model_validate({"name": "p", "require": 'node.name == "x"', "applies_to": {"namespaces": ["*"]}})
    made = is_a(ChangedPolicy, client.set_policy(policy, by="ada", note="why"))
    assert made["violations"] == is_a(list[ViolationRow], client.policy_violations("p"))
    rule = {"when": "cluster.nodes > 0", "off": True}
    adjusted = client.set_policy({"name": "p", "prefer": EAST, "adjust": [rule]})
    (constraint,) = is_a(list[ConstraintInForce], adjusted["in_force"])
    is_a(list[PolicyRule], constraint["adjust"])
    is_a(ChangedPolicy, client.attach_policy("p", namespaces=["a-*"], services=["cart"], workloads=["a/b"]))
    detached = is_a(ChangedPolicy, client.detach_policy("p", services=["cart"]))
    assert is_a(PolicyAttachments, detached["applies_to"])["workloads"] == ["a/b"]
    assert is_a(list[PolicyDetail], client.policies()) == [is_a(PolicyDetail, client.policy("p"))]
    versions = is_a(list[PolicyVersion], client.policy_versions("p"))
    assert [(row["author"], row["note"]) for row in versions][-1] == ("ada", "why")
    assert is_a(PolicyVersion, client.policy_version("p", 1)) == versions[-1]
    client.remove_policy("p", by="ada", note="done")
    assert client.policies() == []


def test_answers_about_constraints_have_their_types(client: Client) -> None:
    good = is_a(CheckedConstraint, client.check_constraint(EAST, namespace="shop"))
    is_a(SatisfyingNodes, good["nodes"])
    structure = {"left": "node.name", "operator": "eq", "right": "node-1"}
    failing = client.check_constraint(structure)["nodes"]["failing"]
    assert len(is_a(list[FailingNode], failing)) == 3
    assert not is_a(CheckedConstraint, client.check_constraint("1 +"))["ok"]


def test_answers_about_services_have_their_types(client: Client) -> None:
    is_a(ChangedAffinity, client.set_service_affinity("cart", ["node-1"], required=True, namespace="shop", by="ada"))
    is_a(ChangedAffinity, client.set_service_antiaffinity("cart", ["node-2"], namespace="shop"))
    rows = is_a(list[ServiceAffinityRow], client.service_affinities())
    assert rows == [
        is_a(ServiceAffinityRow, client.service_affinity("cart", namespace="shop")),
        is_a(ServiceAffinityRow, client.service_antiaffinity("cart", namespace="shop")),
    ]
    client.clear_service_affinity("cart", namespace="shop")
    client.clear_service_antiaffinity("cart", namespace="shop")
    assert client.service_affinities() == []
    with pytest.raises(DovetailError) as refused:
        client.clear_service_affinity("cart", namespace="shop")
    assert refused.value.status == 404


@pytest.mark.parametrize("name", ["", ".", ".."])
def test_a_name_that_would_change_the_address_is_not_sent(client: Client, name: str) -> None:
    with pytest.raises(ValueError, match="is not the name of a policy"):
        client.policy(name)
    with pytest.raises(ValueError, match="is not the name of a service"):
        client.service_affinity(name)
    with pytest.raises(ValueError, match="needs a name"):
        client.set_policy({"require": "true"})
