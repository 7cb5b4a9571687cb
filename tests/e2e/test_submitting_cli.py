"""Submitting and changing work with the `dovetail` command, against a real server that runs it on this machine."""

import json
import os
import pty
import select
import signal
import subprocess
import termios
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.e2e.test_cli import DOVETAIL, Shell, clean, serving
from tests.patience import PATIENCE_S, wait_for

pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("cli")]


@pytest.fixture(scope="module")
def dovetail(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    folder = tmp_path_factory.mktemp("submitting")
    # Jobs read and write the folders of the tests, which are closed to other users.
    (folder / "settings.yaml").write_text("backends: {local: {kind: local, run_as: server}}\n")
    with serving(folder / "data", "--config", str(folder / "settings.yaml")) as (url, _):
        yield Shell(url)


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("USER", "anna")


def spec_of(dovetail: Shell, name: str) -> dict[str, object]:
    found: dict[str, object] = json.loads(dovetail("get", name, "-o", "json").stdout)["spec"]
    return found


# --- submit --------------------------------------------------------------------------------------------------


def test_a_command_runs_where_it_was_submitted_for_the_user_who_did(dovetail: Shell, tmp_path: Path) -> None:
    dovetail("submit", "--name", "here", "--wait", "--", "pwd")
    assert dovetail("logs", "here").stdout == f"{tmp_path}\n"
    row = json.loads(dovetail("get", "here", "-o", "json").stdout)
    assert row["user"] == "anna"
    Path("sub").mkdir()
    dovetail("submit", "--name", "below", "--workdir", "sub", "--user", "bob", "--wait", "--", "pwd")
    assert dovetail("logs", "below").stdout == f"{tmp_path}/sub\n"
    assert [row["name"] for row in json.loads(dovetail("get", "--user", "bob", "-o", "json").stdout)["items"]] == [
        "below"
    ]


def test_a_file_keeps_what_it_says_and_gets_the_rest_from_the_caller(dovetail: Shell, tmp_path: Path) -> None:
    Path("w.yaml").write_text(
        "name: says\nuser: carl\nrun: {command: [pwd], workdir: /}\n---\nname: says-not\nrun: {command: [pwd]}\n"
        "---\nname: boxed\nresources: {cpu: 9000}\nrun: {image: debian, command: [pwd]}\n"
    )
    dovetail("submit", "-f", "w.yaml")
    assert "submit_dir" not in str(spec_of(dovetail, "says"))
    assert spec_of(dovetail, "says")["user"] == "carl"
    assert spec_of(dovetail, "says-not")["run"] == {"command": ["pwd"], "submit_dir": str(tmp_path)}
    assert spec_of(dovetail, "boxed")["run"] == {"command": ["pwd"], "image": "debian"}
    dovetail("cancel", "boxed")


def test_a_directory_that_the_machine_lacks_is_named_in_the_output(dovetail: Shell) -> None:
    Path("w.yaml").write_text("name: far\nrun: {command: [pwd], submit_dir: /not/on/this/machine}\n")
    dovetail("submit", "-f", "w.yaml", "--wait")
    first, second = dovetail("logs", "far").stdout.splitlines()
    assert first.startswith("dovetail: /not/on/this/machine, where it was submitted, is not on ")
    assert first.endswith(f"it runs in {second}")


def test_the_options_of_submit_become_fields_of_the_workload(dovetail: Shell) -> None:
    dovetail("submit", "--name", "first", "--cpu", "9000", "--", "true")
    words = "--name all --queue default --time 1:30:00 --after first:finished --array 1-9:4%2 --label a=b --label c=d"
    dovetail("submit", *words.split(), "--image", "debian:12", "--gpus", "1", "--gpu-model", "H100", "--", "true")
    spec = spec_of(dovetail, "all")
    assert {name: spec[name] for name in ("queue", "after", "array", "replicas", "concurrency", "labels")} == {
        "queue": "default",
        "after": [{"workload": "first", "condition": "finished"}],
        "array": "1-9:4%2",
        "replicas": 3,
        "concurrency": 2,
        "labels": {"a": "b", "c": "d"},
    }
    assert spec["deadline"] == {"run_for": "1h30m"}
    assert spec["resources"] == {"gpu": 1, "gpu_model": ["H100"]}
    assert spec["run"] == {"command": ["true"], "image": "debian:12"}
    dovetail("cancel", "all", "first")


def test_a_script_of_slurm_runs_as_an_array(dovetail: Shell, tmp_path: Path) -> None:
    Path("job.sh").write_text(
        "#!/bin/bash\n#SBATCH -J sweep -c 1 --mem=10M\n#SBATCH -o x.log --exclusive\n#SBATCH --array=3,7%1\n"
        "#DOVETAIL --env GREETING='good morning'\n"
        'echo "$GREETING $1: $SLURM_ARRAY_TASK_ID of $SLURM_ARRAY_JOB_ID in $SLURM_SUBMIT_DIR"\n'
    )
    done = dovetail("submit", "--cpu", "100m", "--wait", "-o", "json", "job.sh", "anna")
    row = json.loads(done.stdout)["workloads"][0]
    for replica, index in enumerate((3, 7)):
        said = dovetail("logs", "sweep", "-r", str(replica)).stdout
        assert said == f"good morning anna: {index} of {row['id']} in {tmp_path}\n"
    assert "warning: job.sh:3: --output is not followed: `dovetail logs` shows the output" in done.stderr
    assert "warning: job.sh:3: not understood and not followed: --exclusive" in done.stderr
    assert row["spec"]["resources"]["cpu"] == "100m", "the command line wins"


def test_mistakes_in_scripts_are_named_with_file_and_line(dovetail: Shell) -> None:
    Path("job.sh").write_text("#!/bin/bash\n#SBATCH --nodes=4\n#DOVETAIL --cpus 3\ntrue\n")
    lines = dovetail("submit", "job.sh", rc=2).stderr.splitlines()
    assert [line.split(" ")[0] for line in lines] == ["job.sh:2:", "job.sh:3:"]
    Path("job.sh").write_text("#!/bin/bash\n#DOVETAIL --profile nope\ntrue\n")
    assert dovetail("submit", "job.sh", rc=2).stderr.startswith("job.sh: profile: ")
    assert "leave out -f: dovetail submit job.sh" in dovetail("submit", "-f", "job.sh", rc=2).stderr
    assert "#SBATCH lines these" in dovetail("submit", "--directives").stdout


def test_a_file_that_is_not_here_is_named(dovetail: Shell) -> None:
    for missing in ("jobs.yaml", "./job.sh"):
        assert f"warning: there is no file {missing} here" in dovetail("submit", missing).stderr
    assert "warning" not in dovetail("submit", "--workdir", "/", "bin/true").stderr


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--time", "30"], "write 30m for minutes"),
        (["--label", "x"], "--label x: write it as NAME=VALUE"),
        (["--array", "9-1"], "command line: array: '9-1'"),
        (["--after", "nobody"], "no workload 'nobody'"),
        (["--queue", "nowhere"], "command line: queue"),
        (["--user", "a b"], "command line: user: 'a b' is not a name"),
    ],
)
def test_mistakes_in_options_are_named(dovetail: Shell, options: list[str], words: str) -> None:
    assert words in dovetail("submit", *options, "--", "true", rc=2).stderr


