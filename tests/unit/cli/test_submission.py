"""What is read before anything is sent."""

from pathlib import Path
from typing import Any

import pytest

from dovetail.cli.workloads.submission import WorkToSubmit, described, made_up_name, read_submission
from dovetail.client import DovetailError
from dovetail.model.text.complaint import Invalid
from dovetail.model.text.strict import check_name


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


def test_made_up_names_differ() -> None:
    assert len({made_up_name(["echo"]) for _ in range(50)}) == 50
