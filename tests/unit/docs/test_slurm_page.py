"""The page about Slurm: its example is taken as it stands, and every setting and state that it names exists."""

import re
from pathlib import Path

import yaml

from dovetail.backends.batch.ends import UNKNOWN_EXIT, UNUSABLE_EXIT
from dovetail.backends.batch.record import JobProgress
from dovetail.backends.registry import BackendEntry
from dovetail.backends.slurm.reasons import PENDING_REASONS
from dovetail.backends.slurm.request import ACCOUNT, DEPENDENCY, PARTITION, QOS
from dovetail.backends.slurm.settings import SlurmSettings
from dovetail.backends.slurm.states import NEVER_SATISFIED, PROGRESS_OF_STATE
from dovetail.control.settings import LoopSettings

PAGE = (Path(__file__).parents[3] / "docs" / "slurm.md").read_text()


def test_the_example_is_taken_as_it_stands() -> None:
    example = re.search(r"^backends:\n(?:  .*\n)+", PAGE, re.MULTILINE)
    assert example is not None
    entries = yaml.safe_load(example[0])["backends"]
    assert [BackendEntry.model_validate(entry).kind for entry in entries.values()] == ["slurm"]


def test_every_setting_is_named() -> None:
    named = set(re.findall(r"`([a-z_]+)(?:: [^`]*)?`", PAGE))
    assert set(SlurmSettings.model_fields) - {"currency"} - named == set()
    for label in (ACCOUNT, PARTITION, QOS):
        assert f"`{label}`" in PAGE
    assert f"labels: {{{DEPENDENCY}: " in PAGE


def test_the_times_and_numbers_that_the_page_names_are_those_in_force() -> None:
    settings = SlurmSettings()
    assert settings.start_within_s is not None
    for name in ("array_within_s", "jobs_interval_s", "nodes_interval_s", "notice_s"):
        assert f"`{name}` ({getattr(settings, name):g} s)" in PAGE
    assert f"`start_within_s` ({settings.start_within_s / 60:g} minutes)" in PAGE
    assert f"`loop.parallel` ({LoopSettings().parallel})" in PAGE
    assert f"(`{NEVER_SATISFIED}`), it has failed with exit code {UNUSABLE_EXIT}" in PAGE
    assert f"job is reported with exit code {UNKNOWN_EXIT}" in PAGE


def test_the_table_of_states_has_every_end() -> None:
    table = PAGE[PAGE.index("| state | exit code |") :]
    for state, course in PROGRESS_OF_STATE.items():
        assert (state in table) == (course in (JobProgress.OVER, JobProgress.LOST)), state
    assert any(reason in PAGE for reason in PENDING_REASONS)
