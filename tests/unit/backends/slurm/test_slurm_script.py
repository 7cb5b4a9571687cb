"""The job's script, run by a real shell as Slurm's daemon would: it starts a command once, and ends it when told."""

import os
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples

from dovetail.backends.batch.description import Description
from dovetail.backends.batch.ends import NOT_TO_START_EXIT, How, Result
from dovetail.backends.batch.record import JobId
from dovetail.backends.batch.run_folder import JobRunFolder
from dovetail.backends.batch.script import quoted
from dovetail.backends.contract import Assignment, Refusal
from dovetail.backends.slurm.driver import JobSubmission
from dovetail.backends.slurm.request import element_of, job_of, refuse_what_cannot_run
from dovetail.backends.slurm.settings import SlurmSettings
from dovetail.model.node import Node
from dovetail.model.task import TaskId
from dovetail.model.workloads.workload import Workload

PATIENCE_S = 60.0
TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20)


def submission(folder: Path, command: list[str], /, **fields: Any) -> JobSubmission:
    spec = Workload.model_validate({"name": "w", "run": {"command": command, **fields.pop("run", {})}, **fields})
    (folder / "1.0.1").mkdir(exist_ok=True)
    quick = SlurmSettings.model_validate({"notice_s": 0.1, "grace_s": 0.2, "env": {"PATH": os.environ["PATH"]}})
    there = Description(Node(name="n1"), "n1", queue="all")
    return job_of(Assignment("1.0.1", TaskId(1, 0), "n1", spec), there, quick, folder / "1.0.1", "name")


def start(job: JobSubmission, **variables: str) -> subprocess.Popen[str]:
    surroundings = {**job.environment, "SLURM_JOB_ID": "77", "SLURMD_NODENAME": "n1", **variables}
    return subprocess.Popen(
        ["bash", "-c", job.script], env=surroundings, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )


def run(job: JobSubmission, **variables: str) -> tuple[int, str]:
    """Its exit status, and what it printed."""
    process = start(job, **variables)
    printed, _ = process.communicate(timeout=PATIENCE_S)
    return process.returncode, printed


@given(words=st.lists(TEXT, min_size=1, max_size=5))
@examples(40)
def test_every_word_reaches_the_command_as_it_was_written(words: list[str]) -> None:
    line = f"printf '%s\\0' {' '.join(map(quoted, words))}"
    assert "\n" not in line
    assert "\r" not in line
    printed = subprocess.run(["bash", "-c", line], capture_output=True, env={"LC_ALL": "C.UTF-8"}, check=True).stdout
    assert printed.decode().split("\0")[:-1] == words


def test_a_command_runs_once_and_its_end_is_written_down(tmp_path: Path) -> None:
    job = submission(tmp_path, ["/bin/sh", "-c", "echo $DOVETAIL_TASK; exit 3"])
    assert run(job) == (3, "1.0\n")
    assert run(job) == (NOT_TO_START_EXIT, "")
    look = JobRunFolder(tmp_path, "1.0.1").look()
    assert look.result == Result(3, How.ENDED)
    assert look.claim is not None
    assert (look.claim.job, look.claim.restarts, look.claim.node) == (JobId(77), 0, "n1")


def test_elements_of_an_array_differ_in_their_number_alone(tmp_path: Path) -> None:
    command = ["/bin/sh", "-c", "echo $DOVETAIL_TASK $DOVETAIL_REPLICA of $DOVETAIL_REPLICAS; exit $DOVETAIL_REPLICA"]
    spec = Workload.model_validate({"name": "w", "replicas": 9, "run": {"command": command}})
    settings = SlurmSettings.model_validate({"env": {"PATH": os.environ["PATH"]}})
    there = Description(Node(name="n1"), "n1", queue="all")
    folder = tmp_path / "100% odd"
    made = []
    for replica in (3, 8):
        key = f"1.{replica}.2"
        (folder / key).mkdir(parents=True)
        work = Assignment(key, TaskId(1, replica), "n1", spec)
        alone = job_of(work, there, settings, folder / key, "alone")
        made.append(element_of(work, alone, settings, folder / key, "together"))
    assert made[0] == made[1]
    assert made[0].output == f"{tmp_path}/100%% odd/1.%a.2/output.log"
    for replica in (3, 8):
        variables = {"SLURM_ARRAY_JOB_ID": "70", "SLURM_ARRAY_TASK_ID": str(replica)}
        assert run(made[0], **variables) == (replica, f"1.{replica} {replica} of 9\n")
        look = JobRunFolder(folder, f"1.{replica}.2").look()
        assert look.result == Result(replica, How.ENDED)
        assert look.claim is not None
        assert look.claim.job == JobId(70, replica)


