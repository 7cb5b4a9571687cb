"""Several hosts are nodes of one backend: each comes and goes by itself."""

from dataclasses import replace
from pathlib import Path

import pytest
from tests.contract.backends.conformance import LONG_S, run_async, started
from tests.contract.backends.docker.rig import NUMBERS, Hosts, docker_subject, runs_now, said_offline, shell, tls_of
from tests.servers.docker import IMAGE, docker_server

from dovetail.backends.contract import Refusal
from dovetail.backends.docker.engine_api import EngineApi
from dovetail.model.event import NodeHealthChanged, TaskFinished, TaskStarted
from dovetail.testing.lossy_proxy import LossyProxy

pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("docker")]


def test_work_goes_to_the_host_it_is_bound_to(tmp_path: Path, docker_servers: Hosts) -> None:
    first, second = docker_servers
    subject = docker_subject(
        tmp_path,
        {"name": "one", "url": first.url, "labels": {"site": "here"}},
        {"name": "two", "url": second.tcp_url, "tls": tls_of(second), "capacity": {"cpu": 1, "slots": 7}},
    )

    async def scene() -> None:
        async with started(subject) as rig:
            nodes = {node.name: node for node in rig.reports.nodes}
            assert nodes["one"].labels["site"] == "here"
            assert (nodes["two"].capacity.cpu, nodes["two"].capacity.slots) == (1.0, 7)
            assert all(f"image/{IMAGE}" in node.labels for node in nodes.values())
            work = replace(rig.assignment(next(NUMBERS), shell(f"sleep {LONG_S}")), node="two")
            await rig.backend.bind(work)
            await rig.reports.until(TaskStarted, work.key)
            assert runs_now(second, work.key)
            assert not runs_now(first, work.key)
            with pytest.raises(Refusal, match="bound to two"):
                await rig.backend.bind(replace(work, node="one"))
            await rig.backend.stop(work.key, "enough")
            await rig.finished(work.key)

    run_async(scene)


def test_a_host_that_does_not_answer_is_offline_and_the_others_go_on(tmp_path: Path, docker_servers: Hosts) -> None:
    first, second = docker_servers
    with LossyProxy(str(second.socket)) as proxy:
        subject = docker_subject(
            tmp_path, {"name": "one", "url": first.url}, {"name": "two", "url": f"unix://{proxy.address}"}
        )

        async def scene() -> None:
            async with started(subject) as rig:
                work = replace(rig.assignment(1, shell("sleep 1; exit 4")), node="two")
                await rig.backend.bind(work)
                async with proxy.break_calls():
                    await rig.reports.until_true(lambda: said_offline(rig, "two"), "the news that host two is offline")
                    assert not said_offline(rig, "one")
                    late = replace(rig.assignment(2, shell("true")), node="two")
                    with pytest.raises(Refusal, match="offline"):
                        await rig.backend.bind(late)
                    other = replace(rig.assignment(3, shell("exit 5")), node="one")
                    await rig.backend.bind(other)
                    assert (await rig.finished(other.key)).exit_code == 5
                    assert [node.name for node in await rig.backend.nodes()] == ["one"]
                assert (await rig.finished(work.key)).exit_code == 4
                await rig.reports.until_true(lambda: not said_offline(rig, "two"), "the return of host two")

        run_async(scene)


def test_a_host_that_is_away_at_the_start_joins_when_it_answers(tmp_path: Path, docker_servers: Hosts) -> None:
    with LossyProxy(str(docker_servers[1].socket)) as proxy:
        subject = docker_subject(
            tmp_path, {"name": "one", "url": docker_servers[0].url}, {"name": "two", "url": f"unix://{proxy.address}"}
        )

        async def scene() -> None:
            with proxy.broken():
                async with started(subject) as rig:
                    assert [node.name for node in rig.reports.nodes] == ["one"]
                    assert said_offline(rig, "two")
            async with started(subject) as rig:
                assert {node.name for node in rig.reports.nodes} == {"one", "two"}

        run_async(scene)


