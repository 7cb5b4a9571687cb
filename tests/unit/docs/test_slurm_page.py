"""The page about Slurm: its example is taken as it stands, and every setting and state that it names exists."""

import re
from pathlib import Path

import yaml

from dovetail.backends.registry import BackendEntry
from dovetail.backends.slurm.request import ACCOUNT, PARTITION, QOS
from dovetail.backends.slurm.settings import SlurmSettings
from dovetail.backends.slurm.states import COURSES, HOPELESS, Course

PAGE = (Path(__file__).parents[3] / "docs" / "slurm.md").read_text()


def test_the_example_is_taken_as_it_stands() -> None:
    example = re.search(r"^    backends:\n(?:      .*\n)+", PAGE, re.MULTILINE)
    assert example is not None
    entries = yaml.safe_load(example[0])["backends"]
    assert [BackendEntry.model_validate(entry).kind for entry in entries.values()] == ["slurm"]


def test_every_setting_is_named() -> None:
    named = set(re.findall(r"`([a-z_]+)(?:: [^`]*)?`", PAGE))
    assert set(SlurmSettings.model_fields) - {"currency"} - named == set()
    for label in (ACCOUNT, PARTITION, QOS):
        assert f"`{label}`" in PAGE


def test_the_table_of_states_has_every_end() -> None:
    table = PAGE[PAGE.index("| state | exit code |") :]
    for state, course in COURSES.items():
        assert (state in table) == (course in (Course.OVER, Course.LOST)), state
    assert any(reason in PAGE for reason in HOPELESS)
