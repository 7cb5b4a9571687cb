"""Queues as written, and the queue that a workload waits in."""

from typing import Any

import pytest
from pydantic import ValidationError

from dovetail.model.text.validation_errors import complaints_of
from dovetail.queueing.settings import FairSettings, QueueSettings
from dovetail.queueing.tree import ROOT, BadQueues, QueueTree, UnknownQueue


def tree(**queues: dict[str, Any]) -> QueueTree:
    return QueueTree({name: QueueSettings.model_validate(written) for name, written in queues.items()})


def path(tree: QueueTree, queue: str | None, namespace: str = "somebody") -> str:
    return tree[tree.resolve(queue, namespace)].path


def complaint(written: dict[str, Any]) -> str:
    with pytest.raises(ValidationError) as caught:
        QueueSettings.model_validate(written)
    (found,) = complaints_of(caught.value, QueueSettings)
    return str(found)


RESEARCH = {"queues": {"nlp": {"namespaces": ["nlp-*"]}, "vision": {"namespaces": ["nlp-cameras"]}}}


def test_parents_come_before_children_and_know_their_depth_and_path() -> None:
    found = tree(research=RESEARCH, ml={})
    assert [queue.path for queue in found.queues] == [
        "", "research", "research/nlp", "research/vision", "ml", "default"
    ]  # fmt: skip
    assert [queue.depth for queue in found.queues] == [0, 1, 2, 2, 1, 1]
    assert found[3].lineage == (3, 1, ROOT)
    assert found.leaves() == [2, 3, 4, 5]
    assert found.leaves(under=1) == [2, 3]


def test_a_queue_is_named_by_its_path_or_by_a_last_part_that_only_one_has() -> None:
    found = tree(research=RESEARCH, ml={})
    assert path(found, "research/nlp") == path(found, "nlp") == "research/nlp"
    assert path(found, "ml") == "ml"


def test_a_last_part_that_several_have_must_be_written_in_full() -> None:
    found = tree(a={"queues": {"small": {}}}, b={"queues": {"small": {}}})
    with pytest.raises(UnknownQueue, match="several queues are called 'small'; write one of: a/small, b/small"):
        found.resolve("small", "x")


def test_work_cannot_wait_in_a_queue_with_children() -> None:
    found = tree(org={"queues": {"research": RESEARCH}})
    for name in ("org/research", "research"):
        with pytest.raises(UnknownQueue, match="has children; submit to one of: org/research/nlp, org/research/vision"):
            found.resolve(name, "x")


def test_an_unknown_queue_is_answered_with_the_nearest_and_all_there_are() -> None:
    with pytest.raises(UnknownQueue) as caught:
        tree(research=RESEARCH).resolve("visoin", "x")
    assert str(caught.value) == (
        "unknown queue 'visoin'. Did you mean 'vision'? Known: research/nlp, research/vision, default"
    )


def test_of_a_thousand_known_queues_only_some_are_listed() -> None:
    with pytest.raises(UnknownQueue, match=r"q19 and 981 more$"):
        tree(**{f"q{number}": {} for number in range(1000)}).resolve("nowhere", "x")


def test_a_namespace_goes_where_it_is_named_before_where_a_pattern_matches() -> None:
    found = tree(research=RESEARCH)
    assert path(found, None, "nlp-speech") == "research/nlp"
    assert path(found, None, "nlp-cameras") == "research/vision"


def test_the_longer_pattern_wins_and_of_equal_ones_the_queue_written_first() -> None:
    found = tree(a={"namespaces": ["*"]}, b={"namespaces": ["team-*"]}, c={"namespaces": ["team-x*", "?-team"]})
    assert path(found, None, "team-y") == "b"
    assert path(found, None, "team-xy") == "c"
    assert path(found, None, "anyone") == "a"
    equal = tree(second={"namespaces": ["te*"]}, first={"namespaces": ["te?"]})
    assert path(equal, None, "tea") == "second"


