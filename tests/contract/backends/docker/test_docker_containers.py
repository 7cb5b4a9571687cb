"""What containers see and print, how they end, and what becomes of those that others touch."""

from dataclasses import replace
from pathlib import Path

import pytest
from tests.contract.backends.conformance import LONG_S, Rig, Subject, run_async, started
from tests.contract.backends.docker.rig import NUMBERS, Hosts, docker_subject, runs_now, shell
from tests.contract.backends.running import run_to_end
from tests.servers.docker import IMAGE, DockerServer, busybox_root

from dovetail.backends import retention
from dovetail.backends.contract import Assignment, ExecutingBackend, MeasuringBackend, Refusal
from dovetail.backends.docker import host
from dovetail.model.event import NodeObserved, TaskFinished, TaskStarted
from dovetail.model.resources import CPU, MEMORY
from dovetail.model.workloads.workload import Workload

pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("docker")]


@pytest.fixture
def server(docker_servers: Hosts) -> DockerServer:
    return docker_servers[0]


@pytest.fixture
def subject(tmp_path: Path, server: DockerServer) -> Subject:
    return docker_subject(
        tmp_path, {"name": "one", "url": server.url, "gpus": [{"count": 2}]}, observe_interval_s="200ms"
    )


def exists(work: Assignment, server: DockerServer) -> bool:
    return bool(containers_of(work, server))


def container_of(work: Assignment, server: DockerServer) -> str:
    return containers_of(work, server)[0]


def containers_of(work: Assignment, server: DockerServer) -> list[str]:
    with server.client() as client:
        found = client.get(
            "/containers/json", params={"all": "true", "filters": f'{{"label": ["dovetail.key={work.key}"]}}'}
        ).json()
    return [str(container["Id"]) for container in found]


async def running(rig: Rig, spec: Workload) -> Assignment:
    work = rig.assignment(next(NUMBERS), spec)
    await rig.backend.bind(work)
    await rig.reports.until(TaskStarted, work.key)
    return work


# --- what they see ---------------------------------------------------------------------------------------------


def test_a_command_sees_its_variables_and_works_in_its_folder(subject: Subject) -> None:
    spec = shell('cd . && env && echo "in $PWD"', run={"env": {"COLOUR": "green"}, "workdir": "/tmp"}, replicas=3)
    _, output = run_to_end(subject, spec, workload=5)
    lines = output.splitlines()
    assert {"COLOUR=green", "DOVETAIL_TASK=5.0", "DOVETAIL_NODE=one", "DOVETAIL_REPLICAS=3", "in /tmp"} <= set(lines)


def test_a_named_volume_outlives_its_container(subject: Subject) -> None:
    volume = {"source": "kept-by-the-host", "target": "/kept"}
    run_to_end(subject, shell("echo precious > /kept/thing", run={"volumes": [volume]}), workload=1)
    reading = shell("cat /kept/thing; touch /kept/other", run={"volumes": [volume | {"read_only": True}]})
    finished, output = run_to_end(subject, reading, workload=2)
    assert "precious" in output
    assert finished.exit_code != 0  # nothing may be written there


def test_a_command_is_all_that_runs_and_without_one_the_image_decides(subject: Subject, server: DockerServer) -> None:
    """As on Kubernetes: the image's entry point is not put before the command."""
    changes = ['ENTRYPOINT ["/bin/echo", "the entry point"]', 'CMD ["and its command"]']
    options = {"fromSrc": "-", "repo": "team/greeter", "tag": "1", "changes": changes}
    with server.client() as client:
        client.post("/images/create", params=options, content=busybox_root()).raise_for_status()
    for number, run, wanted in (
        (1, {"command": ["/bin/echo", "the command"]}, "the command\n"),
        (2, {}, "the entry point and its command\n"),
    ):
        spec = Workload.model_validate({"name": "greeter", "run": {"image": "team/greeter:1"} | run})
        assert run_to_end(subject, spec, workload=number)[1] == wanted


