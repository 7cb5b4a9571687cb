"""The page about PBS: its examples are taken as they stand, and what it names exists."""

import re
from pathlib import Path

import yaml

from dovetail.backends.pbs.exits import NEGATIVE_EXITS
from dovetail.backends.pbs.inventory import CLOSED, SILENT
from dovetail.backends.pbs.request import ACCOUNT, DEPENDENCY, PLACE, PROJECT, QUEUE
from dovetail.backends.pbs.settings import PbsSettings
from dovetail.backends.registry import BackendEntry

PAGE = (Path(__file__).parents[3] / "docs" / "backends" / "pbs.md").read_text()


def test_the_examples_are_taken_as_they_stand() -> None:
    examples = re.findall(r"^backends:\n(?:  .*\n)+", PAGE, re.MULTILINE)
    entries = [entry for text in examples for entry in yaml.safe_load(text)["backends"].values()]
    assert [BackendEntry.model_validate(entry).kind for entry in entries] == ["pbs", "pbs"]


def test_every_setting_and_label_is_named() -> None:
    named = set(re.findall(r"`([a-z_]+)(?:: [^`]*)?`", PAGE))
    assert set(PbsSettings.model_fields) - {"currency"} - named == set()
    for label in (ACCOUNT, DEPENDENCY, PLACE, PROJECT, QUEUE):
        assert f"`{label}`" in PAGE


def test_the_times_that_the_page_names_are_those_in_force() -> None:
    settings = PbsSettings()
    assert settings.start_within_s is not None
    for name in ("array_within_s", "jobs_interval_s", "nodes_interval_s", "notice_s"):
        assert f"`{name}` ({getattr(settings, name):g} s)" in PAGE
    assert f"`start_within_s` ({settings.start_within_s / 60:g} minutes)" in PAGE


def test_the_states_and_statuses_that_the_page_names_exist() -> None:
    closed = re.search(r"^\| (offline.*); a queue that", PAGE, re.MULTILINE)
    silent = re.search(r"^\| (down.*) \| offline", PAGE, re.MULTILINE)
    assert closed is not None
    assert silent is not None
    assert set(closed[1].split(", ")) <= CLOSED
    assert set(silent[1].split(", ")) <= SILENT
    assert NEGATIVE_EXITS[-29].exit_code == 124
    assert {NEGATIVE_EXITS[status].exit_code for status in range(-28, -23)} == {137}


def test_it_says_plainly_what_was_not_available() -> None:
    assert "No OpenPBS server was available to the project." in PAGE
