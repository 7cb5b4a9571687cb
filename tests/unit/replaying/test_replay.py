"""A recorded day is decided again to the last decision, and another profile is compared with it."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from tests.unit.api.server import serving
from tests.unit.replaying.recorded_day import a_morning, day_settings, record_a_day

from dovetail.cli.main import app
from dovetail.model.event import BindFailed, NodeDrained, NodeHealthChanged, TaskFinished
from dovetail.recordings.segment import RecordedDecision, Segment, read_segment
from dovetail.replaying.day import NothingRecorded, RecordedDay, SegmentTime, needed
from dovetail.replaying.reproduction import reproduce
from dovetail.replaying.summary import with_profile

ALWAYS = (0.0, 1e12)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("day")
    record_a_day(folder)
    return folder


def segments(data: Path) -> list[Segment]:
    return [read_segment(one.read_bytes(), one.name) for one in sorted((data / "recordings").iterdir())]


@pytest.fixture(scope="module")
def day(data: Path) -> RecordedDay:
    return RecordedDay(segments(data), *ALWAYS)


def replay(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["replay", *arguments], env={"COLUMNS": "80"})


def test_the_day_has_what_makes_it_hard(day: RecordedDay) -> None:
    """Otherwise the other tests would show little."""
    heard = [event for _, step in day.steps() for turn in step.turns for event in turn.events]
    kinds = {type(event) for event in heard}
    assert {NodeHealthChanged, NodeDrained, TaskFinished} <= kinds
    assert any(isinstance(event, TaskFinished) and "preempted" in event.reason for event in heard)
    assert any(isinstance(event, NodeHealthChanged) and not event.online for event in heard)
    assert BindFailed in kinds or len(day.segments) == 2  # a bind to a node that just failed depends on the moment


def test_every_decision_comes_out_the_same(day: RecordedDay) -> None:
    found = reproduce(day)
    assert found.unlike == []
    assert found.equal == found.decisions > 200
    assert found.restarts == 1
    assert found.outcome is not None
    assert found.outcome.preemptions > 0
    assert found.outcome.states["succeeded"] >= 50


def test_a_decision_that_was_recorded_wrongly_is_found(data: Path) -> None:
    there = segments(data)
    step = next(step for step in there[0].steps if step.decisions and step.decisions[0].node)
    first = step.decisions[0]
    step.decisions[0] = first._replace(node="nowhere")
    found = reproduce(RecordedDay(there, *ALWAYS))
    assert [(one.recorded, one.replayed) for one in found.unlike] == [(step.decisions[0], first)]
    assert found.equal == found.decisions - 1


def test_a_missing_event_is_named_where_decisions_differ(data: Path) -> None:
    """Without a node that joined, decisions differ, and the replay does not pretend otherwise."""
    there = segments(data)
    del there[0].steps[0].turns[0].events[0]
    found = reproduce(RecordedDay(there, *ALWAYS))
    assert found.unlike
    assert {one.why for one in found.unlike} == {"not explained: please report it"}


def test_the_same_profile_played_again_is_near_the_recording(day: RecordedDay) -> None:
    found = with_profile(day, reproduce(day), "auto")
    assert found.compared is not None
    assert found.compared.differences.elsewhere == []
    recorded, again, _ = [figures["numbers"] for figures in found.figures().values()]
    assert again["utilisation"] == pytest.approx(recorded["utilisation"], rel=0.25)


def test_another_profile_places_elsewhere_and_says_why(day: RecordedDay) -> None:
    found = with_profile(day, reproduce(day), "random")
    assert found.compared is not None
    differs = found.compared.differences
    assert len(differs.elsewhere) > 20
    assert differs.same + differs.by_model + len(differs.elsewhere) >= differs.placements
    assert all(one.why and one.node_then != one.node_now for one in differs.elsewhere)
    again = with_profile(day, reproduce(day), "random").compared
    assert again is not None
    assert again.differences == differs


def test_the_command_reads_a_data_folder_and_writes_a_report(data: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    result = replay("--data", str(data), "--profile", "best_fit", "--report", str(page))
    assert result.exit_code == 0, result.output
    assert "recorded decisions came out the same when decided" in result.stdout
    assert "best_fit would have made" in result.stdout
    assert "auto again" in result.stdout
    assert "Placed elsewhere" in page.read_text()
    assert "<script" not in page.read_text()


def test_the_command_gives_everything_as_json(data: Path) -> None:
    found = json.loads(replay("--data", str(data), "--profile", "best_fit", "-o", "json").stdout)
    assert found["equal"] == found["decisions"]
    assert set(found["totals"]) == {"recorded", "auto again", "best_fit"}
    assert found["placements"] >= len([one for one in found["elsewhere"] if one["node_then"]])


def test_a_live_server_is_asked_for_its_recording(tmp_path: Path) -> None:
    with serving(day_settings(tmp_path)) as url:
        a_morning(url, "live")
        result = replay("--url", url, "-o", "json")
        assert result.exit_code == 0, result.output
        found = json.loads(result.stdout)
    assert found["equal"] == found["decisions"] > 100


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--profile", "best_fitt"], 2, "unknown profile 'best_fitt'. Did you mean 'best_fit'?"),
        (["--since", "sometime"], 2, "--since 'sometime' is not a time"),
        (["--until", "2001-01-01"], 4, "the recordings begin after that time"),
    ],
)
def test_mistakes_are_told(data: Path, arguments: list[str], code: int, said: str) -> None:
    result = replay("--data", str(data), *arguments)
    assert result.exit_code == code
    assert said in result.stderr


def test_a_folder_without_recordings_says_what_to_set(tmp_path: Path) -> None:
    result = replay("--data", str(tmp_path))
    assert result.exit_code == 4
    assert "recording: {enabled: true}" in result.stderr


def test_the_segments_of_a_time_begin_at_the_checkpoint_before_it() -> None:
    files = [SegmentTime(name, at) for name, at in (("a", 10.0), ("b", 20.0), ("c", 30.0))]
    assert [one.name for one in needed(files, 25.0, 29.0)] == ["b"]
    assert [one.name for one in needed(files, 0.0, 100.0)] == ["a", "b", "c"]
    with pytest.raises(NothingRecorded):
        needed([], 0.0, 1.0)


def test_only_decisions_of_the_time_are_compared(day: RecordedDay) -> None:
    late = RecordedDay(day.segments, day.segments[1].at, 1e12)
    assert 0 < reproduce(late).decisions < reproduce(day).decisions
    assert RecordedDecision(1, 0, 1, "n") == RecordedDecision(1, 0, 1, "n")