@pytest.mark.parametrize(("array", "indices"), [("10-30:10", (10, 20, 30)), ("5,3,9", (5, 3, 9))])
def test_each_element_finds_its_index(array: str, indices: tuple[int, ...], tmp_path: Path) -> None:
    spec = Workload.model_validate(
        {"name": "w", "array": array, "run": {"command": ["printenv", "DOVETAIL_ARRAY_INDEX"]}}
    )
    settings = SlurmSettings.model_validate({"env": {"PATH": os.environ["PATH"]}})
    there = Description(Node(name="n1"), "n1", queue="all")
    for replica, index in enumerate(indices):
        folder = tmp_path / f"1.{replica}.1"
        folder.mkdir()
        work = Assignment(folder.name, TaskId(1, replica), "n1", spec)
        element = element_of(work, job_of(work, there, settings, folder, "alone"), settings, folder, "together")
        assert run(element, SLURM_ARRAY_JOB_ID="70", SLURM_ARRAY_TASK_ID=str(replica)) == (0, f"{index}\n")


def test_a_command_runs_where_it_was_submitted_if_the_node_has_that(tmp_path: Path) -> None:
    there, missing = tmp_path / "it's here", tmp_path / "not here"
    for folder in (there, tmp_path / "a", tmp_path / "b"):
        folder.mkdir()
    assert run(submission(tmp_path / "a", ["pwd"], run={"submit_dir": str(there)})) == (0, f"{there}\n")
    code, printed = run(submission(tmp_path / "b", ["pwd"], run={"submit_dir": str(missing)}))
    own = f"{tmp_path}/b/1.0.1/work"
    words = f"dovetail: {missing}, where it was submitted, is not on this node; it runs in {own}"
    assert (code, printed) == (0, f"{words}\n{own}\n")


def test_variables_of_the_command_do_not_get_in_the_way_of_the_script(tmp_path: Path) -> None:
    odd = {"run": "/nowhere", "term": "1", "child": "1", "PATH": "/nowhere", "why": "1"}
    job = submission(tmp_path, ["/bin/sh", "-c", "echo $run $PATH"], run={"env": odd})
    assert run(job) == (0, "/nowhere /nowhere\n")
    assert JobRunFolder(tmp_path, "1.0.1").look().result == Result(0, How.ENDED)


def test_nothing_is_printed_but_what_the_command_prints(tmp_path: Path) -> None:
    """Not even by bash, which likes to say that a job is done or was killed."""
    for number in range(5):
        (tmp_path / str(number)).mkdir()
        script = "echo out; echo err >&2; kill -KILL $$"
        assert run(submission(tmp_path / str(number), ["/bin/sh", "-c", script])) == (137, "out\nerr\n")


def test_what_is_to_stop_never_starts(tmp_path: Path) -> None:
    job = submission(tmp_path, ["echo", "started"])
    JobRunFolder(tmp_path, "1.0.1").stop("never mind")
    assert run(job) == (NOT_TO_START_EXIT, "")
    assert JobRunFolder(tmp_path, "1.0.1").look(certain=True).claim is None


def test_a_command_is_ended_when_its_folder_says_so_even_if_it_does_not_want_to(tmp_path: Path) -> None:
    stubborn = "trap '' TERM; echo ready; while :; do sleep 0.1; done"
    process = start(submission(tmp_path, ["/bin/sh", "-c", stubborn]))
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    JobRunFolder(tmp_path, "1.0.1").stop("enough")
    assert process.wait(PATIENCE_S) == 143
    process.stdout.close()
    assert JobRunFolder(tmp_path, "1.0.1").look().result == Result(143, How.STOPPED)