def test_a_namespace_that_nobody_takes_goes_to_the_queue_of_its_name_or_to_default() -> None:
    found = tree(research=RESEARCH, ml={})
    assert path(found, None, "ml") == "ml"
    assert path(found, None, "vision") == "research/vision"
    assert path(found, None, "research") == "default", "a queue with children takes no work, so the name does not count"
    assert path(found, None, "elsewhere") == "default"


def test_the_default_queue_may_have_limits_but_no_children() -> None:
    assert tree(default={"maximum": {"gpu": 4}})[1].maximum == {"gpu": 4000}
    with pytest.raises(BadQueues, match="cannot have children"):
        tree(default={"queues": {"a": {}}})


def test_amounts_are_read_as_users_write_them_and_a_written_zero_is_kept() -> None:
    found = QueueSettings.model_validate({"maximum": {"cpu": "500m", "memory": "1TiB", "gpu": 0, "acme.com/fpga": 2}})
    assert found.maximum.amounts() == {"cpu": 500, "memory": 2**40, "gpu": 0, "acme.com/fpga": 2}
    assert found.guaranteed.amounts() == {}


def test_a_queue_without_a_guarantee_has_that_of_its_children_together() -> None:
    inner = {"a": {"guaranteed": {"gpu": 2}}, "b": {"guaranteed": {"gpu": 3, "cpu": 1}}}
    assert tree(top={"queues": inner})[1].guaranteed == {"gpu": 5000, "cpu": 1000}
    assert tree(top={"queues": inner, "guaranteed": {"gpu": 8}})[1].guaranteed == {"gpu": 8000, "cpu": 1000}


def test_children_may_not_be_guaranteed_more_than_their_parent() -> None:
    written = {"guaranteed": {"gpu": 4}, "queues": {"a": {"guaranteed": {"gpu": 2}}, "b": {"guaranteed": {"gpu": 3}}}}
    words = "guaranteed.gpu: 4 is less than its children are guaranteed together: a 2, b 3"
    assert complaint(written) == words
    assert complaint({"queues": {"inner": written}}) == f"queues.inner.{words}"


def test_grandchildren_count_where_the_child_says_nothing() -> None:
    deep = {"middle": {"queues": {"leaf": {"guaranteed": {"gpu": 5}}}}}
    assert "middle 5" in complaint({"guaranteed": {"gpu": 4}, "queues": deep})


def test_a_maximum_below_the_guarantee_is_refused() -> None:
    words = complaint({"guaranteed": {"memory": "2GiB"}, "maximum": {"memory": "1GiB"}})
    assert words == "maximum.memory: 1GiB is less than the 2GiB guaranteed; raise it, or guarantee less"
    children = {"a": {"guaranteed": {"gpu": 2}}}
    words = complaint({"maximum": {"gpu": 1}, "queues": children})
    assert words == "maximum.gpu: 1 is less than the 2 guaranteed; raise it, or guarantee less"


def test_a_queue_with_children_takes_no_namespaces() -> None:
    assert complaint({"namespaces": ["a"], "queues": {"b": {}}}).endswith("give the namespaces to one of: b")


@pytest.mark.parametrize("weight", [0, -1, float("nan"), float("inf")])
def test_a_weight_is_a_positive_number(weight: float) -> None:
    assert complaint({"weight": weight}).startswith("weight: ")


def test_the_tenant_is_the_namespace_the_user_or_a_label() -> None:
    labels = {"team": "red"}
    assert FairSettings().tenant_of("prod", "ann", labels) == "prod"
    assert FairSettings(tenant="user").tenant_of("prod", "ann", labels) == "ann"
    assert FairSettings(tenant="user").tenant_of("prod", None, labels) == ""
    assert FairSettings(tenant="label:team").tenant_of("prod", "ann", labels) == "red"
    assert FairSettings(tenant="label:team").tenant_of("prod", "ann", {}) == ""
    with pytest.raises(ValidationError):
        FairSettings(tenant="label:")