def test_one_engine_under_two_names_is_one_node(tmp_path: Path, docker_servers: Hosts) -> None:
    server = docker_servers[1]
    subject = docker_subject(
        tmp_path, {"name": "one", "url": server.url}, {"name": "same", "url": server.tcp_url, "tls": tls_of(server)}
    )

    async def scene() -> None:
        async with started(subject) as rig:
            assert len(rig.reports.nodes) == 1
            (event,) = rig.reports.of(NodeHealthChanged)
            assert "the same engine" in event.reason

    run_async(scene)


def test_a_client_without_a_certificate_is_told_so(tmp_path: Path, docker_servers: Hosts) -> None:
    server = docker_servers[1]
    subject = docker_subject(tmp_path, {"name": "two", "url": server.tcp_url, "tls": {"ca": str(server.authority)}})

    async def scene() -> None:
        async with started(subject) as rig:
            (event,) = rig.reports.of(NodeHealthChanged)
            assert server.tcp_url in event.reason
            assert not rig.reports.nodes

    run_async(scene)


def test_images_that_come_and_go_change_what_the_node_says(tmp_path: Path, docker_servers: Hosts) -> None:
    server = docker_servers[0]
    subject = docker_subject(tmp_path, {"name": "one", "url": server.url})

    async def scene() -> None:
        async with started(subject) as rig:
            with server.client() as client:
                client.post(f"/images/{IMAGE}/tag", params={"repo": "team/tool", "tag": "2"}).raise_for_status()
                await rig.reports.until_true(
                    lambda: "image/team/tool:2" in rig.reports.nodes[0].labels, "the new image"
                )
                client.delete("/images/team/tool:2").raise_for_status()
                await rig.reports.until_true(lambda: "image/team/tool:2" not in rig.reports.nodes[0].labels, "its end")

    run_async(scene)


def test_a_host_that_falls_silent_in_the_middle_of_a_long_call_is_found_out(
    tmp_path: Path, docker_servers: Hosts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(EngineApi._call.__kwdefaults__ or {}, "timeout_s", 600.0)
    with LossyProxy(str(docker_servers[0].socket)) as proxy:
        host = {"name": "one", "url": f"unix://{proxy.address}"}
        subject = docker_subject(tmp_path, host, look_interval_s="100ms", answer_within_s="2s")

        async def scene() -> None:
            async with started(subject) as rig, proxy.hold_reply("/containers/json"):
                held = lambda: any(not wire.held.is_set() for wire in proxy._wires)  # noqa: E731
                await rig.reports.until_true(held, "a list that takes long")
                async with proxy.hold_reply("/_ping"):
                    await rig.reports.until_true(lambda: said_offline(rig, "one"), "the news that it is offline")

        run_async(scene)


@pytest.mark.parametrize("live_restore", [True, False])
def test_an_engine_that_is_killed_and_comes_back_is_taken_up_again(tmp_path: Path, live_restore: bool) -> None:
    with docker_server(live_restore=live_restore) as server:
        subject = docker_subject(tmp_path, {"name": "one", "url": server.url})

        async def scene() -> None:
            async with started(subject) as rig:
                work = rig.work(1, LONG_S)
                await rig.backend.bind(work)
                await rig.reports.until(TaskStarted, work.key)
                server.restart()
                if live_restore:
                    assert runs_now(server, work.key)
                    await rig.backend.stop(work.key, "enough")
                    assert (await rig.finished(work.key)).exit_code is None
                else:  # the engine ends what it finds running, and that is what is told
                    assert (await rig.finished(work.key)).exit_code == 137
                after = rig.work(2, 0.0, 6)
                await rig.until_bound(after)
                assert (await rig.finished(after.key)).exit_code == 6
                rig.assert_run_once(work.key)
                assert len(rig.reports.about(TaskFinished, work.key)) == 1

        run_async(scene)