# --- run -----------------------------------------------------------------------------------------------------


def test_run_shows_the_output_and_ends_with_the_exit_code(dovetail: Shell) -> None:
    assert dovetail("run", "--name", "good", "--", "sh", "-c", "echo one; echo two >&2").stdout == "one\ntwo\n"
    bad = dovetail("run", "--name", "bad", "--", "sh", "-c", "echo oh; exit 7", rc=7)
    assert bad.stdout == "oh\n"
    assert bad.stderr == "bad failed: exited with status 7\n"
    assert "cannot be run: not found" in dovetail("run", "no-such-program", rc=127).stderr
    assert "say what to run" in dovetail("run", rc=2).stderr


def test_run_names_the_task_of_each_line_if_there_are_several(dovetail: Shell) -> None:
    script = "printf 'index '; sleep 0.1; echo $DOVETAIL_ARRAY_INDEX; printf end; exit $DOVETAIL_REPLICA"
    done = dovetail("run", "--name", "many", "--array", "5-7", "--cpu", "100m", "--", "sh", "-c", script, rc=1)
    wanted = [f"many.{replica}: {words}" for replica in range(3) for words in (f"index {replica + 5}", "end")]
    assert sorted(done.stdout.splitlines(), key=lambda line: line[:7]) == wanted
    assert done.stderr == "many.1 failed: exited with status 1\n"


