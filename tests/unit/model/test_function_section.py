"""The section `function` of a workload: what it asks of nodes, and what is refused with which words."""

from typing import Any

import pytest
from pydantic import ValidationError

from dovetail.model.text.validation_errors import complaints_of
from dovetail.model.workloads.workload import Workload, WorkloadKind


def workload(**fields: Any) -> Workload:
    return Workload.model_validate({"name": "a", **fields})


def complaint(**fields: Any) -> str:
    with pytest.raises(ValidationError) as raised:
        workload(**fields)
    found = complaints_of(raised.value, Workload)
    return f"{found[0].field}: {found[0].message}"


def test_a_function_makes_the_kind_and_the_node_selector() -> None:
    found = workload(function={"name": "resize"}, node_selector={"region": "eu-west-1"})
    assert found.kind is WorkloadKind.FUNCTION
    assert found.node_selector == {"function": "resize", "region": "eu-west-1"}


def test_an_arn_asks_for_its_region_and_account() -> None:
    found = workload(function={"name": "arn:aws:lambda:eu-west-1:123456789012:function:resize"})
    assert found.node_selector == {"function": "resize", "region": "eu-west-1", "account": "123456789012"}
    assert found.function is not None
    assert found.function.bare_name == "resize"


def test_a_workload_with_a_function_is_the_same_after_being_written_and_read() -> None:
    found = workload(function={"name": "resize", "payload": {"a": [1, None, "ü"]}, "timeout": "2m"})
    assert Workload.model_validate_json(found.model_dump_json()) == found
    assert Workload.model_validate(found.model_dump(mode="json", exclude_unset=True)) == found


def test_the_kind_alone_is_valid_as_before() -> None:
    found = workload(kind="function", run={"command": ["handler"]})
    assert (found.function, found.node_selector) == (None, {})


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"function": {"name": "https://a.example/api"}}, "function.name: 'https://a.example/api' is an address"),
        ({"function": {"name": "two words"}}, "function.name: 'two words' is not the name of a function"),
        ({"function": {"name": "arn:aws:s3:::bucket"}}, "is not the ARN of a function; write arn:aws:lambda:REGION"),
        ({"function": {"name": "a", "payload": "x" * 262_144}}, "function.payload: has 262146 bytes as JSON; at most"),
        ({"function": {"name": "a", "payload": float("inf")}}, "function.payload: holds a number that is not finite"),
        ({"function": {"name": "a", "qualifier": "no way"}}, "function.qualifier"),
        ({"function": {"name": "a"}, "kind": "job"}, "kind: is job, but function says what to call"),
        ({"function": {"name": "a"}, "run": {"command": ["b"]}}, "run: does not go with function"),
        ({"function": {"name": "a"}, "roles": [{"name": "b"}]}, "roles: does not go with function"),
        (
            {"function": {"name": "a"}, "node_selector": {"function": "b"}},
            "node_selector.function: is 'b', but function.name says 'a'",
        ),
    ],
)
def test_what_is_wrong_is_named_with_its_field(fields: dict[str, Any], words: str) -> None:
    assert words in complaint(**fields)
