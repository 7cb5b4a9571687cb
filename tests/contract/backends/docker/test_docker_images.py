"""Images are fetched as the settings say, with a login, once however many wait; what goes wrong is told in words."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.contract.backends.conformance import Subject, run_async, started
from tests.contract.backends.docker.registry import PASSWORD, USERNAME, Registry, image_registry
from tests.contract.backends.docker.rig import Hosts, docker_subject
from tests.servers.docker import DockerServer

from dovetail.backends.contract import Phase, Refusal
from dovetail.model.workloads.workload import Workload

pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("docker")]


@pytest.fixture
def server(docker_servers: Hosts) -> DockerServer:
    return docker_servers[0]


@pytest.fixture
def registry(server: DockerServer) -> Iterator[Registry]:
    with image_registry() as registry:
        yield registry
    with server.client() as client:
        client.delete(f"/images/{registry.image}", params={"force": "true"})


def subject_of(folder: Path, server: DockerServer, registry: Registry, **fields: Any) -> Subject:
    login = {registry.address: {"username": USERNAME, "password": PASSWORD}}
    given = {"pull": "missing", "registries": login} | fields
    return docker_subject(folder, {"name": "one", "url": server.url}, **given)


def using(registry: Registry, script: str) -> Workload:
    return Workload.model_validate(
        {"name": "w", "run": {"image": registry.image, "command": ["/bin/sh", "-c", script]}}
    )


def test_an_image_that_is_missing_is_fetched_once_for_all_who_wait(
    tmp_path: Path, server: DockerServer, registry: Registry
) -> None:
    subject = subject_of(tmp_path, server, registry)

    async def scene() -> None:
        async with started(subject) as rig:
            works = [rig.assignment(number, using(registry, "exit 7")) for number in range(1, 5)]
            await asyncio.gather(*(rig.backend.bind(work) for work in works))
            for work in works:
                assert (await rig.finished(work.key)).exit_code == 7
            assert registry.times_fetched() == 1
            label = f"image/{registry.image}"
            await rig.reports.until_true(lambda: label in rig.reports.nodes[0].labels, "the label of the new image")

    run_async(scene)


def test_a_wrong_login_is_a_refusal_in_the_words_of_the_registry(
    tmp_path: Path, server: DockerServer, registry: Registry
) -> None:
    wrong = {registry.address: {"username": USERNAME, "password": "open wheat"}}
    subject = subject_of(tmp_path, server, registry, registries=wrong)

    async def scene() -> None:
        async with started(subject) as rig:
            with pytest.raises(Refusal, match="cannot pull image") as refusal:
                await rig.backend.bind(rig.assignment(1, using(registry, "true")))
            assert "open wheat" not in str(refusal.value)

    run_async(scene)


def test_an_image_that_is_not_to_be_fetched_is_refused_where_it_is_missing(
    tmp_path: Path, server: DockerServer, registry: Registry
) -> None:
    subject = subject_of(tmp_path, server, registry, pull="never")

    async def scene() -> None:
        async with started(subject) as rig:
            with pytest.raises(Refusal, match="No such image"):
                await rig.backend.bind(rig.assignment(1, using(registry, "true")))
            assert not registry.asked

    run_async(scene)


def test_a_registry_is_asked_every_time_if_the_settings_say_so(
    tmp_path: Path, server: DockerServer, registry: Registry
) -> None:
    subject = subject_of(tmp_path, server, registry, pull="always")

    async def scene() -> None:
        async with started(subject) as rig:
            asked = []
            for number in (1, 2):
                work = rig.assignment(number, using(registry, "true"))
                await rig.backend.bind(work)
                assert (await rig.finished(work.key)).exit_code == 0
                asked.append(sum("/manifests/" in path for path in registry.asked))
            assert 0 < asked[0] < asked[1]

    run_async(scene)


def test_work_that_waits_for_its_image_can_be_stopped_and_holds_up_nobody(
    tmp_path: Path, server: DockerServer, registry: Registry
) -> None:
    subject = subject_of(tmp_path, server, registry)
    registry.open.clear()

    async def scene() -> None:
        async with started(subject) as rig:
            work = rig.assignment(1, using(registry, "true"))
            binding = asyncio.ensure_future(rig.backend.bind(work))
            await rig.reports.until_true(lambda: any("/blobs/" in path for path in registry.asked), "the pull")
            assert (await rig.backend.status(work.key)).phase is Phase.ACCEPTED
            other = rig.work(2, 0.0, 3)
            await rig.backend.bind(other)
            assert (await rig.finished(other.key)).exit_code == 3
            await rig.backend.stop(work.key, "no patience")
            assert (await rig.finished(work.key)).exit_code is None
            (outcome,) = await asyncio.gather(binding, return_exceptions=True)
            assert outcome is None or isinstance(outcome, Refusal)
            registry.open.set()

    run_async(scene)