def test_a_command_runs_next_to_a_container_that_runs(subject: Subject) -> None:
    async def scene() -> None:
        async with started(subject) as rig:
            spec = shell(f"sleep {LONG_S}", run={"env": {"COLOUR": "green"}, "workdir": "/tmp"})
            work = await running(rig, spec)
            assert isinstance(rig.backend, ExecutingBackend)
            said = [one async for one in rig.backend.execute(work.key, ["sh", "-c", "echo $COLOUR; pwd >&2; exit 3"])]
            assert said.pop() == 3
            written = b"".join(one for one in said if isinstance(one, bytes))
            assert sorted(written.splitlines()) == [b"/tmp", b"green"], "an engine keeps no order between two streams"
            await rig.backend.stop(work.key, "enough")
            await rig.finished(work.key)
            with pytest.raises(KeyError):
                await anext(rig.backend.execute(work.key, ["ls"]))

    run_async(scene)


def test_what_a_container_uses_is_measured(subject: Subject) -> None:
    async def scene() -> None:
        async with started(subject) as rig:
            work = await running(rig, shell("while :; do :; done"))
            assert isinstance(rig.backend, MeasuringBackend)
            while not (use := (await rig.backend.measure())[work.key].use).cpu_cores:
                await subject.let_time_pass()
            assert use.memory_bytes
            assert use.disk_written_bytes is not None
            assert use.network_sent_bytes is None, "it has no network"
            await rig.backend.stop(work.key, "enough")
            await rig.finished(work.key)
            assert work.key not in await rig.backend.measure()

    run_async(scene)


# --- how they end ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("command", "exit_code"), [("no-such-program", 127), ("/etc", 126)])
def test_a_command_that_cannot_be_run_fails_with_the_words_of_docker(
    subject: Subject, command: str, exit_code: int
) -> None:
    spec = Workload.model_validate({"name": "w", "run": {"image": IMAGE, "command": [command]}})

    async def scene() -> None:
        async with started(subject) as rig:
            work = rig.assignment(1, spec)
            await rig.backend.bind(work)
            finished = await rig.finished(work.key)
            assert finished.exit_code == exit_code
            assert command in finished.reason
            assert not rig.reports.about(TaskStarted, work.key)

    run_async(scene)


def test_gpus_that_the_host_cannot_give_are_a_refusal_with_the_words_of_docker(subject: Subject) -> None:
    async def scene() -> None:
        async with started(subject) as rig:
            work = replace(rig.assignment(1, shell("true")), devices=(1,))
            with pytest.raises(Refusal, match=r"device driver .*gpu"):
                await rig.backend.bind(work)
            after = rig.assignment(2, shell("true"))
            await rig.backend.bind(after)
            await rig.finished(after.key)  # what Docker has to say of the first, it has said by now
            assert not rig.reports.about(TaskFinished, work.key)  # said once, by the bind

    run_async(scene)


def test_a_container_that_somebody_else_removed_is_reported_as_lost(subject: Subject, server: DockerServer) -> None:
    async def scene() -> None:
        async with started(subject) as rig:
            work = await running(rig, shell(f"sleep {LONG_S}"))
            with server.client() as client:
                client.delete(f"/containers/{container_of(work, server)}", params={"force": "true"}).raise_for_status()
            finished = await rig.finished(work.key)
            assert finished.exit_code in (None, 137)  # the kill, if it was seen before the removal
            assert finished.reason

    run_async(scene)


def test_a_container_whose_end_was_told_is_removed_when_it_is_started_again(
    subject: Subject, server: DockerServer
) -> None:
    async def scene() -> None:
        async with started(subject) as rig:
            work = await running(rig, shell(f"sleep {LONG_S}"))
            await rig.backend.stop(work.key, "enough")
            await rig.finished(work.key)
        with server.client() as client:
            client.post(f"/containers/{container_of(work, server)}/start").raise_for_status()
        assert runs_now(server, work.key)
        async with started(subject) as rig:
            await rig.reports.until_true(lambda: not runs_now(server, work.key), "the end of what came back")
            assert not rig.reports.about(TaskFinished, work.key)

    run_async(scene)


def test_containers_are_found_by_their_labels_when_the_journal_is_lost(tmp_path: Path, server: DockerServer) -> None:
    host = {"name": "one", "url": server.url}
    first = docker_subject(tmp_path, host, cluster="kept-name")
    second = docker_subject(tmp_path, host, cluster="kept-name")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    other = docker_subject(elsewhere, host, cluster="kept-name")

    async def scene() -> None:
        async with started(first) as rig:
            work = await running(rig, shell(f"sleep {LONG_S}"))
        async with started(other) as rig:
            await rig.backend.reconcile([work])
            await rig.reports.until(TaskStarted, work.key)
            await rig.backend.stop(work.key, "enough")
            assert (await rig.finished(work.key)).exit_code is None
        async with started(second) as rig:  # the first journal still had it as running
            await rig.finished(work.key)

    run_async(scene)


