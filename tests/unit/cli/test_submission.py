"""What is read before anything is sent."""

from pathlib import Path
from typing import Any

import pytest

from dovetail.cli.workloads.submission import (
    MOST_UNCHECKED_BYTES,
    WorkToSubmit,
    described,
    made_up_name,
    read_submission,
)
from dovetail.client import ConnectError, DovetailError
from dovetail.model.text.complaint import Invalid
from dovetail.model.text.strict import check_name
from dovetail.model.workloads.reading import read_workloads


def test_files_of_a_folder_are_read_in_order_of_their_names(tmp_path: Path) -> None:
    (tmp_path / "b.yaml").write_text("name: b1\n---\nname: b2\n")
    (tmp_path / "a.json").write_text('[{"name": "a1"}, {"name": "a2"}]')
    (tmp_path / "README.md").write_text("no workload")
    (tmp_path / "sub.yaml").mkdir()
    assert [workload.name for workload in read_submission([str(tmp_path)]).workloads] == ["a1", "a2", "b1", "b2"]


def test_the_same_name_in_two_namespaces_is_fine(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("name: x\n")
    (tmp_path / "b.yaml").write_text("name: x\nnamespace: other\n")
    assert len(read_submission([str(tmp_path)]).workloads) == 2


def test_options_that_were_not_given_are_left_to_the_defaults() -> None:
    found = described({"name": "a", "replicas": None, "resources": {}, "run": {"command": ["x"], "env": {}}})
    assert found.workloads[0].model_fields_set == {"name", "run"}


@pytest.mark.parametrize(
    "command", ["echo", "/usr/bin/python3", "7z", "./my script.sh", "___", "ünï", "A" * 300, "x..y", ""]
)
def test_a_made_up_name_is_always_a_name(command: str) -> None:
    assert check_name(made_up_name([command]))


def _refusal(name: str, field: str) -> DovetailError:
    error: Any = {"source": f"workload {name}", "line": None, "field": field, "message": "is unknown", "accepted": []}
    return DovetailError({"status": 422, "detail": "no", "errors": [error]})


def test_what_the_server_says_of_a_workload_is_traced_back_to_its_file_and_line(tmp_path: Path) -> None:
    file = tmp_path / "two.yaml"
    file.write_text("name: one\n---\nname: two\npriority: high\nprofile: nope\n")
    submission = read_submission([str(file)])
    with pytest.raises(Invalid) as caught, submission.located():
        raise _refusal("two", "profile")
    assert str(caught.value) == f"{file}:5: profile: is unknown"


def test_what_the_server_says_of_a_constraint_names_its_line_and_shows_its_text(tmp_path: Path) -> None:
    file = tmp_path / "one.yaml"
    file.write_text("name: one\nconstraints:\n  - require: 2 > 1\n  - prefer: node.nope\n    weight: 0.5\n")
    submission = read_submission([str(file)])
    refusal = _refusal("one", "constraints[1].prefer")
    refusal.problem["errors"][0]["detail"] = "node.nope\n     ^"
    with pytest.raises(Invalid) as caught, submission.located():
        raise refusal
    assert str(caught.value) == f"{file}:4: constraints[1].prefer: is unknown\n    node.nope\n         ^"


def test_what_the_server_says_of_a_command_is_about_the_command_line() -> None:
    with pytest.raises(Invalid) as caught, described({"name": "a"}).located():
        raise _refusal("a", "profile")
    assert str(caught.value) == "command line: profile: is unknown"


def test_a_refusal_without_complaints_stays_what_it_is() -> None:
    with pytest.raises(DovetailError), WorkToSubmit().located():
        raise DovetailError({"status": 409, "detail": "already there"})


def test_work_is_sent_as_it_was_written_and_the_model_is_not_needed(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("name: a\n")
    (tmp_path / "b.json").write_text('[{"name": "b"}]')
    work = read_submission([str(tmp_path)])
    assert read_workloads(work.send(lambda body: body), "sent") == read_submission([str(tmp_path)]).workloads
    assert described({"name": "a", "cpu": None}).send(lambda body: body) == {"name": "a"}


def test_large_work_is_checked_here_and_sent_as_it_was_read(tmp_path: Path) -> None:
    file = tmp_path / "large.yaml"
    file.write_text(f"name: a\n# {'x' * MOST_UNCHECKED_BYTES}\n")
    work = read_submission([str(file)])
    assert work.send(lambda body: body) is work.workloads


@pytest.mark.parametrize("error", [_refusal("a", "replicas"), ConnectError("http://nowhere", "refused")])
def test_when_the_server_complains_or_is_silent_every_mistake_is_named_with_its_line(
    tmp_path: Path, error: Exception
) -> None:
    (tmp_path / "a.yaml").write_text("name: a\nreplicas: -1\n")
    (tmp_path / "b.yaml").write_text("nmae: b\n")

    def refuse(_body: Any) -> None:
        raise error

    with pytest.raises(Invalid) as caught:
        read_submission([str(tmp_path)]).send(refuse)
    assert [(one.source, one.line) for one in caught.value.complaints][:2] == [
        (str(tmp_path / "a.yaml"), 2),
        (str(tmp_path / "b.yaml"), 1),
    ]


def test_good_work_that_no_server_took_ends_in_the_error_of_the_connection(tmp_path: Path) -> None:
    def refuse(_body: Any) -> None:
        raise ConnectError("http://nowhere", "refused")

    with pytest.raises(ConnectError):
        described({"name": "a"}).send(refuse)


def test_a_file_that_is_missing_does_not_hide_the_mistakes_of_another(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text("nmae: a\n")
    with pytest.raises(Invalid) as caught:
        read_submission([str(tmp_path / "none.yaml"), str(file)])
    assert {one.source for one in caught.value.complaints} == {str(tmp_path / "none.yaml"), str(file)}


def test_made_up_names_differ() -> None:
    assert len({made_up_name(["echo"]) for _ in range(50)}) == 50