@pytest.mark.parametrize("times", [1, 2])
def test_ctrl_c_cancels_what_run_runs_and_a_second_one_leaves(dovetail: Shell, times: int) -> None:
    name = f"stubborn-{times}"
    script = "trap 'echo stopping; exit 0' TERM; echo started; while :; do sleep 0.1; done"
    if times == 2:
        script = script.replace("exit 0", "sleep 1; exit 0")
    command = [*DOVETAIL, "run", "--name", name, "--cpu", "100m", "--", "sh", "-c", script]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, text=True, env=clean(dovetail.url), **pipes) as running:  # type: ignore[call-overload]
        assert running.stdout.readline() == "started\n"
        running.send_signal(signal.SIGINT)
        assert running.stderr.readline() == f"cancelling {name}; Ctrl-C again leaves at once\n"
        if times == 2:
            running.send_signal(signal.SIGINT)
            assert running.stderr.readline() == f"left; it may still run: dovetail get {name}\n"
        assert running.wait(60) == 130
        said = running.stdout.read()
    if times == 1:
        assert said.endswith("stopping\n")
        assert "cancelled" in dovetail("get", name).stdout
    wait_for(lambda: "cancelled" in dovetail("get", name).stdout)


# --- input, terminals, attach ----------------------------------------------------------------------------------

SAYS = 'echo ready; while read word; do echo "heard $word"; [ "$word" != enough ] || exit 7; done'


def running(dovetail: Shell, name: str, *options: str) -> None:
    """Work that repeats what it reads."""
    dovetail("submit", "--name", name, "--cpu", "100m", *options, "--", "sh", "-c", SAYS)
    wait_for(lambda: dovetail("logs", name, rc=None).stdout == "ready\n")


def test_exec_passes_on_what_is_piped_in(dovetail: Shell) -> None:
    running(dovetail, "piped", "--stdin")
    text = "line\n" * 500_000
    assert dovetail("exec", "piped", "-i", "--", "wc", "-l", stdin=text).stdout.strip() == "500000"
    assert dovetail("exec", "piped", "--", "cat", stdin="not passed on").stdout == ""
    assert "the input is no terminal" in dovetail("exec", "piped", "-t", "--", "sh", rc=2, stdin="").stderr
    dovetail("cancel", "piped")


def test_exec_gives_a_command_this_terminal(dovetail: Shell) -> None:
    running(dovetail, "typed", "--stdin")
    outer, inner = pty.openpty()
    termios.tcsetwinsize(inner, (40, 120))
    before = termios.tcgetattr(inner)
    command = [*DOVETAIL, "exec", "typed", "-t", "--", "sh"]
    environment = {name: value for name, value in clean(dovetail.url).items() if name not in ("COLUMNS", "LINES")}
    with subprocess.Popen(command, stdin=inner, stdout=inner, stderr=inner, env=environment) as shell:
        said = Said(outer)
        said.until("$ ", "# ")
        os.write(outer, b"stty size; sleep 1000\r")
        said.until("40 120\r\n")
        os.write(outer, b"\x03")  # Ctrl-C: ends the command in the shell, not ours
        said.until("$ ", "# ", typed=b"\x03")
        os.write(outer, b"exit 5\r")
        assert shell.wait(60) == 5
    assert termios.tcgetattr(inner) == before, "the terminal is as it was"
    os.close(inner)
    os.close(outer)
    dovetail("cancel", "typed")


def test_attach_shows_and_sends_and_ctrl_c_leaves_the_task_alone(dovetail: Shell) -> None:
    running(dovetail, "held", "--stdin")
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    command = [*DOVETAIL, "attach", "held.0"]
    with subprocess.Popen(command, text=True, env=clean(dovetail.url), **pipes) as attached:  # type: ignore[call-overload]
        assert "; Ctrl-C detaches" in attached.stderr.readline()
        attached.stdin.write("one\n")
        attached.stdin.flush()
        assert attached.stdout.readline() == "heard one\n"
        attached.send_signal(signal.SIGINT)
        assert attached.wait(60) == 130
        assert attached.stderr.read() == "detached; the task goes on: dovetail logs held.0 --follow\n"
    done = dovetail("attach", "held", stdin="two\nenough\n", rc=7)
    assert done.stdout == "heard two\nheard enough\n"
    assert dovetail("logs", "held").stdout == "ready\nheard one\nheard two\nheard enough\n"
    refused = dovetail("attach", "held", rc=5).stderr
    assert refused.startswith("held.0 ")
    assert refused.endswith("does not run now; to wait for it and follow its output: dovetail logs held.0 --follow\n")


