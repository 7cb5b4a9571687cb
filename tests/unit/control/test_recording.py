"""Recordings of the control plane: segments, what is kept, what is cut short, and that nobody else can read them."""

import asyncio
import os
import stat
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from tests.patience import until
from tests.unit.api.server import settings_in

from dovetail.control.plane import ControlPlane
from dovetail.model.event import NodeObserved
from dovetail.model.workloads.workload import Workload
from dovetail.recordings.segment import NotASegment, Segment, read_segment
from dovetail.replaying.day import RecordedDay
from dovetail.replaying.reproduction import reproduce


def recorded(folder: Path) -> list[Segment]:
    return [read_segment(one.read_bytes(), one.name) for one in sorted((folder / "recordings").iterdir())]


def run(folder: Path, rounds: int = 4, cut: int | None = None, **recording: Any) -> ControlPlane:
    """A server that places some work; `cut`: segments are made to begin anew after so many rounds."""

    async def play() -> ControlPlane:
        plane = ControlPlane(settings_in(folder, recording=recording))
        await plane.start()
        for number in range(rounds):
            if number == cut:
                plane.recording._began_at = 0.0  # long ago: a new one is due
            (accepted,) = await plane.submit([Workload.model_validate({"name": f"w{number}", "replicas": 3})])
            await until(partial(_is_placed, plane, accepted.id), "all are placed")
        await plane.stop()
        return plane

    return asyncio.run(play())


def _is_placed(plane: ControlPlane, workload: int) -> bool:
    return not plane.questions.workloads.is_waiting(workload)


def test_nothing_is_recorded_if_the_settings_say_so(tmp_path: Path) -> None:
    run(tmp_path, enabled=False)
    assert not (tmp_path / "recordings").exists()


def test_only_the_owner_can_read_a_recording(tmp_path: Path) -> None:
    run(tmp_path)
    (file,) = (tmp_path / "recordings").iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_beyond_the_end_of_a_recording_there_is_nothing_however_far() -> None:
    with TemporaryDirectory(dir="/var/tmp") as folder:  # on a disk, which refuses to look farther than files may reach
        plane = run(Path(folder))
        (file,) = plane.recording.files()
        assert plane.recording.piece(file.name, file.size_bytes - 1, 10)[0] != b""
        for offset in (file.size_bytes, 2**40, 2**53):
            assert plane.recording.piece(file.name, offset, 10) == (b"", False)


def test_a_segment_in_the_middle_continues_the_one_before_and_can_begin_a_replay(tmp_path: Path) -> None:
    run(tmp_path, rounds=6, cut=3)
    first, second = recorded(tmp_path)
    assert (first.continues, second.continues) == (False, True)
    whole = reproduce(RecordedDay([first, second], 0.0, 1e12))
    assert whole.equal == whole.decisions == 18
    assert whole.restarts == 0
    rest = reproduce(RecordedDay([second], 0.0, 1e12))
    assert rest.equal == rest.decisions > 0


def test_a_segment_that_was_cut_short_is_read_to_its_last_whole_step(tmp_path: Path) -> None:
    run(tmp_path)
    (file,) = (tmp_path / "recordings").iterdir()
    data = file.read_bytes()
    for length in range(len(data) - 40, len(data)):
        assert read_segment(data[:length], "cut").steps is not None
    with pytest.raises(NotASegment):
        read_segment(b"no gzip", "none")
    with pytest.raises(NotASegment):
        read_segment(b"", "none")


def test_old_segments_go_and_the_newest_stays(tmp_path: Path) -> None:
    folder = tmp_path / "recordings"
    folder.mkdir()
    for day in range(1, 5):
        (folder / f"2026010{day}T000000.000000Z.jsonl.gz").write_bytes(b"old")
    run(tmp_path, keep="1h")
    assert [one.name[:8] for one in sorted(folder.iterdir())][:-1] == ["20260104"]  # it covers the time until now


def test_a_full_disk_does_not_stop_scheduling(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    plane = run(tmp_path)
    assert plane.recording.files()[0].size_bytes == 0


def test_what_changes_nothing_is_kept_for_the_next_step(tmp_path: Path) -> None:
    async def play() -> None:
        plane = ControlPlane(settings_in(tmp_path))
        await plane.start()
        for _ in range(5):
            await plane._apply([NodeObserved("node-1", {"cpu": 1})])
        await plane.submit([Workload.model_validate({"name": "w"})])
        await plane.stop()

    asyncio.run(play())
    (segment,) = recorded(tmp_path)
    heard = [event for step in segment.steps for turn in step.turns for event in turn.events]
    assert sum(isinstance(event, NodeObserved) for event in heard) == 5
