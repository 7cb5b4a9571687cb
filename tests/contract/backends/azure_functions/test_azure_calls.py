"""What becomes of calls of Azure functions, over the function app of the tests."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.contract.backends.azure_functions.rig import azure_settings, azure_subject, calling
from tests.contract.backends.conformance import Subject, run_async, started
from tests.contract.backends.running import run_to_end
from tests.servers.azure_app import FunctionApp, azure_app

from dovetail.backends.azure_functions.backend import AzureFunctionsBackend
from dovetail.model.event import BindFailed, TaskFinished, TaskStarted, TaskWaiting
from dovetail.model.failure_cause import FailureCause
from dovetail.testing.lossy_proxy import LossyProxy


@pytest.fixture
def app() -> Iterator[FunctionApp]:
    with azure_app() as app:
        yield app


def subject_of(folder: Path, app: FunctionApp, *functions: dict[str, Any], **fields: Any) -> Subject:
    settings = azure_settings(app.url, *functions, **fields)
    return Subject(lambda: AzureFunctionsBackend("azure", settings, folder / "backend"), lambda *_: calling("run", {}))


def test_a_node_has_what_the_settings_say_of_its_function(tmp_path: Path, app: FunctionApp) -> None:
    subject = subject_of(tmp_path, app, {"name": "run", "path": "/api/run", "concurrency": 10, "memory": "2GiB"})

    async def scene() -> None:
        async with started(subject) as rig:
            (node,) = rig.reports.nodes
            assert (node.capacity.slots, node.capacity.memory) == (10, 10 * 2 * 2**30)
            assert node.labels == {"function": "run", "region": "westeurope"}
            assert node.offer is not None
            assert node.offer.price_per_hour == pytest.approx(10 * 2 * 3600 * 0.000016)
            assert node.offer.place == "azure/westeurope"

    run_async(scene)


def test_a_function_is_told_its_key_and_its_number(tmp_path: Path, app: FunctionApp) -> None:
    subject = subject_of(tmp_path, app, {"name": "run", "path": "/api/run"}, cluster="east")
    spec = calling("run", {"command": ["true"]}, array="5-9")
    finished, _ = run_to_end(subject, spec, workload=12)
    told = app.calls[0]["dovetail"]
    assert told["key"] == f"east.{finished.key}"
    assert (told["workload"], told["replica"], told["array_index"], told["attempt"]) == ("work", "0", "5", "1")


def test_a_call_that_is_throttled_waits_and_says_so(tmp_path: Path, app: FunctionApp) -> None:
    subject = subject_of(tmp_path, app, {"name": "busy", "path": "/api/busy"})

    async def scene() -> None:
        async with started(subject) as rig:
            work = rig.assignment(7001, calling("busy", {}))
            await rig.backend.bind(work)
            assert (await rig.finished(work.key)).exit_code == 0
            assert "429: Too many requests" in rig.reports.about(TaskWaiting, work.key)[0].why
            assert (await rig.backend.logs(work.key, 0, 100)).text == "at last"
            assert len(app.calls) == 3

    run_async(scene)


def test_an_error_of_a_trigger_is_exit_code_one_with_its_body_as_output(tmp_path: Path, app: FunctionApp) -> None:
    finished, output = run_to_end(
        subject_of(tmp_path, app, {"name": "broken", "path": "/api/broken"}), calling("broken", {})
    )
    assert (finished.exit_code, output) == (1, "division by zero")
    assert finished.reason == "HTTP 500: division by zero"


def test_an_orchestration_that_fails_is_exit_code_one(tmp_path: Path, app: FunctionApp) -> None:
    subject = subject_of(tmp_path, app, {"name": "run", "orchestrator": "RunCommand"})
    finished, output = run_to_end(subject, calling("run", {"command": ["/no/such/program"]}))
    assert finished.exit_code == 1
    assert "No such file" in output


@pytest.mark.parametrize(
    ("function", "words"),
    [
        ({"name": "run", "orchestrator": "Nobody"}, "doesn't exist"),
        ({"name": "run", "path": "/api/nobody"}, "404"),
        ({"name": "run", "path": "/api/run", "key": "wrong"}, "correct the key"),
    ],
)
def test_what_the_app_refuses_is_the_fault_of_the_node(
    tmp_path: Path, app: FunctionApp, function: dict[str, Any], words: str
) -> None:
    subject = subject_of(tmp_path, app, function)

    async def scene() -> None:
        async with started(subject) as rig:
            work = rig.assignment(7002, calling("run", {"command": ["true"]}))
            await rig.backend.bind(work)
            failed = await rig.reports.until(BindFailed, work.key)
            assert failed.cause is FailureCause.NODE
            assert words in failed.reason

    run_async(scene)


def test_a_wrong_system_key_is_said_at_the_start(tmp_path: Path, app: FunctionApp) -> None:
    subject = subject_of(tmp_path, app, {"name": "run", "orchestrator": "RunCommand"}, durable_key="wrong")

    async def scene() -> None:
        with pytest.raises(Exception, match="durable_key is not accepted: 401"):
            async with started(subject):
                pass

    run_async(scene)


def test_a_status_address_of_another_host_is_not_followed(tmp_path: Path, app: FunctionApp) -> None:
    subject = subject_of(tmp_path, app, {"name": "run", "path": "/api/elsewhere"})
    finished, _ = run_to_end(subject, calling("run", {}))
    assert finished.exit_code is None
    assert "outside of its app" in finished.reason


def test_an_orchestration_that_runs_too_long_is_terminated(tmp_path: Path, app: FunctionApp) -> None:
    subject = subject_of(tmp_path, app, {"name": "run", "orchestrator": "RunCommand"})
    spec = calling("run", {"command": ["sleep", "60"]}, deadline={"run_for": "500ms"})
    finished, _ = run_to_end(subject, spec)
    assert finished.exit_code == 124
    assert [one.status for one in app.instances.values()] == ["Terminated"]


def test_a_trigger_whose_answer_is_lost_is_lost_and_not_called_again(tmp_path: Path, app: FunctionApp) -> None:
    with LossyProxy(app.url.removeprefix("http://")) as proxy:
        subject = azure_subject(tmp_path, {"name": "run", "path": "/api/run"}, proxy)

        async def scene() -> None:
            async with started(subject) as rig:
                work = rig.new_work(0.0)
                async with proxy.cut_replies():
                    await rig.backend.bind(work)
                    finished = await rig.finished(work.key)
                assert finished.exit_code is None
                assert "may have run" in finished.reason
                await rig.backend.bind(work)
                other = await rig.bind_new(0.0)
                await rig.finished(other.key)
                assert len([call for call in app.calls if call["dovetail"]["key"].endswith(work.key)]) == 1

        run_async(scene)


def test_a_call_that_is_stopped_before_its_trigger_answers_is_terminated(tmp_path: Path, app: FunctionApp) -> None:
    with LossyProxy(app.url.removeprefix("http://")) as proxy:
        subject = azure_subject(tmp_path, {"name": "run", "path": "/api/start"}, proxy)
        app.url = f"http://{proxy.address}"

        async def scene() -> None:
            async with started(subject) as rig:
                work = rig.new_work(60.0)
                async with proxy.hold_reply(work.key):
                    await rig.backend.bind(work)
                    await rig.reports.until_true(lambda: bool(app.instances), "the start of the function")
                    await rig.backend.stop(work.key, "changed my mind")
                    await rig.finished(work.key)
                await rig.reports.until_true(
                    lambda: [one.status for one in app.instances.values()] == ["Terminated"], "its end"
                )

        run_async(scene)


def test_a_call_that_the_service_has_forgotten_is_lost(tmp_path: Path, app: FunctionApp) -> None:
    subject = subject_of(tmp_path, app, {"name": "run", "path": "/api/start"}, start_within_s="300ms")

    async def scene() -> None:
        async with started(subject) as rig:
            work = rig.assignment(7003, calling("run", {"command": ["sleep", "60"]}))
            await rig.backend.bind(work)
            await rig.reports.until(TaskStarted, work.key)
            app.end_all()
            app.instances.clear()
            finished = await rig.reports.until(TaskFinished, work.key)
            assert finished.exit_code is None
            assert "has known nothing of it for 300ms" in finished.reason

    run_async(scene)


def test_keys_are_never_shown(app: FunctionApp) -> None:
    settings = azure_settings(app.url, {"name": "run", "path": "/api/run", "key": "of-the-function"})
    shown = json.dumps(settings.model_dump(mode="json")) + repr(settings)
    assert not any(secret in shown for secret in ("of-the-function", "host-key", "system-key"))