def test_ended_containers_are_removed_in_time_and_never_run_again(
    tmp_path: Path, server: DockerServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host, "TIDY_INTERVAL_S", 0.1)
    monkeypatch.setattr(retention, "SETTLE_S", 0.0)
    subject = docker_subject(tmp_path, {"name": "one", "url": server.url}, keep_for_s="1s")

    async def scene() -> None:
        async with started(subject) as rig:
            work = rig.work(next(NUMBERS), 0.0, 3)
            await rig.backend.bind(work)
            await rig.finished(work.key)
            await rig.reports.until_true(lambda: not exists(work, server), "the end of its container")
            with pytest.raises(KeyError, match="removed"):
                await rig.backend.logs(work.key, 0, 10)
            await rig.backend.bind(work)
            assert (await rig.finished(work.key)).exit_code == 3
            rig.assert_run_once(work.key)

    run_async(scene)


# --- what they print and use -----------------------------------------------------------------------------------


def test_both_streams_are_one_output_whose_offsets_outlive_a_restart(subject: Subject) -> None:
    spec = shell(f"echo one; echo two >&2; echo three; sleep {LONG_S}")

    async def scene() -> None:
        async with started(subject) as rig:
            work = await running(rig, spec)
            offset, text = await _read(rig, work.key, 0, lines=3)  # in the order in which they arrived
            assert sorted(text.split()) == ["one", "three", "two"]
        async with started(subject) as rig:
            again = await rig.backend.logs(work.key, 0, 1000)
            assert (again.text, again.next_offset) == (text, offset)
            rest = await rig.backend.logs(work.key, offset, 1000)
            assert (rest.text, rest.next_offset, rest.ended) == ("", offset, False)
            part = await rig.backend.logs(work.key, 4, 3)
            assert part.text == text[4:7]
            await rig.backend.stop(work.key, "enough")
            await rig.finished(work.key)
            assert (await rig.backend.logs(work.key, offset, 1000)).ended

    run_async(scene)


def test_a_follower_gets_what_is_printed_as_it_comes(subject: Subject) -> None:
    spec = shell("for i in 1 2 3 4 5; do echo line $i; sleep 0.3; done")

    async def scene() -> None:
        async with started(subject) as rig:
            work = await running(rig, spec)
            offset, text, ended, pieces = 0, "", False, 0
            while not ended:
                chunk = await rig.backend.logs(work.key, offset, 1000)
                offset, text, ended = chunk.next_offset, text + chunk.text, chunk.ended
                pieces += bool(chunk.text)
            assert text == "".join(f"line {i}\n" for i in range(1, 6))
            assert pieces > 1

    run_async(scene)


def test_long_output_is_read_in_order_and_completely(subject: Subject) -> None:
    lines = 20_000
    script = f'i=0; while [ $i -lt {lines} ]; do echo "line $i of many, to fill a few blocks"; i=$((i+1)); done'

    async def scene() -> None:
        async with started(subject) as rig:
            work = await running(rig, shell(script))
            await rig.finished(work.key)
            offset, text, ended = 0, "", False
            while not ended:
                chunk = await rig.backend.logs(work.key, offset, 65536)
                offset, text, ended = chunk.next_offset, text + chunk.text, chunk.ended
            assert text == "".join(f"line {i} of many, to fill a few blocks\n" for i in range(lines))
            assert offset == len(text)

    run_async(scene)


def test_what_containers_use_is_observed(subject: Subject) -> None:
    async def scene() -> None:
        async with started(subject) as rig:
            busy = await running(rig, shell("while true; do :; done", limits={"cpu": "500m"}))

            def used_enough() -> bool:
                seen = [event.used for event in rig.reports.of(NodeObserved)]
                return any(used[CPU] > 100 and used[MEMORY] > 0 for used in seen)

            await rig.reports.until_true(used_enough, "the use of a busy container")
            await rig.backend.stop(busy.key, "enough")
            await rig.finished(busy.key)

    run_async(scene)


async def _read(rig: Rig, key: str, offset: int, lines: int) -> tuple[int, str]:
    text = ""
    while text.count("\n") < lines:
        chunk = await rig.backend.logs(key, offset, 1000)
        offset, text = chunk.next_offset, text + chunk.text
    return offset, text
