"""An Azure Functions backend over the function app of the tests, with functions that run a command."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.contract.backends.conformance import Subject
from tests.contract.backends.local.rig import marked, runs_now
from tests.servers.azure_app import HOST_KEY, SYSTEM_KEY

from dovetail.backends.azure_functions.backend import AzureFunctionsBackend
from dovetail.backends.azure_functions.settings import AzureFunctionsSettings
from dovetail.model.workloads.workload import Workload
from dovetail.testing.lossy_proxy import LossyProxy


def azure_settings(url: str, *functions: dict[str, Any], **fields: Any) -> AzureFunctionsSettings:
    usual = {
        "url": url,
        "region": "westeurope",
        "key": HOST_KEY,
        "durable_key": SYSTEM_KEY,
        "functions": list(functions),
        "poll_interval_s": "50ms",
        "poll_most_s": "200ms",
        "look_interval_s": "200ms",
        "answer_within_s": "3s",
    }
    return AzureFunctionsSettings.model_validate(usual | fields)


def calling(function: str, payload: Any, **fields: Any) -> Workload:
    return Workload.model_validate({"name": "work", "function": {"name": function, "payload": payload}} | fields)


def azure_subject(folder: Path, function: dict[str, Any], proxy: LossyProxy) -> Subject:
    settings = azure_settings(f"http://{proxy.address}", function)
    starts, name = folder / "starts", function["name"]

    def workload(run_s: float, exit_code: int, text: str) -> Workload:
        script = f'echo $DOVETAIL_TASK.$DOVETAIL_ATTEMPT >> {starts}; printf %s "$0"; sleep {run_s}; exit {exit_code}'
        return calling(name, {"command": ["/bin/sh", "-c", script, text], "env": marked(folder)})

    @asynccontextmanager
    async def cut_off(_: str) -> AsyncIterator[None]:
        async with proxy.break_calls():
            yield

    return Subject(
        backend_factory=lambda: AzureFunctionsBackend("azure", settings, folder / "backend"),
        workload=workload,
        unrunnable=[
            Workload.model_validate({"name": "command", "run": {"command": ["true"]}}),
            Workload.model_validate({"name": "which", "kind": "function"}),
            calling("another", {"command": ["true"]}),
        ],
        times_run=lambda key: starts.read_text().split().count(key) if starts.exists() else 0,
        runs_now=lambda key: runs_now(folder, key),
        cut_replies=proxy.cut_replies,
        break_calls=proxy.break_calls,
        hold_reply=proxy.hold_reply,
        cut_off=cut_off,
    )
