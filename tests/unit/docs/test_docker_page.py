"""The page about Docker hosts: its settings are accepted, its work can run there, and its numbers are the defaults."""

import re
from pathlib import Path

import pytest
import yaml

from dovetail.backends.contract import Assignment
from dovetail.backends.docker.container import Identity, container_body, refuse_what_cannot_run
from dovetail.backends.docker.settings import DockerSettings
from dovetail.control.settings import Settings
from dovetail.model.task import TaskId
from dovetail.model.text.quantity import format_duration
from dovetail.model.workloads.reading import read_workloads

PAGE = (Path(__file__).parents[3] / "docs" / "docker.md").read_text()
_, SETTINGS, WORK, PROFILE = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)


def docker_settings() -> DockerSettings:
    found = Settings.model_validate(yaml.safe_load(SETTINGS) | yaml.safe_load(PROFILE)).backends["docker"].settings
    assert isinstance(found, DockerSettings)
    return found


def test_the_work_of_the_page_can_run_on_its_hosts() -> None:
    settings = docker_settings()
    (spec,) = read_workloads(WORK, "docker.md")
    refuse_what_cannot_run(spec, settings)
    assignment = Assignment("1.0.1", TaskId(1, 0), "rack7", spec, (2,))
    host = container_body(assignment, Identity("c", "docker"), settings.hosts[1], settings, 32)["HostConfig"]
    assert host["DeviceRequests"][0]["DeviceIDs"] == ["GPU-3c"]


@pytest.mark.parametrize("name", DockerSettings.model_fields)
def test_every_setting_is_on_the_page(name: str) -> None:
    assert f"`{name}`" in PAGE or f"{name}:" in SETTINGS


def test_the_numbers_are_the_defaults() -> None:
    fields = DockerSettings.model_fields
    for name in ("parallel", "report_images"):
        assert f"| `{name}` | {fields[name].default} |" in PAGE
    for name in ("grace_s", "answer_within_s"):
        assert f"| `{name}` | {format_duration(fields[name].default)} |" in PAGE
    assert f"| {fields['keep_containers'].default}, {fields['keep_for_s'].default / 86400:g} days |" in PAGE
