"""Batch jobs small enough to work out by hand, their figures, and `dovetail simulate swf` on the command line."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from dovetail.cli.main import app
from dovetail.engine.questions.questions import Questions
from dovetail.simulate.batch import BatchReplay
from dovetail.simulate.comparison import figures_of, play, yardstick
from dovetail.simulate.policies import POLICIES, Backfill, UnknownPolicy, policy_named
from dovetail.simulate.swf import BatchJob


def job(submit_s: float, run_s: float, processors: int, requested_s: float | None = None) -> BatchJob:
    return BatchJob(0, submit_s, run_s, run_s if requested_s is None else requested_s, processors, "u1")


#: On 4 processors: one that leaves a processor free, one that has to wait for it, one that may run ahead, one that not.
FOUR = [job(0, 100, 3), job(1, 50, 4), job(2, 90, 1), job(3, 98, 1)]


def starts(policy: str, backfill: Backfill, jobs: list[BatchJob] = FOUR) -> list[float]:
    return BatchReplay(jobs, 4, POLICIES[policy].settings(backfill)).run()


def test_without_backfilling_nobody_overtakes_the_head() -> None:
    assert starts("fcfs", "none") == [0, 100, 150, 150]


def test_with_backfilling_only_what_ends_strictly_before_the_reservation_runs_ahead() -> None:
    assert starts("fcfs", "easy") == [0, 100, 2, 150]
    assert starts("fcfs", "easy", [*FOUR[:3], job(3, 97, 1)]) == [0, 100, 2, 150]
    assert starts("fcfs", "easy", [*FOUR[:2], job(3, 97, 1)]) == [0, 100, 150]
    assert starts("fcfs", "easy", [*FOUR[:2], job(3, 96, 1)]) == [0, 100, 3]


def test_the_shortest_is_picked_when_there_is_room_again() -> None:
    jobs = [job(0, 100, 4), job(1, 50, 4), job(2, 20, 4), job(3, 10, 4)]
    assert starts("sjf", "none", jobs) == [0, 100, 160, 150]


def test_who_was_picked_stays_the_head_although_a_shorter_one_arrives() -> None:
    assert starts("sjf", "easy", [job(0, 100, 4), job(1, 50, 4), job(2, 10, 4)]) == [0, 100, 150]


def test_a_job_may_run_longer_than_it_asked_for_and_its_reservation_is_not_moved() -> None:
    jobs = [job(0, 100, 3, requested_s=20), job(1, 10, 4), job(30, 5, 1)]
    assert starts("fcfs", "easy", jobs) == [0, 100, 110]  # the head was to start at 20: nobody may run ahead any more


@pytest.mark.parametrize("policy", ["fcfs", "sjf", "f1", "area"])
def test_conservative_backfilling_starts_everybody(policy: str) -> None:
    assert max(starts(policy, "conservative")) <= 240


def test_whoever_watches_is_shown_live_work_after_each_submission() -> None:
    seen: list[tuple[int, float, bool]] = []

    def watch(questions: Questions, workload: int, now: float) -> None:
        seen.append((workload, now, questions.workloads.is_waiting(workload)))

    BatchReplay(FOUR, 4, POLICIES["fcfs"].settings("easy"), watch).run()
    assert seen == [(1, 0, False), (2, 1, True), (3, 2, False), (4, 3, True)]


# --- figures -----------------------------------------------------------------------------------------------------


def test_slowdown_is_bounded_for_short_jobs_and_the_mean_is_over_sequences() -> None:
    first = ([job(0, 100, 4), job(0, 2, 4)], [0.0, 100.0])  # 1 and 102 / 10
    second = ([job(0, 50, 2)], [0.0])
    figures = figures_of([first, second], 4)
    assert [one.mean_slowdown for one in figures.sequences] == [pytest.approx(5.6), 1.0]
    assert figures.mean_slowdown == pytest.approx(3.3)
    assert figures.median_slowdown == 1.0
    assert figures.mean_wait_s == pytest.approx(100 / 3)
    assert figures.longest_wait_s == 100.0
    assert figures.utilisation == pytest.approx((1.0 + 0.5) / 2)


def test_the_longest_wait_is_compared_with_first_come_first_served() -> None:
    runs = [play(POLICIES[name], "easy", [FOUR], 4) for name in ("sjf", "fcfs")]
    fcfs = yardstick(runs)
    assert fcfs is runs[1]
    assert fcfs.to_dict(fcfs)["longest_wait_against_fcfs"] == 1.0
    assert yardstick(runs[:1]) is None


def test_predicted_starts_are_scored_for_jobs_that_wait() -> None:
    found = play(POLICIES["fcfs"], "none", [FOUR], 4, predict=True).predictions
    assert found is not None
    assert (found.waited, found.told) == (3, 3)
    assert found.median_error_s == 0.0


def test_an_unknown_policy_gets_a_suggestion() -> None:
    with pytest.raises(UnknownPolicy, match="Did you mean 'fcfs'"):
        policy_named("fcsf")


# --- the command -------------------------------------------------------------------------------------------------


def swf_line(number: int, one: BatchJob) -> str:
    return (
        f"{number} {one.submit_s} -1 {one.run_s} {one.processors} -1 -1 -1 {one.requested_s} -1 1 3 -1 -1 0 -1 -1 -1\n"
    )


@pytest.fixture
def log(tmp_path: Path) -> Path:
    jobs = [one._replace(submit_s=one.submit_s + 500 * turn) for turn in range(6) for one in FOUR]
    path = tmp_path / "small.swf"
    path.write_text("; MaxProcs: 4\n" + "".join(swf_line(number, one) for number, one in enumerate(jobs)))
    return path


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["simulate", "swf", *map(str, arguments)])


def test_the_whole_log_under_two_policies_fits_80_columns(log: Path) -> None:
    result = run(log, "--whole", "--policy", "fcfs", "--policy", "sjf", "--backfill", "none", "--backfill", "easy")
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[0] == "small.swf: 24 jobs on 4 processors"
    assert [line.split()[:2] for line in lines[3:]] == [
        ["fcfs", "none"],
        ["fcfs", "easy"],
        ["sjf", "none"],
        ["sjf", "easy"],
    ]
    assert max(map(len, lines)) <= 80


def test_json_holds_every_figure_of_every_sequence(log: Path) -> None:
    result = run(log, "--policy", "fcfs", "--sequences", "3", "--length", "4", "-o", "json", "--predict")
    assert result.exit_code == 0, result.output
    data = json.loads(result.stdout)
    assert (data["processors"], data["jobs"], data["sequences"], data["length"]) == (4, 24, 3, 4)
    (only,) = data["runs"]
    assert only["longest_wait_against_fcfs"] == 1.0
    assert len(only["sequences"]) == 3
    assert only["predicted_starts"]["told"] <= only["predicted_starts"]["waited"]
    again = run(log, "--policy", "fcfs", "--sequences", "3", "--length", "4", "-o", "json", "--predict")
    assert again.stdout == result.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nowhere.swf", "--policy", "fcfs"], "nowhere.swf: cannot be read"),
        (["LOG", "--policy", "fcsf"], "Did you mean 'fcfs'?"),
        (["LOG", "--policy", "fcfs", "--backfill", "hard"], "'hard' is none of none, easy, conservative"),
        (["LOG", "--policy", "fcfs"], "a sequence of 1024 jobs is longer than the log, which has 24"),
        (["LOG", "--policy", "fcfs", "--whole", "--length", "4"], "not both"),
    ],
)
def test_bad_input_is_one_line_and_ends_with_2(log: Path, arguments: list[str], words: str) -> None:
    result = run(*(log if argument == "LOG" else argument for argument in arguments))
    assert result.exit_code == 2
    assert words in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_a_line_with_text_in_it_is_named(log: Path) -> None:
    log.write_text(log.read_text() + swf_line(99, FOUR[0]).replace("-1", "none", 1))
    result = run(log, "--policy", "fcfs")
    assert result.exit_code == 2
    assert f"{log}:26: wait time: 'none' is not a number" in result.stderr


def test_a_scenario_called_like_an_action_is_reached_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "swf").write_text("cluster: {groups: [{prefix: n, count: 1}]}\nworkloads: [{name: a}]\n")
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, ["simulate", "scenario", "swf", "--until", "1h"])
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("1 workload with 1 task")
