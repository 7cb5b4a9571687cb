"""Reading: whole files become workloads, or everything that is wrong with them is said at once."""

import json
import subprocess
import sys
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from tests.examples import examples

from dovetail.model.node import Node
from dovetail.model.text.complaint import Invalid
from dovetail.model.text.document import read_documents
from dovetail.model.text.reading import read_as, read_one
from dovetail.model.workloads.reading import read_workloads, workloads_of_data
from dovetail.model.workloads.workload import Workload


def refusal(text: str | bytes) -> list[str]:
    with pytest.raises(Invalid) as raised:
        read_workloads(text, "jobs.yaml")
    return [str(complaint) for complaint in raised.value.complaints]


def test_documents_and_lists_become_workloads_in_order() -> None:
    text = "name: a\nresources: {cpu: 500m, memory: 64GiB}\n---\n- name: b\n- name: c\n---\nname: d\n"
    workloads = read_workloads(text, "jobs.yaml")
    assert [workload.name for workload in workloads] == ["a", "b", "c", "d"]
    assert workloads[0].resources.memory == 64 * 2**30


def test_labels_keep_numbers_as_they_were_written() -> None:
    (workload,) = read_workloads("name: a\nlabels: {v: 1.10, o: 007, t: true, n: no, i: 5}\n", "f")
    assert workload.labels == {"v": "1.10", "o": "007", "t": "true", "n": "no", "i": "5"}


def test_a_workload_reads_back_from_its_own_json() -> None:
    (workload,) = read_workloads("name: a\nresources: {cpu: 1500m, memory: 1536MiB}\ndeadline: {run_for: 90}\n", "f")
    assert read_workloads(workload.model_dump_json(), "f") == [workload]


def test_complaints_come_from_all_documents_with_their_lines() -> None:
    text = (
        "name: a\nresources:\n  memory: 64GIGS\n---\n- name: b\n  kind: jobb\n- kind: job\n  replicas: .nan\n"
        "---\nname: c\ntolerations:\n  - operator: Exists\n    efect: NoSchedule\n"
    )
    found = refusal(text)
    assert [line.split(": ")[:2] for line in found] == [
        ["jobs.yaml:3", "resources.memory"],
        ["jobs.yaml:6", "kind"],
        ["jobs.yaml:7", "name"],
        ["jobs.yaml:8", "replicas"],
        ["jobs.yaml:13", "tolerations[0].efect"],
    ]
    assert found[0] == (
        "jobs.yaml:3: resources.memory: unknown unit 'GIGS' in '64GIGS'; "
        "write bytes with a unit such as 512MiB, 64GiB, 10GB or 1048576"
    )
    assert found[3].endswith(".nan is not a finite number; write a whole number such as 4")


@pytest.mark.parametrize("text", ["", "# nothing\n", "---\n---\n", b"", "[]"])
def test_a_file_without_workloads_says_so(text: str | bytes) -> None:
    assert refusal(text) == ["jobs.yaml: holds no workload"]


def test_a_name_stands_once_in_its_namespace() -> None:
    assert len(read_workloads("name: a\n---\nname: a\nnamespace: other\n", "f")) == 2
    assert refusal("name: a\n---\nname: b\n---\n- name: a\n  namespace: default\n") == [
        "jobs.yaml:5: name: 'a' is used twice in namespace 'default', first in line 1; give it another name"
    ]


def test_a_duplicate_is_said_along_with_other_mistakes() -> None:
    found = refusal("name: a\nkind: x\n---\nname: a\n")
    assert [line.split(": ")[0] for line in found] == ["jobs.yaml:2", "jobs.yaml:4"]


def test_data_parsed_elsewhere_gets_the_same_complaints_with_its_index() -> None:
    assert workloads_of_data({"name": "a"}, "request") == [Workload(name="a")]
    with pytest.raises(Invalid) as raised:
        workloads_of_data([{"name": "a"}, {"name": "a"}, {"name": "b", "resources": {"cpu": -1}}, 3], "request")
    found = sorted(str(complaint) for complaint in raised.value.complaints)
    assert found[0].startswith("request: [1].name: 'a' is used twice in namespace 'default', first as [0]")
    assert found[1].startswith("request: [2].resources.cpu: -1 is negative")
    assert found[2].startswith("request: [3]: 3 is not accepted; write a mapping of fields")
    with pytest.raises(Invalid, match=r"^request: holds no workload$"):
        workloads_of_data(None, "request")


