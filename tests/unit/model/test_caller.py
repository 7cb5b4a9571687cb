"""Who submits a workload, and from where."""

from typing import Any

import pytest

from dovetail.model.workloads.caller import submitted_by
from dovetail.model.workloads.workload import Workload


def submitted(
    run: dict[str, Any], user: str | None = "anna", folder: str | None = "/home/anna", **fields: Any
) -> Workload:
    return submitted_by(Workload.model_validate({"name": "w", "run": run, **fields}), user, folder)


def test_a_command_gets_the_user_and_the_directory_of_the_caller() -> None:
    found = submitted({"command": ["x"]})
    assert found.model_dump(mode="json", exclude_unset=True) == {
        "name": "w",
        "user": "anna",
        "run": {"command": ["x"], "submit_dir": "/home/anna"},
    }


@pytest.mark.parametrize(
    "run",
    [
        {},
        {"command": ["x"], "workdir": "/data"},
        {"command": ["x"], "image": "debian"},
        {"command": ["x"], "submit_dir": "/other"},
    ],
)
def test_what_says_where_it_runs_or_runs_nothing_keeps_that(run: dict[str, Any]) -> None:
    assert submitted(run, user=None).model_dump(mode="json", exclude_unset=True)["run"] == run


def test_a_workload_keeps_its_own_user() -> None:
    own = Workload.model_validate({"name": "w", "user": "carl"})
    assert submitted_by(own, "anna", None) is own


@pytest.mark.parametrize("user", ["a b", "", "x" * 101, "7up", "ünï"])
def test_a_name_that_no_workload_can_have_is_left_out(user: str) -> None:
    assert submitted({}, user=user).user is None


@pytest.mark.parametrize("folder", ["", "relative", "/with\0nul"])
def test_a_directory_that_no_workload_can_have_is_left_out(folder: str) -> None:
    assert submitted({"command": ["x"]}, folder=folder).run.submit_dir is None
