"""How commands run: surroundings, exit status, time limit, and being stopped with everything they started."""

import signal
from pathlib import Path

import pytest
from tests.contract.backends.conformance import Subject, run_async, started
from tests.contract.backends.local.rig import files_below, lasting, local_subject, shell, wait_until
from tests.contract.backends.running import run_to_end
from tests.processes import process_with

from dovetail.backends.contract import Refusal
from dovetail.model.event import TaskFinished, TaskStarted


@pytest.fixture(params=["auto", "rlimit", "bare"])
def subject(tmp_path: Path, request: pytest.FixtureRequest, cgroup_parent: str) -> Subject:
    if request.param == "bare":
        return local_subject(tmp_path, "rlimit", isolation="none")
    return local_subject(tmp_path, request.param, cgroup_parent)


@pytest.fixture
def with_cgroups(tmp_path: Path, cgroup_parent: str) -> Subject:
    return local_subject(tmp_path, "auto", cgroup_parent)


def test_a_command_sees_a_clean_environment_and_who_it_is(
    with_cgroups: Subject, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_OF_THE_CONTROL_PLANE", "x")
    spec = shell("env; pwd", replicas=3)
    spec = spec.model_copy(update={"run": spec.run.model_copy(update={"env": {"LINES": "a\nb=c", "EMPTY": ""}})})
    finished, text = run_to_end(with_cgroups, spec, workload=12)
    assert finished.exit_code == 0
    names = {line.partition("=")[0] for line in text.splitlines() if "=" in line}
    assert "SECRET_OF_THE_CONTROL_PLANE" not in names
    assert {"PATH", "HOME", "LANG", "TMPDIR", "EMPTY"} <= names
    for line in (
        "DOVETAIL_WORKLOAD=work", "DOVETAIL_TASK=12.0", "DOVETAIL_REPLICA=0", "DOVETAIL_REPLICAS=3",
        "DOVETAIL_NODE=here", "DOVETAIL_ATTEMPT=1", "LINES=a\nb=c",
    ):  # fmt: skip
        assert f"{line}\n" in text
    assert text.endswith("/runs/12.0.1/work\n")


def test_a_command_runs_in_its_working_directory(with_cgroups: Subject, tmp_path: Path) -> None:
    spec = shell("pwd")
    spec = spec.model_copy(update={"run": spec.run.model_copy(update={"workdir": str(tmp_path)})})
    assert run_to_end(with_cgroups, spec)[1] == f"{tmp_path}\n"


def test_output_and_errors_are_captured_in_order_and_input_is_empty(with_cgroups: Subject) -> None:
    assert run_to_end(with_cgroups, shell("echo one; echo two >&2; cat; echo three"))[1] == "one\ntwo\nthree\n"


def test_a_command_does_not_inherit_ignored_or_blocked_signals(with_cgroups: Subject) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup does
    try:
        _, text = run_to_end(with_cgroups, shell("grep -E '^Sig(Blk|Ign)' /proc/self/status"))
    finally:
        signal.signal(signal.SIGHUP, before)
    standard = 2**31 - 1  # those above are the C library's own
    assert [int(line.split()[1], 16) & standard for line in text.splitlines()] == [0, 0]


@pytest.mark.parametrize(
    ("run", "exit_code", "reason"),
    [
        ({"command": ["no-such-program"]}, 127, "command 'no-such-program' cannot be run: not found"),
        ({"command": ["./gone/x"]}, 127, "command './gone/x' cannot be run: not found"),
        ({"command": ["/proc/version"]}, 126, "command '/proc/version' cannot be run: Permission denied"),
        ({"command": ["true"], "workdir": "/no/such"}, 126, "working directory '/no/such' cannot be used: No such"),
    ],
)
def test_a_command_that_cannot_be_started_says_why(
    with_cgroups: Subject, run: dict[str, object], exit_code: int, reason: str
) -> None:
    finished, _ = run_to_end(with_cgroups, shell("", run=run))
    assert finished.exit_code == exit_code
    assert finished.reason.startswith(reason)


def test_a_script_without_its_interpreter_says_so(with_cgroups: Subject, tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("#!/no/such/interpreter\n")
    script.chmod(0o755)
    finished, _ = run_to_end(with_cgroups, shell("", run={"command": [str(script)]}))
    assert finished.exit_code == 127
    assert "interpreter" in finished.reason


def test_death_by_a_signal_is_an_exit_code_above_128(subject: Subject) -> None:
    finished, _ = run_to_end(subject, shell("kill -SEGV $$"))
    assert (finished.exit_code, finished.reason) == (139, "killed by signal 11")


def test_a_task_that_runs_too_long_is_ended_and_the_reason_names_the_limit(subject: Subject) -> None:
    finished, _ = run_to_end(subject, shell("sleep 3600", deadline={"run_for": "200ms"}))
    assert finished.exit_code == 124
    assert finished.reason == "stopped: it ran longer than its time limit of 200ms"


def test_what_a_command_leaves_behind_ends_with_it(subject: Subject, tmp_path: Path) -> None:
    run_to_end(subject, shell(f"{lasting(str(tmp_path))} & true"))
    assert not process_with(str(tmp_path))


def test_a_process_that_left_the_group_and_its_parents_ends_with_the_command(subject: Subject, tmp_path: Path) -> None:
    run_to_end(
        subject, shell(f"(setsid {lasting(str(tmp_path))} < /dev/null > began 2>&1 &); until [ -e began ]; do :; done")
    )
    assert not process_with(str(tmp_path))


def test_stopping_reaches_every_process_and_lets_them_end_in_good_order(subject: Subject) -> None:
    trapping = "trap 'echo bye from $1; exit 0' TERM; echo ready; while :; do sleep 0.05; done"

    async def scene() -> None:
        async with started(subject) as rig:
            work = rig.assignment(1, shell(f'sh -c "{trapping}" sh child & {trapping}'))
            await rig.backend.bind(work)
            await rig.reports.until(TaskStarted, work.key)
            while (await rig.backend.logs(work.key, 0, 1000)).text.count("ready") < 2:
                await subject.let_time_pass()
            await rig.backend.stop(work.key, "maintenance")
            finished = await rig.reports.until(TaskFinished, work.key)
            assert (finished.exit_code, finished.reason) == (None, "stopped: maintenance")
            assert (await rig.backend.logs(work.key, 0, 1000)).text.count("bye") == 2

    run_async(scene)


def test_a_command_that_ignores_the_request_to_stop_is_killed(subject: Subject, tmp_path: Path) -> None:
    async def scene() -> None:
        async with started(subject) as rig:
            work = rig.assignment(1, shell(f"trap '' TERM; echo ready; {lasting(str(tmp_path))}"))
            await rig.backend.bind(work)
            while not (await rig.backend.logs(work.key, 0, 1000)).text:
                await subject.let_time_pass()
            wait_until(lambda: bool(process_with(str(tmp_path))), "the command runs")
            await rig.backend.stop(work.key, "enough")
            assert (await rig.reports.until(TaskFinished, work.key)).exit_code is None
            wait_until(lambda: not process_with(str(tmp_path)), "the command is gone")

    run_async(scene)


@pytest.mark.parametrize("key", ["../1.0.1", "1.0", "1.0.1/../2", "1.0.-1", "01.0.1", "1.0.1\n", "", ".doorbell"])
def test_keys_that_are_no_keys_touch_nothing(with_cgroups: Subject, tmp_path: Path, key: str) -> None:
    async def scene() -> None:
        async with started(with_cgroups) as rig:
            work = rig.work(1)
            before = files_below(tmp_path)
            with pytest.raises(Refusal, match="not the key of an attempt"):
                await rig.backend.bind(type(work)(key, work.task, work.node, work.spec))
            with pytest.raises(ValueError, match="not the key of an attempt"):
                await rig.backend.stop(key, "x")
            with pytest.raises(KeyError):
                await rig.backend.logs(key, 0, 1)
            assert files_below(tmp_path) == before

    run_async(scene)


def test_work_for_another_node_is_refused(with_cgroups: Subject) -> None:
    async def scene() -> None:
        async with started(with_cgroups) as rig:
            work = rig.work(1)
            with pytest.raises(Refusal, match="'there'"):
                await rig.backend.bind(type(work)(work.key, work.task, "there", work.spec))

    run_async(scene)