def test_a_command_is_ended_when_its_time_is_up(tmp_path: Path) -> None:
    job = submission(tmp_path, ["sleep", "1000"], deadline={"run_for": "1s"})
    assert job.time_limit_minutes == 1
    assert run(job) == (124, "")
    assert JobRunFolder(tmp_path, "1.0.1").look().result == Result(124, How.TIMEOUT)


def test_a_command_that_ends_in_good_order_when_slurm_signals_it_keeps_its_exit_code(tmp_path: Path) -> None:
    for number in range(10):
        folder = tmp_path / str(number)
        folder.mkdir()
        process = start(submission(folder, ["/bin/sh", "-c", "trap 'exit 9' TERM; echo ready; sleep 1000 & wait"]))
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        _signal_as_slurm_does(process)
        assert process.wait(PATIENCE_S) == 9
        process.stdout.close()
        assert JobRunFolder(folder, "1.0.1").look().result == Result(9, How.ENDED)


def test_a_command_that_ignores_a_signal_of_slurms_is_still_ended_when_its_folder_says_so(tmp_path: Path) -> None:
    stubborn = "trap 'echo no' TERM; echo ready; while :; do sleep 0.1; done"
    process = start(submission(tmp_path, ["/bin/sh", "-c", stubborn]))
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    _signal_as_slurm_does(process)
    assert process.stdout.readline() == "no\n"
    JobRunFolder(tmp_path, "1.0.1").stop("enough")
    assert process.wait(PATIENCE_S) == 143
    process.stdout.close()
    assert JobRunFolder(tmp_path, "1.0.1").look().result == Result(143, How.STOPPED)


def _signal_as_slurm_does(process: subprocess.Popen[str]) -> None:
    """Every process of the job, the script among them; once it waits, and so does its guard."""
    until = time.monotonic() + PATIENCE_S
    while sum(map(_ignores_it, _family(process.pid))) < 2:
        assert time.monotonic() < until, "the script and its guard never came to waiting"
        time.sleep(0.01)
    for pid in _family(process.pid):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)


def _family(pid: int) -> list[int]:
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [pid, *map(int, children)]


def _ignores_it(pid: int) -> bool:
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("SigIgn:"):
                return bool(int(line.split()[1], 16) >> (signal.SIGTERM - 1) & 1)
    return False


def test_a_folder_that_is_not_there_is_said(tmp_path: Path) -> None:
    job = submission(tmp_path, ["echo", "started"])
    (tmp_path / "1.0.1").rmdir()
    assert run(job) == (126, "")


def test_amounts_are_rounded_up_and_memory_is_always_asked_for(tmp_path: Path) -> None:
    job = submission(tmp_path, ["true"], resources={"cpu": 1.5}, deadline={"run_for": "61s"})
    assert (job.cpus, job.memory_mib, job.time_limit_minutes) == (2, 100, 2)
    job = submission(tmp_path, ["true"], resources={"memory": "1GiB"}, labels={"slurm/account": "physics"})
    assert (job.cpus, job.memory_mib, job.time_limit_minutes, job.account) == (1, 1024, None, "physics")
    assert job.dependency is None
    assert submission(tmp_path, ["true"], labels={"slurm/dependency": "afterok:12"}).dependency == "afterok:12"


def test_what_slurm_cannot_run_is_refused() -> None:
    for fields, words in (
        ({"run": {"command": ["true"], "image": "x"}}, "without images"),
        ({"kind": "vm", "run": {"command": ["true"]}}, "kind job only"),
        ({}, "no command"),
        ({"run": {"command": ["true"]}, "resources": {"gpu": 0.5}}, "whole ones"),
    ):
        with pytest.raises(Refusal, match=words):
            refuse_what_cannot_run(Workload.model_validate({"name": "w", **fields}))


def test_a_command_that_ends_just_when_the_guard_looks_round_is_seen_to_have_ended(tmp_path: Path) -> None:
    """The guard looks every 0.1 s; commands of about that length, a few at a time."""
    for batch in range(12):
        processes = []
        for number in range(8):
            folder = tmp_path / f"{batch}.{number}"
            folder.mkdir()
            processes.append(start(submission(folder, ["sleep", f"{0.094 + 0.001 * number}"])))
        for process in processes:
            process.communicate(timeout=PATIENCE_S)
            assert process.returncode == 0
