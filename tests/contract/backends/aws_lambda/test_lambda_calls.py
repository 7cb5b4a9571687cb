"""What becomes of calls of Lambda functions: results, errors, limits, and answers that never come."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import botocore.client
import pytest
from tests.contract.backends.aws_lambda.rig import TABLE, behind, calling, lambda_settings
from tests.contract.backends.conformance import Subject, run_async, started
from tests.contract.backends.local.rig import marked, runs_now
from tests.contract.backends.running import run_to_end
from tests.patience import wait_for
from tests.servers.ministack import ACCOUNT, REGION, Ministack

from dovetail.backends.aws_lambda.backend import LambdaBackend
from dovetail.model.event import BindFailed, TaskFinished, TaskStarted, TaskWaiting
from dovetail.model.failure_cause import FailureCause
from dovetail.model.workloads.workload import Workload, WorkloadKind
from dovetail.testing.lossy_proxy import LossyProxy

pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("lambda")]
PAGE = Path(__file__).parents[4] / "docs" / "backends" / "lambda.md"


@pytest.fixture
def proxy(ministack: Ministack) -> Iterator[LossyProxy]:
    with LossyProxy(ministack.url.removeprefix("http://")) as proxy:
        yield proxy


def shell(function: str, script: str, folder: Path, **fields: Any) -> Workload:
    return calling(function, {"command": ["/bin/sh", "-c", script], "env": marked(folder)}, **fields)


def subject_of(folder: Path, ministack: Ministack, *functions: dict[str, Any], **fields: Any) -> Subject:
    settings = lambda_settings(ministack.url, *functions, **fields)
    return Subject(lambda: LambdaBackend("lambda", settings, folder / "backend"), lambda *_: calling("plain", {}))


def test_a_node_has_the_concurrency_memory_and_price_of_its_function(tmp_path: Path, ministack: Ministack) -> None:
    subject = subject_of(tmp_path, ministack, {"name": "single"}, {"name": "kept", "concurrency": 40, "table": TABLE})

    async def scene() -> None:
        async with started(subject) as rig:
            single, kept = rig.reports.nodes
            assert (single.capacity.slots, kept.capacity.slots) == (1, 40)
            assert kept.capacity.memory == 40 * 512 * 2**20
            assert kept.capacity.cpu == pytest.approx(40 * 512 / 1769, abs=0.001)
            assert kept.kinds == [WorkloadKind.FUNCTION]
            assert kept.labels["function"] == "kept"
            assert (kept.labels["region"], kept.labels["account"]) == (REGION, ACCOUNT)
            assert kept.offer is not None
            assert kept.offer.price_per_hour == pytest.approx(40 * 0.5 * 3600 * 0.0000166667)
            assert kept.offer.place == f"aws/{REGION}"

    run_async(scene)


def test_output_is_the_log_and_then_the_result(tmp_path: Path, ministack: Ministack) -> None:
    finished, output = run_to_end(
        subject_of(tmp_path, ministack, {"name": "plain"}), shell("plain", "echo result", tmp_path)
    )
    assert finished.exit_code == 0
    assert output.index("the command ended with 0") < output.index("result")


@pytest.mark.parametrize("function", [{"name": "fails"}, {"name": "kept-fails", "table": TABLE}])
def test_an_error_of_a_function_is_exit_code_one_with_the_error_as_output(
    tmp_path: Path, ministack: Ministack, function: dict[str, Any]
) -> None:
    finished, output = run_to_end(subject_of(tmp_path, ministack, function), calling(function["name"], {}))
    assert finished.exit_code == 1
    assert "no such image: cat.jpg" in finished.reason
    assert "ValueError" in output


def test_a_call_that_is_throttled_waits_and_says_so(tmp_path: Path, ministack: Ministack) -> None:
    """The node is told to take two calls at once, and Lambda takes one."""
    subject = subject_of(tmp_path, ministack, {"name": "single", "concurrency": 2})
    gate = tmp_path / "gate"

    async def scene() -> None:
        async with started(subject) as rig:
            first = rig.assignment(7001, shell("single", f"until test -e {gate}; do sleep 0.05; done", tmp_path))
            second = rig.assignment(7002, shell("single", "exit 4", tmp_path))
            await rig.backend.bind(first)
            await rig.reports.until(TaskStarted, first.key)
            await rig.backend.bind(second)
            waiting = await rig.reports.until(TaskWaiting, second.key)
            assert "TooManyRequests" in waiting.why
            assert not rig.reports.about(TaskFinished, second.key)
            gate.touch()
            assert (await rig.finished(first.key)).exit_code == 0
            assert (await rig.finished(second.key)).exit_code == 4

    run_async(scene)


@pytest.mark.parametrize("function", [{"name": "plain"}, {"name": "kept", "table": TABLE}])
def test_a_call_that_runs_too_long_ends_with_the_code_of_timeout(
    tmp_path: Path, ministack: Ministack, function: dict[str, Any]
) -> None:
    spec = shell(function["name"], "sleep 60" if "table" in function else "sleep 4", tmp_path)
    assert spec.function is not None
    spec = spec.model_copy(update={"function": spec.function.model_copy(update={"timeout": 0.7})})
    finished, _ = run_to_end(subject_of(tmp_path, ministack, function), spec)
    assert finished.exit_code == 124
    assert "time limit of 700ms" in finished.reason
    assert ("may run until" in finished.reason) == ("table" not in function)
    if "table" in function:  # the command is stopped, and not only given up
        wait_for(lambda: not runs_now(tmp_path, finished.key), "the end of its command")


@pytest.mark.parametrize("table", [{}, {"table": TABLE}])
def test_lambdas_own_time_limit_ends_a_call(tmp_path: Path, ministack: Ministack, table: dict[str, str]) -> None:
    spec = shell("brief", "sleep 30", tmp_path).model_dump(mode="json", exclude_unset=True)
    spec["function"]["identify"] = bool(table)  # without a key its handler records nothing
    subject = subject_of(tmp_path, ministack, {"name": "brief", **table})
    finished, _ = run_to_end(subject, Workload.model_validate(spec))
    assert finished.exit_code == 124
    assert "Task timed out" in finished.reason


def test_a_function_whose_process_dies_is_lost_and_not_called_again(tmp_path: Path, ministack: Ministack) -> None:
    subject = subject_of(tmp_path, ministack, {"name": "kept-dies", "table": TABLE}, lost_after_s="1s")
    finished, _ = run_to_end(subject, calling("kept-dies", {}))
    assert finished.exit_code is None
    assert "no sign of life for 1s" in finished.reason


def test_a_plain_call_whose_answer_is_lost_is_lost_and_not_repeated(tmp_path: Path, proxy: LossyProxy) -> None:
    subject = behind(proxy, tmp_path, {"name": "plain"})
    assert subject.times_run is not None
    times_run = subject.times_run

    async def scene() -> None:
        async with started(subject) as rig:
            work = rig.new_work(0.1)
            async with proxy.cut_replies():
                await rig.backend.bind(work)
                finished = await rig.finished(work.key)
            assert finished.exit_code is None
            assert "may have run" in finished.reason
            await rig.backend.bind(work)
            await rig.reports.until_true(lambda: times_run(work.key) == 1, "the one run")
            await rig.backend.bind(rig.new_work(0.0))
            rig.assert_run_once(work.key)

    run_async(scene)


def test_a_plain_call_that_was_open_when_the_server_ended_is_lost(tmp_path: Path, proxy: LossyProxy) -> None:
    subject = behind(proxy, tmp_path, {"name": "plain"})

    async def scene() -> None:
        async with started(subject) as before:
            work = await before.bind_new(0.5)
            await before.running(work.key)
        async with started(subject) as after:
            await after.backend.reconcile([work])
            finished = await after.finished(work.key)
            assert finished.exit_code is None
            assert finished.reason.startswith("lost")
            after.assert_run_once(work.key)

    run_async(scene)


def test_an_event_that_lambda_delivers_twice_runs_once(tmp_path: Path, ministack: Ministack) -> None:
    starts, client = tmp_path / "starts", ministack.client("lambda")
    event = {"command": ["/bin/sh", "-c", f"echo run >> {starts}"], "dovetail": {"key": f"twice.{tmp_path.name}"}}
    answers = []
    for _ in range(2):
        answer = client.invoke(FunctionName="kept", Payload=json.dumps(event))
        answers.append(json.loads(answer["Payload"].read())["dovetail"])
    assert answers == ["returned", "this key has run, or was stopped: nothing was done"]
    assert starts.read_text().split() == ["run"]


def test_a_call_that_was_stopped_before_it_began_never_runs(tmp_path: Path, ministack: Ministack) -> None:
    """Lambda may keep an event for hours before it is delivered."""
    subject = subject_of(tmp_path, ministack, {"name": "kept", "table": TABLE}, cluster=f"late-{tmp_path.name[:20]}")
    starts = tmp_path / "starts"

    async def scene() -> None:
        async with started(subject) as rig:
            work = rig.assignment(7100, shell("kept", f"echo run >> {starts}", tmp_path))
            await rig.backend.reconcile([work])  # it was bound, and nothing of it is to be found
            assert (await rig.finished(work.key)).exit_code is None
            event = {"command": ["touch", str(starts)], "dovetail": {"key": f"late-{tmp_path.name[:20]}.{work.key}"}}
            ministack.client("lambda").invoke(FunctionName="kept", Payload=json.dumps(event))
            assert not starts.exists()

    run_async(scene)


def test_a_function_that_is_removed_refuses_calls_as_the_fault_of_its_node(
    tmp_path: Path, ministack: Ministack
) -> None:
    ministack.make_function("passing", {"code.py": "def main(event, context):\n    return 1\n"}, "code.main")
    subject = subject_of(tmp_path, ministack, {"name": "passing"}, look_interval_s="1h")

    async def scene() -> None:
        async with started(subject) as rig:
            ministack.client("lambda").delete_function(FunctionName="passing")
            work = rig.assignment(7200, calling("passing", {}))
            await rig.backend.bind(work)
            failed = await rig.reports.until(BindFailed, work.key)
            assert failed.cause is FailureCause.NODE
            assert "passing" in failed.reason

    run_async(scene)


def test_a_function_that_is_not_there_takes_nothing_from_the_others(tmp_path: Path, ministack: Ministack) -> None:
    subject = subject_of(tmp_path, ministack, {"name": "no-such-function"}, {"name": "plain"})

    async def scene() -> None:
        async with started(subject) as rig:
            assert [node.name for node in rig.reports.nodes] == ["plain"]
            assert [node.name for node in await rig.backend.nodes()] == ["plain"]

    run_async(scene)


def test_the_policy_of_the_page_lists_what_the_backend_calls(
    tmp_path: Path, ministack: Ministack, monkeypatch: pytest.MonkeyPatch
) -> None:
    called: set[str] = set()
    call = botocore.client.BaseClient._make_api_call

    def noted(client: Any, operation: str, fields: Any) -> Any:
        called.add(f"{client.meta.service_model.service_name}:{operation}")
        return call(client, operation, fields)

    monkeypatch.setattr(botocore.client.BaseClient, "_make_api_call", noted)
    subject = subject_of(tmp_path, ministack, {"name": "plain"}, {"name": "kept", "table": TABLE})

    async def scene() -> None:
        async with started(subject) as rig:
            kept = next(node.name for node in rig.reports.nodes if node.name == "kept")
            work = rig.assignment(7300, shell("kept", "sleep 60", tmp_path))
            object.__setattr__(work, "node", kept)
            await rig.backend.bind(work)
            await rig.reports.until(TaskStarted, work.key)
            await rig.backend.stop(work.key, "enough")
            await rig.finished(work.key)

    run_async(scene)
    text = PAGE.read_text()
    policy = json.loads(text[text.index('{\n  "Version"') : text.index("```", text.index('{\n  "Version"'))])
    actions = [one["Action"] for one in policy["Statement"]]
    allowed = {name for one in actions for name in ([one] if isinstance(one, str) else one)}
    assert {name.replace("lambda:Invoke", "lambda:InvokeFunction") for name in called} == allowed