class Said:
    """What comes out of a terminal."""

    def __init__(self, outer: int) -> None:
        self._outer = outer

    def until(self, *ends: str, typed: bytes = b"") -> None:
        """`typed`: and again every second, for what comes too early for a shell that is just starting a command."""
        said, gives_up_at = "", time.monotonic() + PATIENCE_S
        while not any(end in said for end in ends):
            assert time.monotonic() < gives_up_at, f"waited in vain for {ends}: {said!r}"
            if select.select([self._outer], [], [], 1.0)[0]:
                said += os.read(self._outer, 65536).decode()
            elif typed:
                os.write(self._outer, typed)


# --- retry and cancel ----------------------------------------------------------------------------------------


def test_retry_runs_only_what_failed(dovetail: Shell, tmp_path: Path) -> None:
    script = f"echo $DOVETAIL_ATTEMPT; test -e {tmp_path}/repaired || test $DOVETAIL_ARRAY_INDEX = 1"
    dovetail("submit", "--name", "flaky", "--array", "0-3", "--cpu", "100m", "--wait", "--", "sh", "-c", script, rc=1)
    Path("repaired").touch()
    done = dovetail("retry", "nobody", "flaky", rc=4)
    assert done.stdout == "flaky: 3 tasks will run again: 0, 2–3\n"
    assert "no workload 'nobody'" in done.stderr
    wait_for(lambda: "succeeded" in dovetail("get", "flaky").stdout)
    assert [dovetail("logs", "flaky", "-r", str(one)).stdout for one in (0, 1)] == ["2\n", "1\n"]
    assert "no task of default/flaky has failed: it is succeeded" in dovetail("retry", "flaky", rc=5).stderr


def test_a_selection_is_cancelled_after_it_was_named(dovetail: Shell) -> None:
    for name, user in (("sel-1", "x"), ("sel-2", "x"), ("sel-3", "y"), ("not-sel", "x")):
        dovetail("submit", "--name", name, "--user", user, "--cpu", "9000", "--", "true")
    both = "sel-1\nsel-2\n"
    chosen = ("cancel", "--match", "sel-*", "--user", "x", "--state", "pending", "--queue", "default")
    dry = dovetail(*chosen, "--dry-run")
    assert (dry.stdout, dry.stderr) == (both, "2 workloads would be cancelled\n")
    asked = dovetail(*chosen, rc=2)
    assert (asked.stdout, asked.stderr) == (both, "nothing was cancelled: add --yes to cancel 2 workloads\n")
    done = dovetail(*chosen, "--yes", "--reason", "enough")
    assert (done.stdout, done.stderr) == (both, "2 workloads asked to stop\n")
    assert "nothing was cancelled" in dovetail(*chosen, "--yes").stderr
    assert "nothing was cancelled" in dovetail("cancel", "--match", "*", "--queue", "defaul", "--yes").stderr
    assert "is already finished: it cancelled" in dovetail("cancel", "sel-1", "--dry-run").stdout
    assert "would be asked to stop; is pending" in dovetail("cancel", "sel-3", "--dry-run").stdout
    assert dovetail("cancel", "--match", "*sel*", "-A", "-y").stdout == "sel-3\nnot-sel\n"
    assert "--state ended: write pending, starting, running" in dovetail("cancel", "--state", "ended", rc=2).stderr
    assert "say which" in dovetail("cancel", rc=2).stderr
    assert "not both" in dovetail("cancel", "x", "--match", "y", rc=2).stderr


# --- nodes ---------------------------------------------------------------------------------------------------


