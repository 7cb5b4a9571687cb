"""What a workload causes is said to be its own fault, and takes no host from anybody."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.contract.backends.conformance import Rig, run_async, started
from tests.contract.backends.docker.registry import NAME, PASSWORD, USERNAME, image_registry
from tests.contract.backends.docker.rig import NUMBERS, Hosts, docker_subject, shell
from tests.patience import wait_for
from tests.servers.docker import IMAGE, DockerServer
from tests.unit.api.server import serving

from dovetail.backends.contract import Refusal
from dovetail.client import Client
from dovetail.control.settings import Settings
from dovetail.model.event import BindFailed, TaskFinished
from dovetail.model.failure_cause import FailureCause
from dovetail.model.workloads.workload import Workload

pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("docker")]


@pytest.mark.parametrize(
    ("run", "more", "words"),
    [
        ({"image": "no/such:1"}, {}, "No such image: no/such:1; correct run.image"),
        ({"volumes": [{"source": "/no/such", "target": "/x"}]}, {}, "does not exist: /no/such; correct run.volumes"),
        ({"workdir": "/bin/busybox/x"}, {}, "correct run.workdir"),
        ({}, {"limits": {"memory": "1MiB"}}, "raise limits.memory"),
    ],
)
def test_what_the_engine_cannot_create_is_refused_as_the_workload_s_fault(
    tmp_path: Path, docker_servers: Hosts, run: dict[str, Any], more: dict[str, Any], words: str
) -> None:
    subject = docker_subject(tmp_path, {"name": "one", "url": docker_servers[0].url}, allow_paths=["/"])

    async def scene() -> None:
        async with started(subject) as rig:
            with pytest.raises(Refusal) as refusal:
                await rig.backend.bind(rig.assignment(next(NUMBERS), shell("true", run=run, **more)))
            assert words in str(refusal.value)
            assert refusal.value.cause is FailureCause.WORKLOAD

    run_async(scene)


@pytest.mark.parametrize(
    ("command", "limits", "code", "words"),
    [
        (["nonesuch"], {}, 127, "correct run.command"),
        (["/etc"], {}, 126, "correct run.command"),
        (
            ["dd", "if=/dev/zero", "of=/dev/null", "bs=200M", "count=1"],
            {"memory": "16MiB"},
            None,
            "raise limits.memory",
        ),
    ],
)
def test_a_command_that_cannot_work_ends_as_the_workload_s_fault(
    tmp_path: Path, docker_servers: Hosts, command: list[str], limits: dict[str, str], code: int | None, words: str
) -> None:
    subject = docker_subject(tmp_path, {"name": "one", "url": docker_servers[0].url})
    spec = Workload.model_validate({"name": "w", "run": {"image": IMAGE, "command": command}, "limits": limits})

    async def scene() -> None:
        async with started(subject) as rig:
            work = rig.assignment(next(NUMBERS), spec)
            await rig.backend.bind(work)
            end = await rig.finished(work.key)
            assert code is None or end.exit_code == code
            assert words in end.reason
            assert end.cause is FailureCause.WORKLOAD

    run_async(scene)


def test_an_image_that_turns_out_to_be_missing_later_is_a_bind_that_failed(
    tmp_path: Path, docker_servers: Hosts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bind was accepted because the pull took long."""
    monkeypatch.setattr("dovetail.backends.hosts.attempts.BIND_PATIENCE_S", 0.2)
    with image_registry() as registry:
        host = {"name": "one", "url": docker_servers[0].url}
        login = {registry.address: {"username": USERNAME, "password": PASSWORD}}
        subject = docker_subject(tmp_path, host, pull="always", registries=login)
        run = {"image": f"{registry.address}/{NAME}:typo", "command": ["true"]}
        spec = Workload.model_validate({"name": "w", "run": run})
        registry.open.clear()

        async def scene() -> None:
            async with started(subject) as rig:
                work = rig.assignment(next(NUMBERS), spec)
                await rig.backend.bind(work)
                registry.open.set()
                await rig.reports.until_true(lambda: bool(_refusals(rig, work.key)), "the refusal")
                assert _refusals(rig, work.key)[0].cause is FailureCause.WORKLOAD
                assert not [end for end in rig.reports.of(TaskFinished) if end.key == work.key]
                await rig.backend.stop(work.key, "enough")
                assert (await rig.finished(work.key)).exit_code is None

        run_async(scene)


