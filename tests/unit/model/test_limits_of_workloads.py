"""One workload is bounded in every direction, and the refusal says the limit, the value and what to do."""

from typing import Any

import pytest

from dovetail.model.policy import Policy
from dovetail.model.text.complaint import Invalid
from dovetail.model.text.document import Document
from dovetail.model.text.reading import check_documents
from dovetail.model.workloads.reading import workloads_of_data


def complaint(**fields: Any) -> str:
    with pytest.raises(Invalid) as refused:
        workloads_of_data({"name": "w", **fields}, "request body")
    return str(refused.value)


def affinity(values: int, matches: int = 1, terms: int = 1) -> dict[str, Any]:
    match = {"key": "zone", "operator": "In", "values": [f"v{i}" for i in range(values)]}
    return {"required": [{"match": [match] * matches}] * terms}


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"node_affinity": affinity(1001)}, "node_affinity.required[0].match[0].values: has 1001; at most 1000"),
        ({"node_affinity": affinity(1, matches=101)}, "node_affinity.required[0].match: has 101; at most 100"),
        ({"node_affinity": affinity(1, terms=101)}, "node_affinity.required: has 101; at most 100"),
        ({"node_affinity": affinity(1000, terms=11)}, "node_affinity: compares with 11000 values; at most 10000"),
        ({"labels": {f"k{i}": "v" for i in range(257)}}, "labels: has 257; at most 256"),
        ({"node_selector": {f"k{i}": "v" for i in range(257)}}, "node_selector: has 257; at most 256"),
        ({"constraints": [{"require": "true"}] * 51}, "constraints: has 51; at most 50"),
        (
            {"constraints": [{"require": f"{'true && ' * 500}true"}] * 5},
            "constraints: the expressions have 20020 characters together; at most 16384",
        ),
        (
            {"constraints": [{"require": {"left": "name", "operator": "in", "right": ["a"] * 1001}}]},
            "has 1001 values; at most 1000",
        ),
        (
            {"roles": [{"name": "a", "constraints": [{"require": f"{'true && ' * 500}true"}] * 5}]},
            "roles[0].constraints: the expressions have 20020 characters together",
        ),
        ({"run": {"command": ["a"] * 1001}}, "run.command: has 1001; at most 1000"),
        ({"run": {"command": ["a" * 131_072]}}, "run.command[0]: is 131072 characters long; at most 131071"),
        ({"run": {"command": ["é" * 70_000]}}, "run: an argument or variable has 140000 bytes"),
        ({"run": {"command": ["a" * 100_000] * 3}}, "run: command and env have 300000 bytes together"),
        ({"run": {"env": {f"V{i}": "" for i in range(1001)}}}, "run.env: has 1001; at most 1000"),
        ({"run": {"env": {"V" * 1001: ""}}}, "1001 characters long; at most 1000"),
        ({"tolerations": [{"operator": "Exists"}] * 1001}, "tolerations: has 1001; at most 1000"),
    ],
)
def test_a_workload_that_is_too_large_is_refused(fields: dict[str, Any], said: str) -> None:
    assert said in complaint(**fields)


def test_the_largest_workload_is_accepted() -> None:
    fields = {
        "node_affinity": affinity(1000, terms=10),
        "labels": {f"k{i}": "v" for i in range(256)},
        "constraints": [{"require": f"{'true && ' * 500}true"}] * 4,
        "run": {"command": ["a" * 131_071], "env": {f"V{i}": "x" * 100 for i in range(1000)}},
    }
    assert len(workloads_of_data({"name": "w", **fields}, "request body")) == 1


def test_a_policy_is_bounded_like_a_workload() -> None:
    policy = {"name": "p", "constraints": [{"require": f"{'true && ' * 500}true"}] * 5}
    with pytest.raises(Invalid, match="20020 characters together; at most 16384"):
        check_documents(Policy, [Document(policy, "request body")])