def test_nodes_are_chosen_by_names_labels_state_and_sorted(dovetail: Shell) -> None:
    nodes = [
        f"name: {name}\ncapacity: {{cpu: 4}}\nlabels: {{zone: {zone}}}\n" for name, zone in (("a", "e"), ("b", "w"))
    ]
    Path("n.yaml").write_text("---\n".join(nodes))
    dovetail("nodes", "register", "-f", "n.yaml")

    def names(*options: str) -> list[str]:
        return [row["name"] for row in json.loads(dovetail("nodes", *options, "-o", "json").stdout)]

    assert names("-l", "zone=e") == ["a"]
    assert names("-l", "zone in (e, w)", "--sort", "load") == ["a", "b"]
    cordoned = dovetail("cordon", "-l", "zone").stdout.splitlines()
    assert [line.split(":")[0] for line in cordoned] == ["a is cordoned", "b is cordoned"]
    assert names("--state", "cordoned") == ["a", "b"]
    drained = dovetail("drain", "a", "nobody", "b", rc=4)
    assert drained.stdout.splitlines() == ["a is drained; nothing runs there", "b is drained; nothing runs there"]
    assert "no node 'nobody'" in drained.stderr
    assert dovetail("uncordon", "a", "b").stdout == "a is online\nb is online\n"
    assert "no node has the labels zone=x" in dovetail("uncordon", "-l", "zone=x", rc=4).stderr
    assert "say which nodes" in dovetail("drain", rc=2).stderr
    assert "no such state. Did you mean 'online'?" in dovetail("nodes", "--state", "onlin", rc=2).stderr
    assert "write one of name, tasks" in dovetail("nodes", "--sort", "x", rc=2).stderr
    assert "is like that" in dovetail("nodes", "-l", "zone=mars").stderr
    for node in ("a", "b"):
        dovetail("nodes", "remove", node)


# --- diff ----------------------------------------------------------------------------------------------------


def test_diff_says_what_a_submit_would_change(dovetail: Shell) -> None:
    Path("w.yaml").write_text("name: same\nresources: {cpu: 9000}\nrun: {command: [echo, hi]}\n")
    new = dovetail("diff", "-f", "w.yaml", rc=1).stdout
    assert new.startswith("--- default/same (none)\n+++ default/same (file)\n")
    dovetail("submit", "-f", "w.yaml")
    assert dovetail("diff", "-f", "w.yaml").stdout == "", "the caller's name and directory are no difference"
    Path("w.yaml").write_text(
        "name: same\npriority: high\nuser: zoe\nresources: {cpu: 2}\nrun: {command: [echo, hi]}\n"
    )
    changed = dovetail("diff", "-f", "w.yaml", rc=1)
    lines = [line for line in changed.stdout.splitlines() if line[0] in "+-"]
    assert lines[0] == "--- default/same (pending)"
    assert set(lines[2:]) == {"+priority: high", "-user: anna", "+user: zoe", "-  cpu: '9000'", "+  cpu: '2'"}
    assert "a submit is refused until it has: dovetail cancel same" in changed.stderr
    dovetail("cancel", "same")
    assert "say what to compare" in dovetail("diff", rc=2).stderr


# --- exec ----------------------------------------------------------------------------------------------------


def test_exec_runs_a_command_where_a_task_runs(dovetail: Shell, tmp_path: Path) -> None:
    options = ("--name", "beside", "--array", "3-4", "--cpu", "100m", "--env", "COLOUR=red")
    dovetail("submit", *options, "--", "sleep", "1000")
    wait_for(lambda: json.loads(dovetail("get", "beside", "-o", "json").stdout)["active"] == 2)
    script = 'echo "$COLOUR $DOVETAIL_ARRAY_INDEX"; pwd >&2; cat; exit 4'
    done = wait_for(lambda: _ran(dovetail, "exec", "beside.1", "-i", "--", "sh", "-c", script, stdin="given\n"))
    assert done == f"red 4\n{tmp_path}\ngiven\n"
    assert len(dovetail("exec", "beside", "--", "head", "-c", "3000000", "/dev/zero").stdout) == 3_000_000
    dovetail("exec", "beside", "--", "no-such-program", rc=127)
    assert "beside has no task 7; it has 2 tasks" in dovetail("exec", "beside.7", "--", "ls", rc=4).stderr
    assert "say what to run: dovetail exec beside -- COMMAND" in dovetail("exec", "beside", rc=2).stderr
    dovetail("cancel", "beside")
    wait_for(lambda: "cancelled" in dovetail("get", "beside").stdout)
    assert dovetail("exec", "beside", "--", "ls", rc=5).stderr.startswith("beside.0 does not run now")


def _ran(dovetail: Shell, *arguments: str, stdin: str) -> str | None:
    """What it printed; None while the task has not started."""
    try:
        return dovetail(*arguments, rc=4, stdin=stdin).stdout
    except AssertionError as error:
        if "does not run now" not in str(error):
            raise
        return None