def test_other_models_are_read_the_same_way() -> None:
    nodes = read_as(Node, "- name: n1\n  capacity: {cpu: 8}\n- name: n2\n", "nodes.yaml")
    assert [node.name for node in nodes] == ["n1", "n2"]
    with pytest.raises(Invalid, match=r"^nodes.yaml:2: taints\[0\].effect: 'x' is not accepted. Write one of: NoSch"):
        read_as(Node, "name: n1\ntaints: [{key: a, effect: x}]\n", "nodes.yaml")


def test_one_means_one() -> None:
    assert read_one(Node, "name: n1\n", "f").name == "n1"
    with pytest.raises(Invalid, match=r"^f:3: a second document begins here"):
        read_one(Node, "name: n1\n---\nname: n2\n", "f")
    with pytest.raises(Invalid, match=r"^f: name: is required$"):
        read_one(Node, "# empty\n", "f")


def test_a_mistake_in_ten_thousand_items_does_not_become_ten_thousand_complaints() -> None:
    assert len(refusal("- x\n" * 10_000)) == 100


def test_nothing_of_the_exception_carries_the_input() -> None:
    with pytest.raises(Invalid) as raised:
        read_workloads("name: a\nrun: {env: {TOKEN: [hunter2]}}\n", "f")
    assert "hunter2" not in repr(raised.value)


def test_importing_the_model_does_not_load_yaml() -> None:
    code = "import sys, dovetail.model.text.reading; sys.exit('yaml' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


ANYTHING = examples(300, suppress_health_check=[HealthCheck.too_slow])
FIELD = st.sampled_from([*Workload.model_fields, "cpu", "memory", "env", "key", "operator", "values", "match", "<<"])
VALUE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(FIELD | st.text(), inner, max_size=4),
    max_leaves=20,
)
YAML_PIECES = st.sampled_from(
    [
        *("[]{}:,-&*!|>'\"%@`#?\n\t \0\r\x85\u2028~"),
        *("\n  ", ": ", "- ", "&a ", "*a", "<<: ", "---\n", "...\n", "name: a", "!!str ", "\\ud83d", "{a: ", "? "),
        *(".nan", "1e999", "resources", "run", "env", "0x"),
    ]
)


def _reads_or_refuses(text: str | bytes) -> None:
    complaints, workloads = [], []
    try:
        workloads = read_workloads(text, "f")
    except Invalid as invalid:
        complaints = invalid.complaints
    assert bool(workloads) != bool(complaints)
    assert all("\n" not in str(complaint) for complaint in complaints)


@ANYTHING
@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    _reads_or_refuses(text)


@ANYTHING
@given(st.lists(YAML_PIECES, max_size=40).map("".join))
def test_any_heap_of_yaml_is_read_or_refused(text: str) -> None:
    _reads_or_refuses(text)


@ANYTHING
@given(st.binary())
def test_any_bytes_are_read_or_refused(content: bytes) -> None:
    _reads_or_refuses(content)


@ANYTHING
@given(st.dictionaries(FIELD, VALUE, max_size=6))
def test_any_values_in_known_fields_are_read_or_refused(fields: dict[str, object]) -> None:
    _reads_or_refuses(json.dumps({"name": "a"} | fields))
    _reads_or_refuses(json.dumps({"name": "a"} | fields, ensure_ascii=False))


@ANYTHING
@given(VALUE)
def test_any_parsed_data_is_read_or_refused(data: object) -> None:
    with suppress(Invalid):
        workloads_of_data(data, "request")


JSON_TEXT = st.text(max_size=80).filter(lambda text: "\x7f" not in text)  # YAML takes keys up to 1024 characters
JSON_VALUE = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**90), 10**90)
    | st.floats(allow_nan=False, allow_infinity=False)
    | JSON_TEXT,
    lambda inner: st.lists(inner) | st.dictionaries(JSON_TEXT.filter(bool), inner),
    max_leaves=20,
)


@ANYTHING
@given(st.lists(JSON_VALUE, min_size=1), st.sampled_from([None, 2, "\t"]))
def test_json_means_the_same_as_it_does_to_a_json_parser(data: list[object], indent: int | str | None) -> None:
    (document,) = read_documents(json.dumps(data, indent=indent), "f")
    assert document.data == data
