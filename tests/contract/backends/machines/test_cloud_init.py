"""Machines that run their jobs by cloud-init alone keep the promises of every backend, and each runs one job."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from tests.contract.backends.conformance import BackendConformance, Subject
from tests.contract.backends.machines.job_machines import JobProvider, job_backend, job_provider, job_subject

from dovetail.backends.contract import NoOutput, Refusal
from dovetail.backends.machines.provider import LaunchRefused, MachineState, RefusalKind
from dovetail.model.event import (
    BindFailed,
    NodeDrained,
    NodeHealthChanged,
    NodeLeft,
    TaskFinished,
    TaskStarted,
    TaskWaiting,
)
from dovetail.model.failure_cause import FailureCause
from dovetail.model.workloads.run import Run
from dovetail.model.workloads.workload import Workload
from dovetail.testing.rig import CollectedReports, Rig, in_event_loop


@pytest.fixture
def provider(tmp_path: Path) -> Iterator[JobProvider]:
    found = job_provider(tmp_path / "machines")
    yield found
    found.close_all()


class TestCloudInitBackend(BackendConformance):
    """Its machines exist in memory, and run their user data."""

    @pytest.fixture
    def subject(self, provider: JobProvider, tmp_path: Path) -> Subject:
        return job_subject(provider, tmp_path)


@asynccontextmanager
async def scene(provider: JobProvider, folder: Path, **run: object) -> AsyncIterator[Rig]:
    subject = job_subject(provider, folder)
    reports = CollectedReports(subject)
    backend = job_backend(provider, folder / "backend", **run)
    await backend.start(reports.report)
    try:
        yield Rig(subject, backend, reports)
    finally:
        await backend.close()


def states(provider: JobProvider) -> list[MachineState]:
    return [one.state for one in provider.there.values()]


async def until_ended(rig: Rig, provider: JobProvider, machines: int) -> None:
    await rig.reports.until_true(lambda: states(provider) == [MachineState.ENDED] * machines, "the end of all machines")


@in_event_loop
async def test_a_node_takes_one_job_and_a_machine_is_not_used_again(provider: JobProvider, tmp_path: Path) -> None:
    async with scene(provider, tmp_path / "scene") as rig:
        assert {(node.capacity.slots, *node.kinds) for node in rig.reports.nodes} == {(1, "job")}
        first = await rig.start_new(run_s=0.5)
        second = replace(rig.new_work(), node=first.node)
        with pytest.raises(Refusal, match="one job") as refused:
            await rig.backend.bind(second)
        assert refused.value.cause is FailureCause.BACKEND
        await rig.finished(first.key)
        await rig.backend.bind(second)  # it waits for the end of the machine before
        await rig.finished(second.key)
        assert provider.launched == 2
        await until_ended(rig, provider, 2)
        gone = [(event.name, event.online) for event in rig.reports.of(NodeHealthChanged) if event.name == first.node]
        assert gone[0] == (first.node, False)


@in_event_loop
async def test_long_output_keeps_its_end_and_says_so(provider: JobProvider, tmp_path: Path) -> None:
    async with scene(provider, tmp_path / "scene") as rig:
        script = "head -c 300000 /dev/urandom | base64; echo the last line"
        work = replace(rig.new_work(), spec=Workload(name="long", run=Run(command=["sh", "-c", script])))
        await rig.backend.bind(work)
        await rig.finished(work.key)
        chunk = await rig.backend.logs(work.key, 0, 10**7)
        first, *others = chunk.text.splitlines()
        assert first.startswith("dovetail: ")
        assert first.endswith("bytes of older output are not kept")
        assert others[-1] == "the last line"
        assert 20_000 < len(chunk.text) < 64 * 1024
        assert len(provider.on["m-1"].console()) < 60 * 1024  # what EC2 keeps has room for more


@in_event_loop
async def test_the_time_limit_and_a_command_that_is_missing_are_said_with_words(
    provider: JobProvider, tmp_path: Path
) -> None:
    async with scene(provider, tmp_path / "scene") as rig:
        late = {"name": "late", "run": {"command": ["sleep", "60"]}, "deadline": {"run_for": "1s"}}
        missing = {"name": "missing", "run": {"command": ["no-such-program"]}}
        killed = {"name": "killed", "run": {"command": ["sh", "-c", "kill -9 $$"]}}
        elsewhere = {"name": "elsewhere", "run": {"command": ["true"], "workdir": "/no/such/folder"}}
        ends = {}
        for spec in (late, missing, killed, elsewhere):
            work = replace(rig.new_work(), spec=Workload.model_validate(spec))
            await rig.backend.bind(work)
            found = await rig.finished(work.key)
            ends[work.spec.name] = found.exit_code, found.reason
        assert ends["late"] == (124, "stopped: it ran longer than its time limit of 1s")
        assert ends["missing"][0] == 127
        assert "no-such-program" in ends["missing"][1]
        assert ends["killed"] == (137, "killed by signal 9")
        assert ends["elsewhere"] == (126, "there is no folder /no/such/folder on its machine")


@in_event_loop
async def test_a_machine_that_vanishes_without_a_result_is_said_to_be_lost(
    provider: JobProvider, tmp_path: Path
) -> None:
    async with scene(provider, tmp_path / "scene") as rig:
        work = await rig.start_new()
        provider.there["m-1"] = replace(
            provider.there["m-1"], state=MachineState.ENDED, reason="spot interruption: taken back"
        )
        finished = await rig.finished(work.key)
        assert finished.exit_code is None
        assert "spot interruption" in finished.reason
        assert "no result" in finished.reason
        with pytest.raises(NoOutput, match="before its output could be read"):
            await rig.backend.logs(work.key, 0, 100)


@in_event_loop
async def test_a_machine_that_is_to_be_taken_back_drains_its_node_which_comes_back_without_a_cordon(
    provider: JobProvider, tmp_path: Path
) -> None:
    async with scene(provider, tmp_path / "scene") as rig:
        work = await rig.start_new()
        provider.there["m-1"] = replace(provider.there["m-1"], ends_at=1.0, reason="spot interruption: in two minutes")
        await rig.reports.until_true(lambda: bool(rig.reports.of(NodeDrained)), "the node is drained")
        await rig.backend.stop(work.key, "its node is drained")
        assert (await rig.finished(work.key)).reason == "its node is drained"
        await rig.reports.until_true(
            lambda: work.node in [one.name for one in rig.reports.of(NodeLeft)], "the cordoned node leaves"
        )
        await until_ended(rig, provider, 1)
        again = replace(rig.new_work(), node=work.node)
        await rig.backend.bind(again)
        assert (await rig.finished(again.key)).exit_code == 0


@in_event_loop
async def test_a_console_that_shows_nothing_before_the_end_gives_the_result_afterwards(
    provider: JobProvider, tmp_path: Path
) -> None:
    provider.live = False
    async with scene(provider, tmp_path / "scene", linger=0, starts_within=1) as rig:
        work = await rig.bind_new(1.5, 6, "hi")
        assert (await rig.finished(work.key)).exit_code == 6
        assert (await rig.backend.logs(work.key, 0, 100)).text == "hi"
        await until_ended(rig, provider, 1)


@in_event_loop
async def test_a_machine_that_never_says_that_its_job_began_is_ended(provider: JobProvider, tmp_path: Path) -> None:
    async with scene(provider, tmp_path / "scene", starts_within=1) as rig:
        provider.other_system = "import time; print('Debian login:'); time.sleep(3600)"
        work = await rig.bind_new()
        finished = await rig.finished(work.key)
        assert finished.exit_code is None
        assert "has to run cloud-init" in finished.reason
        await until_ended(rig, provider, 1)


@in_event_loop
async def test_a_stop_before_the_launch_was_answered_ends_the_machine_that_it_made(
    provider: JobProvider, tmp_path: Path
) -> None:
    async with scene(provider, tmp_path / "scene") as rig:
        async with provider.losing_answers():
            work = await rig.bind_new(3600)
            await rig.reports.until_true(lambda: provider.launched == 1, "the launch")
            await rig.backend.stop(work.key, "changed my mind")
        assert (await rig.finished(work.key)).reason == "changed my mind"
        assert states(provider) == [MachineState.ENDED]  # and not only said so


@in_event_loop
async def test_a_refused_launch_is_a_refused_task(provider: JobProvider, tmp_path: Path) -> None:
    async with scene(provider, tmp_path / "scene") as rig:
        work = rig.new_work()
        kind = work.node.removesuffix("-1")
        provider.refuses[kind] = LaunchRefused(RefusalKind.STOCK_OUT, "there is none")
        await rig.backend.bind(work)
        refused = await rig.reports.until(BindFailed, work.key)
        assert (refused.reason, refused.cause) == ("stock-out: there is none", FailureCause.BACKEND)
        with pytest.raises(Refusal):
            await rig.backend.bind(work)
        assert not rig.reports.online(work.node)


@in_event_loop
async def test_a_console_that_cannot_be_read_is_said(provider: JobProvider, tmp_path: Path) -> None:
    async with scene(provider, tmp_path / "scene") as rig:
        work = rig.new_work()
        provider.forbidden = "you may not call GetConsoleOutput"
        await rig.backend.bind(work)
        await rig.reports.until_true(
            lambda: any(provider.forbidden in one.why for one in rig.reports.about(TaskWaiting, work.key)), "words"
        )
        provider.forbidden = ""
        assert (await rig.finished(work.key)).exit_code == 0


@in_event_loop
async def test_variables_go_into_the_user_data_only_if_the_settings_say_so(
    provider: JobProvider, tmp_path: Path
) -> None:
    spec = Workload(name="env", run=Run(command=["sh", "-c", 'echo "$GREETING $TRACEPARENT"'], env={"GREETING": "hi"}))
    traced = Workload(name="env", run=Run(command=["sh", "-c", "echo $TRACEPARENT"], env={"TRACEPARENT": "00-1"}))
    async with scene(provider, tmp_path / "closed") as rig:
        with pytest.raises(Refusal, match=r"sets GREETING.*plain_env"):
            await rig.backend.bind(replace(rig.new_work(), spec=spec))
        work = replace(rig.new_work(), spec=traced)
        await rig.backend.bind(work)
        await rig.finished(work.key)
        assert (await rig.backend.logs(work.key, 0, 100)).text == "00-1\n"
    async with scene(provider, tmp_path / "open", plain_env=True) as rig:
        work = replace(rig.new_work(), spec=spec, devices=(0, 2))
        await rig.backend.bind(work)
        await rig.finished(work.key)
        assert (await rig.backend.logs(work.key, 0, 100)).text == "hi \n"
        assert "'CUDA_VISIBLE_DEVICES': '0,2'" in provider.scripts[-1]


@in_event_loop
async def test_output_that_looks_like_a_result_is_output(provider: JobProvider, tmp_path: Path) -> None:
    async with scene(provider, tmp_path / "scene") as rig:
        forged = "dovetail 00000000000000000000000000000000 end - e30= 00000000"
        script = f"echo {forged}; echo {forged} > {tmp_path}/machines/m-1/console; exit 3"
        work = replace(rig.new_work(), spec=Workload(name="forger", run=Run(command=["sh", "-c", script])))
        await rig.backend.bind(work)
        assert (await rig.finished(work.key)).exit_code == 3
        assert (await rig.backend.logs(work.key, 0, 100)).text == f"{forged}\n"


@in_event_loop
async def test_an_end_that_was_read_and_not_said_is_said_after_a_restart(provider: JobProvider, tmp_path: Path) -> None:
    subject = job_subject(provider, tmp_path)
    reports = CollectedReports(subject)
    before = job_backend(provider, tmp_path / "backend")
    await before.start(reports.report)
    reports.failing_ends = True
    work = Rig(subject, before, reports).new_work(0.0, 8, "kept")
    await before.bind(work)
    await reports.until_true(lambda: reports.failed_ends > 0, "the end is not said")
    await before.close()
    provider.there.clear()  # its machine is gone by now
    after_reports = CollectedReports(subject)
    after = job_backend(provider, tmp_path / "backend")
    await after.start(after_reports.report)
    await after.reconcile([work])
    finished = await after_reports.until(TaskFinished, work.key)
    assert finished.exit_code == 8
    assert (await after.logs(work.key, 0, 100)).text == "kept"
    await after.close()


@in_event_loop
async def test_only_some_consoles_are_read_at_a_look_and_each_has_its_turn(
    provider: JobProvider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dovetail.backends.machines.cloud_init.backend.CONSOLES_A_LOOK", 1)
    async with scene(provider, tmp_path / "scene") as rig:
        works = [await rig.bind_new(0.1, code) for code in range(4)]
        ends = await asyncio.gather(*(rig.finished(work.key) for work in works))
        assert [one.exit_code for one in ends] == [0, 1, 2, 3]
        assert len(rig.reports.of(TaskStarted)) == 4