def _refusals(rig: Rig, key: str) -> list[BindFailed]:
    return [event for event in rig.reports.of(BindFailed) if event.key == key]


@contextmanager
def plane_over(folder: Path, server: DockerServer, **fields: Any) -> Iterator[Client]:
    """A control plane whose only node is the host `one`."""
    host = {"name": "one", "url": server.url}
    backend = {"kind": "docker", "hosts": [host], "network": "none", "pull": "never"} | fields
    settings = Settings.model_validate(
        {
            "data": str(folder),
            "logging": {"level": "error", "decisions": False},
            "scheduling": {"backoff": {"first": "100ms", "jitter": 0}},
            "backends": {"docker": backend},
        }
    )
    with serving(settings) as url, Client(url) as client:
        yield client


def test_a_quarantine_can_be_seen_explained_and_lifted(tmp_path: Path, docker_servers: Hosts) -> None:
    """The host lacks the network of the settings, so that nothing can start there."""
    with plane_over(tmp_path, docker_servers[0], network="nonesuch") as client:
        good = {"image": IMAGE, "command": ["true"]}
        client.submit([{"name": "w", "namespace": "lab", "kind": "container", "replicas": 5, "run": good}])
        row = wait_for(lambda: one if (one := client.nodes()[0])["status"] == "quarantined" else None, "the quarantine")
        assert row["reason"].startswith("quarantined for 1m: 5 placements of lab/w failed there, last: it could not be")
        quarantine = client.node("one")["quarantine"]
        assert quarantine is not None
        assert quarantine["until"] - quarantine["since"] == pytest.approx(60)
        assert [(one["workload"], one["times"]) for one in quarantine["failures"]] == [("lab/w", 5)]
        assert "network nonesuch not found; correct the backend's settings" in quarantine["failures"][0]["reason"]
        words = client.diagnostics("one")
        assert "Status: quarantined\nQuarantine: since 20" in words
        assert "UTC; dovetail uncordon one ends it now\n  5 attempts of lab/w failed, last at 20" in words
        client.submit([{"name": "later", "kind": "container", "run": good}])
        wait_for(lambda: client.workload("later")["reason"] == "no_available_nodes", "the cause of waiting")
        assert "the only node is in quarantine; dovetail uncordon NODE" in client.workload("later")["message"]
        assert any(
            line["message"].startswith("node one quarantined for 1m") for line in client.event_page(node="one")["items"]
        )
        metrics = client.metrics()
        assert 'dovetail_nodes{status="quarantined"} 1.0' in metrics
        assert "dovetail_quarantines_total 1.0" in metrics
        lifted = client.uncordon("one")
        assert (lifted["status"], lifted["quarantine"]) == ("online", None)
        assert any(line["message"] == "node one online" for line in client.event_page(node="one")["items"])


def test_one_user_s_wrong_image_takes_no_host_from_the_others(tmp_path: Path, docker_servers: Hosts) -> None:
    with plane_over(tmp_path, docker_servers[0]) as client:
        typo = {"image": "busybox:lokal", "command": ["true"]}
        client.submit([{"name": "typo", "namespace": "careless", "kind": "container", "replicas": 5, "run": typo}])
        failed = wait_for(
            lambda: one if (one := client.workload("careless/typo"))["state"] == "failed" else None, "its failure"
        )
        assert "docker refused it 3 times" in failed["message"]
        assert "No such image: busybox:lokal; correct run.image" in failed["message"]
        (node,) = client.nodes()
        assert (node["status"], node["reason"]) == ("online", "")
        good = {"image": IMAGE, "command": ["true"]}
        client.submit([{"name": "good", "namespace": "careful", "kind": "container", "run": good}])
        wait_for(lambda: client.workload("careful/good")["state"] == "succeeded", "the neighbour's success")
