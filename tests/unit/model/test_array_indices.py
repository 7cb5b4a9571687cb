"""Arrays of tasks: indices as people write them, and the workload that follows from them."""

from typing import Any

import pytest

from dovetail.backends.contract import Assignment
from dovetail.model.task import TaskId
from dovetail.model.text.complaint import Invalid
from dovetail.model.workloads.array_indices import parse_array
from dovetail.model.workloads.reading import workloads_of_data
from dovetail.model.workloads.workload import Workload


@pytest.mark.parametrize(
    ("text", "indices", "concurrency"),
    [
        ("0-3", [0, 1, 2, 3], None),
        ("7", [7], None),
        ("1-10:4%2", [1, 5, 9], 2),
        ("3, 7,12-13%1", [3, 7, 12, 13], 1),
        ("9,1", [9, 1], None),
    ],
)
def test_indices_are_read_in_the_order_written(text: str, indices: list[int], concurrency: int | None) -> None:
    array = parse_array(text)
    assert [array.index_of(replica) for replica in range(array.size)] == indices
    assert array.concurrency == concurrency


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "not a list of indices"),
        ("a-b", "not a list of indices"),
        ("-1", "not a list of indices"),
        ("5-1", "no range"),
        ("1:2", "no range"),
        ("1-9:0", "no range"),
        ("0-9%0", "lets nothing run"),
        ("0-9%", "not a list of indices"),
        ("1-5,3", "names an index twice"),
        ("0-99999999", "the most is 1000000"),
        ("9" * 50, "not a list of indices"),
    ],
)
def test_other_text_is_refused_and_the_message_says_what_is_accepted(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        parse_array(text)


def workload(**fields: Any) -> Workload:
    return workloads_of_data({"name": "a", **fields}, "test")[0]


def test_an_array_says_how_many_tasks_there_are_and_how_many_run_at_once() -> None:
    found = workload(array="1-10%2")
    assert (found.replicas, found.concurrency) == (10, 2)
    assert workload(array=5).replicas == 1, "YAML reads one index as a number"
    again = Workload.model_validate(found.model_dump(mode="json", exclude_unset=True))
    assert again == found


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"array": "0-9", "replicas": 3}, "replicas: is 3, but array has 10 indices"),
        ({"array": "0-9%2", "concurrency": 3}, "concurrency: is not what array says after %: 2"),
        ({"array": "x"}, "array: 'x' is not a list of indices"),
        ({"array": "0-1", "roles": [{"name": "r"}], "replicas": 2}, "roles"),
    ],
)
def test_an_array_and_what_contradicts_it_is_refused(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(Invalid) as caught:
        workload(**fields)
    assert words in str(caught.value)


def test_the_index_of_a_task_is_in_its_environment() -> None:
    spec = workload(array="3,7")
    variables = Assignment("9.1.1", TaskId(9, 1), "n", spec).variables()
    assert (variables["DOVETAIL_REPLICA"], variables["DOVETAIL_ARRAY_INDEX"]) == ("1", "7")
    assert "DOVETAIL_ARRAY_INDEX" not in Assignment("9.1.1", TaskId(9, 1), "n", workload()).variables()
