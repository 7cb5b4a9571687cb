"""Settings that make no sense are refused with the field they are about."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from dovetail.backends.batch.ends import End
from dovetail.backends.batch.run_folder import JobOrder, JobRunFolder
from dovetail.backends.log_streams import read_output
from dovetail.backends.registry import BackendEntry, build
from dovetail.backends.retention import SETTLE_S
from dovetail.backends.run_folder import prune
from dovetail.backends.slurm.settings import SlurmSettings


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"url": "http://h:6820", "user": "root"}, "go together"),
        ({"url": "http://h:6820", "token_file": "/t"}, "go together"),
        ({"url": "unix:/s", "user": "root", "token_file": "/t"}, "over TCP"),
        ({"user": "root", "token": "t"}, "over TCP"),
        ({"url": "http://h:6820", "user": "root", "token": "t", "token_file": "/t"}, "one of them"),
        ({"url": "/run/slurm.sock"}, "url"),
        ({"api_version": "38"}, "api_version"),
        ({"place": "anywhere"}, "place"),
    ],
)
def test_settings_that_make_no_sense_are_refused(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        SlurmSettings.model_validate(fields)


def test_a_token_is_shown_to_nobody() -> None:
    settings = SlurmSettings.model_validate({"url": "https://h:6820", "user": "root", "token": "secret-words"})
    assert "secret-words" not in repr(settings)


def test_the_registry_builds_it_without_asking_slurm(tmp_path: Path) -> None:
    backend = build("hpc", BackendEntry.of("slurm", jobs_interval_s=3), tmp_path)
    assert (backend.name, backend.capabilities.stale_for_s, backend.capabilities.requeue) == ("hpc", 3, False)


def test_output_is_cut_between_characters(tmp_path: Path) -> None:
    path = tmp_path / "output.log"
    path.write_bytes("grüße".encode())
    first = read_output(path, 0, 3, ended=True)
    assert (first.text, first.next_offset, first.ended) == ("gr", 2, False)
    assert read_output(path, 4, 100, ended=False).ended is False
    assert read_output(path, 4, 100, ended=True).ended is True
    assert read_output(tmp_path / "none", 0, 10, ended=True).ended is True


def test_old_run_folders_go_and_those_that_have_not_ended_stay(tmp_path: Path) -> None:
    for number in range(4):
        run = JobRunFolder(tmp_path, f"{number}.0.1")
        run.order(JobOrder("n1", {}, number))
        if number:
            run.end(End(0, "done"))
    now = (tmp_path / "1.0.1" / "end.json").stat().st_mtime

    def removed(keep: int, keep_for_s: float, now: float) -> int:
        return prune(tmp_path, JobRunFolder.all_in(tmp_path), keep, keep_for_s, now)

    assert removed(keep=0, keep_for_s=0, now=now + SETTLE_S - 60) == 0
    assert removed(keep=1, keep_for_s=1e9, now=now + SETTLE_S + 60) == 2
    assert removed(keep=10, keep_for_s=1, now=now + SETTLE_S + 60) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["0.0.1"]


def test_files_damaged_by_a_power_cut_are_not_taken_for_none(tmp_path: Path) -> None:
    run = JobRunFolder(tmp_path, "1.0.1")
    run.order(JobOrder("n1", {"cpu": 1000}, 5))
    run.end(End(3, "done"))
    assert run.look().end == End(3, "done")
    (run.path / "end.json").write_text("{")
    (run.path / "order.json").write_text("")
    look = run.look()
    assert look.end == End(None, "lost: end.json was damaged")
    assert look.order == JobOrder("", {})
