"""The wire: letter for letter what k8s.io/kube-scheduler/extender/v1 writes, in whatever case it comes."""

import json
import re
from typing import Any

import pytest
from pydantic import ValidationError
from tests.unit.kubernetes.manifests import pod

from dovetail.kubernetes.extender.wire import (
    ExtenderArgs,
    ExtenderBindingArgs,
    ExtenderBindingResult,
    ExtenderFilterResult,
    ExtenderPreemptionArgs,
    ExtenderPreemptionResult,
    NodeList,
    Wire,
    faults,
    meta_victims,
)

#: As the tests of those types have them.
ANSWERS: list[tuple[Wire, str]] = [
    (
        ExtenderPreemptionResult(node_name_to_meta_victims={"foo": meta_victims(["myuid"], 1)}),
        '{"NodeNameToMetaVictims":{"foo":{"Pods":[{"UID":"myuid"}],"NumPDBViolations":1}}}',
    ),
    (ExtenderBindingResult(error="myerror"), '{"Error":"myerror"}'),
    (
        ExtenderFilterResult(
            node_names=["n"], failed_nodes={"a": "b"}, failed_and_unresolvable_nodes={"c": "d"}, error="e"
        ),
        '{"Nodes":null,"NodeNames":["n"],"FailedNodes":{"a":"b"},"FailedAndUnresolvableNodes":{"c":"d"},"Error":"e"}',
    ),
    (
        ExtenderFilterResult(nodes=NodeList(items=[{"a": 1}])),
        '{"Nodes":{"items":[{"a":1}]},"NodeNames":null,"FailedNodes":{},"FailedAndUnresolvableNodes":{},"Error":""}',
    ),
]


@pytest.mark.parametrize(("answer", "text"), ANSWERS, ids=lambda one: type(one).__name__)
def test_answers_are_written_as_kube_scheduler_reads_them(answer: Wire, text: str) -> None:
    assert answer.to_json().decode() == text


def lowered(value: Any) -> Any:
    return {key.lower(): one for key, one in value.items()}


@pytest.mark.parametrize("case", [dict, lowered], ids=["as it writes", "in small letters"])
def test_questions_are_read_in_any_case(case: Any) -> None:
    one = pod("a")
    args = ExtenderArgs.model_validate(case({"Pod": one, "Nodes": None, "NodeNames": ["n1"], "New": 1}))
    assert (args.pod, args.names) == (one, ["n1"])
    binding = ExtenderBindingArgs.model_validate(
        case({"PodName": "a", "PodNamespace": "b", "PodUID": "c", "Node": "d"})
    )
    assert (binding.pod_name, binding.pod_namespace, binding.pod_uid, binding.node) == ("a", "b", "c", "d")
    victims = {"n1": case({"Pods": [case({"UID": "u"})], "NumPDBViolations": 2})}
    asked = ExtenderPreemptionArgs.model_validate(case({"Pod": one, "NodeNameToMetaVictims": victims}))
    assert asked.proposed() == {"n1": meta_victims(["u"], 2)}


def test_whole_nodes_and_whole_victims_mean_the_same_as_names() -> None:
    nodes = {"metadata": {}, "items": [{"metadata": {"name": "n1"}}, {"metadata": {"name": "n2"}}]}
    assert ExtenderArgs.model_validate({"Pod": pod("a"), "Nodes": nodes}).names == ["n1", "n2"]
    victims = {"n1": {"Pods": [pod("v")], "NumPDBViolations": 1}, "n2": None}
    asked = ExtenderPreemptionArgs.model_validate({"Pod": pod("a"), "NodeNameToVictims": victims})
    assert asked.proposed() == {"n1": meta_victims(["uid-v"], 1), "n2": meta_victims([], 0)}


NONSENSE = [
    {},
    {"Pod": None},
    {"Pod": {}},
    {"Pod": {"metadata": {"name": "a"}, "spec": {"containers": []}}},
    {"Pod": {"metadata": {"name": "a", "namespace": "b", "uid": "c"}, "spec": {}}},
    {"Pod": {"metadata": {"name": "a", "namespace": "b", "uid": "c", "labels": 5}, "spec": {"containers": []}}},
    {"Pod": pod("a"), "NodeNames": "n1"},
    {"Pod": pod("a"), "Nodes": {"items": "n1"}},
    [],
    None,
    7,
]


@pytest.mark.parametrize("data", NONSENSE, ids=json.dumps)
def test_what_is_no_question_is_refused_in_one_line(data: Any) -> None:
    with pytest.raises(ValidationError) as caught:
        ExtenderArgs.model_validate(data)
    said = faults(caught.value, ExtenderArgs)
    assert "\n" not in said
    assert not re.search(r"[Ff]ield required|Input should|valid dictionary|ExtenderArgs|Value error", said), said
