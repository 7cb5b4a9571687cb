"""Seeing what happens, from the command line: failed replicas, output, attempts, watching, events, accounting."""

import csv
import json
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO
from pathlib import Path

import pytest
from tests.e2e.server_process import ServerProcess
from tests.e2e.test_cli import DOVETAIL, Shell, clean, serving
from tests.patience import wait_for
from tests.servers.warm_process import WarmProcess

pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("cli")]

THIRDS = "echo task $DOVETAIL_REPLICA; [ $((DOVETAIL_REPLICA % 3)) != 1 ]"
THIRD_TIME = "echo try $DOVETAIL_ATTEMPT; echo end; [ $DOVETAIL_ATTEMPT = 3 ]"


@pytest.fixture(scope="module")
def dovetail(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    folder = tmp_path_factory.mktemp("seeing")
    (folder / "settings.yaml").write_text(
        "scheduling: {backoff: {first: 10ms, most: 10ms}}\nbackends: {local: {kind: local, run_as: server}}\n"
    )
    with serving(folder / "data", "--config", str(folder / "settings.yaml")) as (url, _):
        shell = Shell(url)
        shell("submit", "--name", "thirds", "--replicas", "30", "--cpu", "1m", "--", "sh", "-c", THIRDS)
        shell("submit", "--name", "thrice", "--retries", "2", "--cpu", "1m", "--wait", "--", "sh", "-c", THIRD_TIME)
        wait_for(lambda: json.loads(shell("get", "thirds", "-o", "json").stdout)["finished_at"])
        yield shell


@contextmanager
def going_on(url: str, *arguments: str) -> Iterator[WarmProcess]:
    """A command that does not end by itself."""
    pipe = subprocess.PIPE
    with WarmProcess([*DOVETAIL, *arguments], env=clean(url), stdout=pipe, stderr=pipe) as running:
        try:
            yield running
        finally:
            running.kill()


def next_with(running: WarmProcess, words: str) -> str:
    """The next line of its output that holds the words."""
    assert running.stdout is not None
    return next(line for line in running.stdout if words in line)


def test_failed_replicas_come_first_with_the_command_that_shows_their_output(dovetail: Shell) -> None:
    text = dovetail("describe", "thirds").stdout
    assert "10 of 30 tasks failed; the last was replica " in text
    [hint] = [line for line in text.splitlines() if line.startswith("what it wrote: dovetail ")]
    replica = hint.rpartition(".")[2]
    shown = dovetail(*hint.removeprefix("what it wrote: dovetail ").split()).stdout
    assert shown == f"task {replica}\n"
    tasks = text.partition("REPLICA  STATE")[2].splitlines()[1:21]
    assert ["failed" in line for line in tasks] == [True] * 10 + [False] * 10
    assert "10 more: dovetail describe thirds --tasks all" in text
    assert max(map(len, text.splitlines())) <= 80


def test_waiting_for_work_that_fails_names_the_replica_that_failed(dovetail: Shell) -> None:
    only_second = "[ $DOVETAIL_REPLICA != 1 ]"
    told = dovetail(
        *("submit", "--name", "second", "--replicas", "3", "--cpu", "1m", "--wait", "--", "sh", "-c", only_second), rc=1
    ).stderr
    assert "its output: dovetail logs second.1; its story: dovetail describe second\n" in told


def test_every_task_and_line_of_history_can_be_reached(dovetail: Shell) -> None:
    failed = dovetail("describe", "thirds", "--tasks", "failed").stdout
    assert "10 of 30 tasks\n" in failed
    assert failed.count("✗ failed  ") == 10
    assert dovetail("describe", "thirds", "--tasks", "all").stdout.count(" succeeded  ") >= 20
    whole = json.loads(dovetail("describe", "thirds", "-o", "json").stdout)
    assert sorted(task["replica"] for task in whole["tasks"]) == list(range(30))
    assert [task["state"] for task in whole["tasks"][:10]] == ["failed"] * 10
    history = [line["seq"] for line in whole["history"]]
    assert history == sorted(history, reverse=True)
    assert whole["history"][-1]["kind"] == "submitted"
    assert len(history) > 60
    assert "submitted default/thirds" in dovetail("describe", "thirds", "--all").stdout
    assert "there is more" not in dovetail("describe", "thirds", "--all").stdout
    dovetail("describe", "thirds", "--tasks", "sleepy", rc=2)


def test_attempts_are_shown_each_with_its_times_and_its_end(dovetail: Shell) -> None:
    text = dovetail("describe", "thrice").stdout
    attempts = re.findall(r"^ +0 +(\d .*)", text.partition("attempts of tasks")[2], re.MULTILINE)
    assert [line[0] for line in attempts] == ["3", "2", "1"]
    assert ["failed" in line for line in attempts] == [False, True, True]
    assert "without the time between attempts" in text
    assert max(map(len, text.splitlines())) <= 80


def test_output_is_read_by_attempt_line_time_and_replica(dovetail: Shell) -> None:
    assert dovetail("logs", "thrice").stdout == "try 3\nend\n"
    assert dovetail("logs", "thrice", "-p").stdout == "try 2\nend\n"
    assert dovetail("logs", "thrice", "--attempt", "1", "--tail", "1").stdout == "end\n"
    assert dovetail("logs", "thrice", "--since", "1h").stdout == "try 3\nend\n"
    assert dovetail("logs", "thrice", "--since", "2099-01-01").stdout == ""
    assert dovetail("logs", "thrice", "-f").stdout == "try 3\nend\n"
    assert dovetail("logs", "thirds", "-r", "4", "-r", "2").stdout == "thirds.2: task 2\nthirds.4: task 4\n"
    lines = dovetail("logs", "thirds", "--all").stdout.splitlines()
    assert lines == [f"thirds.{replica}: task {replica}" for replica in range(30)]
    followed = dovetail("logs", "thirds", "--all", "--follow").stdout.splitlines()
    assert sorted(followed) == sorted(lines)
    assert "the latest is 3" in dovetail("logs", "thrice", "--attempt", "4", rc=4).stderr
    assert "leave out" in dovetail("logs", "thrice", "-f", "-p", rc=2).stderr
    assert "is not a time" in dovetail("logs", "thrice", "--since", "soon", rc=2).stderr


def test_output_is_followed_over_several_attempts(dovetail: Shell, tmp_path: Path) -> None:
    script = f"echo try $DOVETAIL_ATTEMPT; until [ -e {tmp_path}/go ]; do sleep 0.05; done; [ $DOVETAIL_ATTEMPT = 2 ]"
    dovetail("submit", "--name", "twice", "--retries", "1", "--cpu", "1m", "--", "sh", "-c", script)
    with going_on(dovetail.url, "logs", "twice", "-f") as follower:
        next_with(follower, "try 1")
        (tmp_path / "go").touch()
        next_with(follower, "try 2")
        assert follower.wait(60) == 0


def test_following_goes_on_when_the_server_was_away(tmp_path: Path) -> None:
    script = f"echo before; until [ -e {tmp_path}/go ]; do sleep 0.05; done; echo after"
    with ServerProcess(tmp_path, {"backends": {"local": {"kind": "local", "run_as": "server"}}}) as server:
        Shell(server.url)("submit", "--name", "steady", "--cpu", "1m", "--", "sh", "-c", script)
        with (
            going_on(server.url, "logs", "steady", "-f") as follower,
            going_on(server.url, "events", "-f") as listener,
            going_on(server.url, "get", "-w") as watcher,
        ):
            next_with(follower, "before")
            next_with(listener, "running")
            next_with(watcher, "running")
            server.stop()
            assert follower.stderr is not None
            told = (line for line in follower.stderr if not line.startswith("waiting: "))  # it may have come early
            assert "trying again for" in next(told)
            (tmp_path / "go").touch()
            server.start()
            next_with(follower, "after")
            assert follower.wait(60) == 0
            assert "default/steady.0" in next_with(listener, "succeeded")
            assert "1/1" in next_with(watcher, "✓ succeeded")


def test_a_list_is_watched_and_prints_rows_that_change(dovetail: Shell, tmp_path: Path) -> None:
    with (
        going_on(dovetail.url, "get", "-w", "--match", "watched", "--unfinished") as watcher,
        going_on(dovetail.url, "get", "-w", "--match", "watched", "-o", "json") as machine,
    ):
        assert "no workloads" in next_with(watcher, "")
        script = f"until [ -e {tmp_path}/go ]; do sleep 0.05; done"
        dovetail("submit", "--name", "watched", "--cpu", "1m", "--", "sh", "-c", script)
        next_with(watcher, "running")
        (tmp_path / "go").touch()
        assert next_with(watcher, "succeeded").startswith("watched")
        assert json.loads(next_with(machine, "succeeded"))["name"] == "watched"
    assert "dovetail top" in dovetail("get", "nodes", "-w", rc=2).stderr


def test_events_name_workloads_and_are_chosen_and_cut_aloud(dovetail: Shell) -> None:
    whole = dovetail("events", "thrice", "--all").stdout
    assert "default/thrice.0" in whole
    assert "submitted default/thrice, 1 task" in whole
    assert max(map(len, whole.splitlines())) <= 80
    some = dovetail("events", "thrice", "--limit", "2")
    assert some.stderr == "these are the newest 2; --limit N or --all shows more\n"
    assert len(some.stdout.splitlines()) == 3
    failed = json.loads(dovetail("events", "--kind", "failed", "--all", "-o", "json").stdout)
    assert {row["kind"] for row in failed["items"]} == {"failed"}
    assert len(failed["items"]) >= 11
    assert json.loads(dovetail("events", "--since", "2099-01-01", "-o", "json").stdout)["items"] == []
    node = json.loads(dovetail("nodes", "-o", "json").stdout)[0]["name"]
    assert node in dovetail("events", "--node", node, "--kind", "node").stdout


def test_history_adds_up_what_was_used_in_every_format(dovetail: Shell) -> None:
    text = dovetail("history").stdout
    assert text.splitlines()[0].endswith(" CPU-hours")
    assert max(map(len, text.splitlines())) <= 80
    rows = list(csv.DictReader(StringIO(dovetail("history", "--match", "thrice", "-o", "csv").stdout)))
    assert [(row["name"], row["attempts"], row["state"], row["queue"]) for row in rows] == [
        ("thrice", "3", "succeeded", "default")
    ]
    whole = json.loads(dovetail("history", "-o", "json").stdout)
    assert whole["total"]["workloads"] == len(whole["items"])
    one = dovetail("history", "--limit", "1")
    assert "--all shows more" in one.stderr
    assert "no workload waited or ran then" in dovetail("history", "--user", "nobody").stdout
    assert "thirds" in dovetail("history", "--state", "failed", "--queue", "default", "-T", "-o", "wide").stdout
    assert json.loads(dovetail("history", "--until", "2001-01-01", "-o", "json").stdout)["items"] == []
    dovetail("history", "--state", "sleepy", rc=2)


def test_all_workloads_are_listed_however_many(dovetail: Shell) -> None:
    short = dovetail("get", "--limit", "1")
    assert "--all shows all" in short.stderr
    whole = dovetail("get", "--all")
    assert "there are more" not in whole.stderr
    assert len(whole.stdout.splitlines()) > len(short.stdout.splitlines())
