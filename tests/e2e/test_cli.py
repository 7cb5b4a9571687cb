"""The `dovetail` command against a real server: what a person types, what is printed, and the exit code."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from tests.e2e.warm_shell import run_warm
from tests.patience import wait_for
from tests.servers.warm_process import WarmProcess

pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("cli")]

DOVETAIL = [sys.executable, "-m", "dovetail.cli.main"]


def clean(url: str | None = None) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("DOVETAIL_", "SCHEDULING_"))}
    return kept | {"COLUMNS": "80"} | ({"DOVETAIL_URL": url} if url else {})


@contextlib.contextmanager
def serving(
    data: Path, *options: str, cold: bool = False
) -> Iterator[tuple[str, "subprocess.Popen[str] | WarmProcess"]]:
    """A server of its own on a free port. One that is not `cold` spares its imports (`warm_process`)."""
    command = [*DOVETAIL, "serve", "--port", "0", "--data", str(data), *options]
    server: subprocess.Popen[str] | WarmProcess
    with (data.parent / f"{data.name}.log").open("w") as log:
        if cold:
            server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, env=clean())
        else:
            server = WarmProcess(command, stdout=subprocess.PIPE, stderr=log, env=clean())
        assert server.stdout is not None
        first = server.stdout.readline()
        assert "listens on http://" in first, Path(log.name).read_text()
        try:
            yield first.split()[-1], server
        finally:
            server.terminate()
            server.wait(30)


class Shell:
    """Runs `dovetail` as a script would. One that is not `cold` spares each command its imports (`warm_shell`)."""

    def __init__(self, url: str, *, cold: bool = False) -> None:
        self.url, self.cold = url, cold

    def __call__(
        self, *arguments: str, rc: int | None = 0, stdin: str | None = None
    ) -> "subprocess.CompletedProcess[str]":
        if self.cold:
            done = subprocess.run(
                [*DOVETAIL, *arguments], capture_output=True, text=True, env=clean(self.url), input=stdin, timeout=120
            )
        else:
            done = run_warm(arguments, clean(self.url), stdin)
        assert rc is None or done.returncode == rc, (arguments, done.returncode, done.stdout, done.stderr)
        assert "Traceback" not in done.stderr
        return done


@pytest.fixture(scope="module")
def dovetail(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    with serving(tmp_path_factory.mktemp("cli") / "data") as (url, _):
        yield Shell(url)


@pytest.fixture(scope="module")
def node(dovetail: Shell) -> str:
    return str(json.loads(dovetail("nodes", "-o", "json").stdout)[0]["name"])


def test_a_command_goes_from_submission_to_its_explanation(dovetail: Shell, node: str) -> None:
    cold = Shell(dovetail.url, cold=True)
    done = cold("submit", "--name", "hello", "--cpu", "100m", "--wait", "--", "echo", "two  words")
    assert done.stdout.splitlines()[0] == "1 workload: 1 succeeded"
    assert "accepted 1 workload: hello" in done.stderr
    assert "hello" in dovetail("get").stdout
    assert cold("logs", "hello").stdout == "two  words\n"
    assert dovetail("logs", "hello", "--follow").stdout == "two  words\n"
    explained = dovetail("explain", "hello").stdout
    assert "▶" in explained
    assert node in explained
    described = dovetail("describe", "hello").stdout
    assert described.startswith("default/hello ✓ succeeded")
    assert "history" in described
    assert node in dovetail("why-not", "hello", node).stdout
    assert max(map(len, (explained + described).splitlines())) <= 80


def test_work_that_fits_nowhere_waits_says_why_and_can_be_cancelled(dovetail: Shell, node: str) -> None:
    assert dovetail("submit", "--name", "big", "--cpu", "9000", "--", "sleep", "1").stdout.startswith("accepted 1")
    explained = json.loads(dovetail("explain", "big", "-o", "json").stdout)
    assert explained["now"]["outcome"] == "insufficient_resources"
    assert "SHORT BY" in dovetail("explain", "big").stdout
    assert "cannot help" in dovetail("why-not", "big", node).stdout
    assert "big" in dovetail("queue").stdout
    assert dovetail("submit", "--name", "big", "--", "true", rc=5).stderr.count("default/big") == 1
    assert dovetail("cancel", "big", "--reason", "enough").stdout == "big: asked to stop\n"
    assert "already finished" in dovetail("cancel", "big", rc=5).stderr
    assert "cancelled" in dovetail("get", "big").stdout


def test_a_failing_command_is_exit_code_1_and_says_where_to_look(dovetail: Shell) -> None:
    done = dovetail("submit", "--name", "fails", "--wait", "--", "sh", "-c", "echo oh; exit 3", rc=1)
    assert "exited with status 3" in done.stdout
    assert "dovetail logs" in done.stderr


def test_a_folder_is_one_submission_and_a_second_one_is_refused_whole(dovetail: Shell, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("name: f1\nresources: {cpu: 9000}\n---\nname: f2\nresources: {cpu: 9000}\n")
    (tmp_path / "b.json").write_text('{"name": "f3", "resources": {"cpu": 9000}}')
    accepted = json.loads(dovetail("submit", "-f", str(tmp_path), "-o", "json").stdout)["accepted"]
    assert [row["name"] for row in accepted] == ["f1", "f2", "f3"]
    (tmp_path / "c.yaml").write_text("name: f4\n")
    assert "f1" in dovetail("submit", "-f", str(tmp_path), rc=5).stderr
    dovetail("get", "f4", rc=4)
    dovetail("cancel", "f1", "f2", "f3")


def test_what_only_the_server_knows_is_traced_to_file_and_line(dovetail: Shell, tmp_path: Path) -> None:
    file = tmp_path / "jobs.yaml"
    file.write_text("name: ok\n---\nname: odd\nprofile: nope\n")
    assert dovetail("submit", "-f", str(file), rc=2).stderr.startswith(f"{file}:4: profile: ")
    from_stdin = dovetail("submit", "-f", "-", rc=2, stdin=file.read_text()).stderr
    assert from_stdin.startswith("standard input:4: profile: ")
    dovetail("get", "ok", rc=4)


def test_plan_and_dry_run_change_nothing_and_say_whether_it_fits(dovetail: Shell, tmp_path: Path) -> None:
    file = tmp_path / "jobs.yaml"
    file.write_text("name: planned\nresources: {cpu: 100m}\n")
    assert "planned" in dovetail("plan", "-f", str(file)).stdout
    assert json.loads(dovetail("submit", "-f", str(file), "--dry-run", "-o", "json").stdout)["plans"][0]["placed"] == 1
    dovetail("get", "planned", rc=4)
    file.write_text("name: planned\nresources: {cpu: 9000}\n")
    dovetail("plan", "-f", str(file), rc=1)


def test_plan_takes_a_command_and_the_options_of_submit(dovetail: Shell) -> None:
    fits = json.loads(dovetail("plan", "--cpu", "100m", "--replicas", "2", "-o", "json", "--", "sleep", "3").stdout)
    assert fits["plans"][0]["placed"] == 2
    dovetail("plan", "--cpu", "9000", "--", "sleep", "3", rc=1)


def test_capacity_says_how_many_more_fit(dovetail: Shell, node: str) -> None:
    assert node in dovetail("capacity", "--cpu", "100m").stdout
    dovetail("capacity", "--cpu", "9000", rc=1)


def test_nodes_are_registered_labelled_cordoned_drained_and_removed(dovetail: Shell, tmp_path: Path) -> None:
    file = tmp_path / "node.yaml"
    file.write_text("name: extra\ncapacity: {cpu: 8, memory: 16GiB}\nlabels: {zone: a}\n")
    assert dovetail("nodes", "register", "-f", str(file)).stdout == "extra: registered\n"
    assert "disk=nvme" in dovetail("nodes", "label", "extra", "disk=nvme", "zone-").stdout
    assert "gpu:NoSchedule" in dovetail("nodes", "taint", "extra", "dedicated=gpu:NoSchedule").stdout
    assert dovetail("nodes", "taint", "extra", "--none").stdout == "extra: no taints\n"
    assert "cordoned" in dovetail("cordon", "extra", "--reason", "disk swap").stdout
    assert "disk swap" in dovetail("nodes", "extra").stdout
    assert dovetail("uncordon", "extra").stdout == "extra is online\n"
    assert "drained" in dovetail("drain", "extra").stdout
    shown = json.loads(dovetail("nodes", "extra", "-o", "json").stdout)
    assert shown["labels"] == {"disk": "nvme"}
    assert dovetail("nodes", "remove", "extra").stdout == "extra: removed\n"
    dovetail("nodes", "extra", rc=4)
    dovetail("cordon", "extra", rc=4)


def test_capacity_is_reserved_listed_and_released(dovetail: Shell, node: str) -> None:
    made = json.loads(dovetail("reserve", "add", node, "--cpu", "100m", "--for", "1h", "-o", "json").stdout)
    assert node in dovetail("reserve").stdout
    assert dovetail("reserve", "release", str(made["id"])).stdout == f"reservation {made['id']} released\n"
    dovetail("reserve", "release", str(made["id"]), rc=4)
    dovetail("reserve", "add", node, "--cpu", "9000", "--for", "1h", rc=5)
    dovetail("reserve", "add", node, "--cpu", "1", "--for", "soon", rc=2)


def test_room_is_reserved_in_advance_and_shown(dovetail: Shell, node: str) -> None:
    window = ("--at", "+2h", "--for", "1h", "--every", "1d", "--until", "2099-12-31", "--holder", "ada")
    amounts = ("--count", "2", "--cpu", "100m", "--tenant", "research")
    made = json.loads(dovetail("reserve", "create", *amounts, *window, "-o", "json").stdout)
    assert "planned" in dovetail("reserve", "list").stdout
    shown = dovetail("reserve", "show", str(made["id"])).stdout
    for words in ("2 tasks of cpu 100m", "namespace research", "ada", "every 1d00h", node):
        assert words in shown
    dovetail("reserve", "release", str(made["id"]))
    dovetail("reserve", "show", str(made["id"]), rc=4)
    dovetail("reserve", "create", "--domain", "rack=nowhere", "--for", "1h", rc=5)
    dovetail("reserve", "create", "--node", node, "--for", "1h", "--at", "+soon", rc=2)


def test_lists_are_paged_and_filtered(dovetail: Shell) -> None:
    for name in ("page-1", "page-2", "page-3"):
        dovetail("submit", "--name", name, "--cpu", "9000", "--", "true")
    first = dovetail("get", "--match", "page", "--limit", "2", "-o", "json")
    page = json.loads(first.stdout)
    assert [row["name"] for row in page["items"]] == ["page-3", "page-2"]
    rest = json.loads(dovetail("get", "--match", "page", "--cursor", page["cursor"], "-o", "json").stdout)
    assert [row["name"] for row in rest["items"]] == ["page-1"]
    assert "--cursor" in dovetail("get", "--match", "page", "--limit", "2").stderr
    dovetail("cancel", "page-1", "page-2", "page-3")
    assert json.loads(dovetail("get", "--match", "page", "--unfinished", "-o", "json").stdout)["items"] == []
    dovetail("get", "--state", "sleepy", rc=2)
    dovetail("get", "--cursor", "bogus", rc=2)


@pytest.mark.parametrize("what", ["workloads", "nodes", "queue", "reservations", "profiles"])
def test_every_list_has_all_formats(dovetail: Shell, what: str) -> None:
    as_yaml, as_json = (dovetail("get", what, "-o", output).stdout for output in ("yaml", "json"))
    assert type(yaml.safe_load(as_yaml)) is type(json.loads(as_json))
    assert dovetail("get", what, "-o", "wide").stdout.strip()


def test_top_in_a_pipe_prints_one_frame_without_colours(dovetail: Shell, node: str) -> None:
    frame = dovetail("top").stdout
    assert node in frame
    assert "\x1b" not in frame


def test_a_reader_that_has_enough_ends_the_command_quietly(dovetail: Shell) -> None:
    dovetail("submit", "--name", "chatty", "--wait", "--", "seq", "1", "100000")
    reader = subprocess.Popen(
        [*DOVETAIL, "logs", "chatty"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=clean(dovetail.url)
    )
    assert reader.stdout is not None
    assert reader.stderr is not None
    assert reader.stdout.readline() == b"1\n"
    reader.stdout.close()
    assert reader.wait(30) == 141
    assert reader.stderr.read() == b""


def test_interrupting_a_wait_is_quiet_and_leaves_the_work_alone(dovetail: Shell) -> None:
    waiting = subprocess.Popen(
        [*DOVETAIL, "submit", "--name", "long", "--cpu", "10m", "--wait", "--", "sleep", "600"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=clean(dovetail.url),
    )
    assert waiting.stderr is not None
    for line in waiting.stderr:
        if line.startswith("long: running"):
            break
    waiting.send_signal(signal.SIGINT)
    _, said = waiting.communicate(timeout=30)
    assert waiting.returncode == 130
    assert "the work goes on" in said
    assert "Traceback" not in said
    assert "running" in dovetail("get", "long").stdout
    dovetail("cancel", "long")


def test_a_taken_port_and_a_database_in_use_are_refused_with_words(dovetail: Shell, tmp_path: Path) -> None:
    port = dovetail.url.rpartition(":")[2]
    refused = dovetail("serve", "--port", port, "--data", str(tmp_path / "other"), rc=1)
    assert f"port {port}: it is taken" in refused.stderr
    with serving(tmp_path / "data"):
        cold = Shell(dovetail.url, cold=True)
        assert "in use" in cold("serve", "--port", "0", "--data", str(tmp_path / "data"), rc=1).stderr


def test_bad_settings_are_refused_before_anything_starts(dovetail: Shell, tmp_path: Path) -> None:
    file = tmp_path / "dovetail.yaml"
    file.write_text("listen:\n  prot: 1\n")
    refused = dovetail("serve", "--config", str(file), "--data", str(tmp_path / "data"), rc=2)
    assert refused.stderr.startswith(f"{file}:2: listen.prot")
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_the_server_cleanly_even_while_someone_follows(tmp_path: Path, number: int) -> None:
    with serving(tmp_path / "data", cold=True) as (url, server):
        script = ("sh", "-c", "echo begun; exec sleep 600")
        Shell(url)("submit", "--name", "quiet", "--cpu", "10m", "--", *script)
        command, pipe, nowhere = [*DOVETAIL, "logs", "quiet", "--follow"], subprocess.PIPE, subprocess.DEVNULL
        follower = WarmProcess(command, env=clean(url), stdout=pipe, stderr=nowhere)
        try:
            assert follower.stdout is not None
            assert follower.stdout.readline() == "begun\n"
            wait_for(lambda: "running" in Shell(url)("get", "quiet").stdout, "the server knows that it runs")
            server.send_signal(number)
            assert server.wait(60) == 0  # the follower waits for the next server: see test_seeing_cli.py
        finally:
            follower.kill()
            follower.wait()
    with serving(tmp_path / "data") as (url, _):  # what ran is found again, and can be stopped
        wait_for(lambda: "running" in Shell(url)("get", "quiet").stdout, "it runs on")
        Shell(url)("cancel", "quiet")
