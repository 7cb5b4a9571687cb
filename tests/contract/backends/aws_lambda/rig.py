"""A Lambda backend over the emulator, with functions that run a command and say how it ended."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.contract.backends.conformance import Subject
from tests.contract.backends.local.rig import marked, runs_now
from tests.servers.ministack import REGION, Ministack

from dovetail.backends.aws_lambda import handler
from dovetail.backends.aws_lambda.backend import LambdaBackend
from dovetail.backends.aws_lambda.settings import LambdaSettings
from dovetail.model.workloads.workload import Workload
from dovetail.testing.lossy_proxy import LossyProxy

TABLE = "dovetail-calls"
#: The handler that runs the command of its event, with the variables of its task.
RUNS_COMMANDS = """
import os, signal, subprocess

def main(event, context):
    about = {f"DOVETAIL_{name.upper()}": text for name, text in event.get("dovetail", {}).items()}
    environment = {**os.environ, **about, **event.get("env", {})}
    pipes = {"stdout": subprocess.PIPE, "text": True, "start_new_session": True}
    command = subprocess.Popen(event["command"], env=environment, **pipes)
    try:
        output, _ = command.communicate()
    finally:  # with all that it started, if it was interrupted
        if command.returncode is None:
            os.killpg(command.pid, signal.SIGKILL)
    print(f"the command ended with {command.returncode}")
    return {"exit_code": command.returncode, "output": output}
"""
RECORDED = f"from handler import recorded\n{RUNS_COMMANDS}\nmain = recorded(main)\n"
#: Handlers that go wrong.
BROKEN = """
import os

def fails(event, context):
    print("about to fail")
    raise ValueError("no such image: cat.jpg")

def dies(event, context):
    os._exit(3)
"""


def deploy(server: Ministack) -> None:
    """The functions of the tests: `plain` and, with its results in the table, `kept`."""
    server.make_table(TABLE)
    server.make_function("plain", {"code.py": RUNS_COMMANDS}, "code.main", MemorySize=256)
    variables = {"DOVETAIL_TABLE": TABLE, "DOVETAIL_BEAT_S": "0.2", "DOVETAIL_GRACE_S": "1"}
    files = {"code.py": RECORDED, "handler.py": Path(handler.__file__).read_text()}
    kept = {"MemorySize": 512, "Environment": {"Variables": variables}}
    server.make_function("kept", files, "code.main", **kept)
    server.make_function("brief", files, "code.main", **kept, Timeout=6)  # a busy machine begins late
    server.make_function("single", {"code.py": RUNS_COMMANDS}, "code.main")
    server.client("lambda").put_function_concurrency(FunctionName="single", ReservedConcurrentExecutions=1)
    server.make_function("fails", {"code.py": BROKEN}, "code.fails")
    broken = f"from handler import recorded\n{BROKEN}\nfails, dies = recorded(fails), recorded(dies)\n"
    for name in ("fails", "dies"):
        server.make_function(f"kept-{name}", files | {"code.py": broken}, f"code.{name}", **kept)


def lambda_settings(url: str, *functions: dict[str, Any], **fields: Any) -> LambdaSettings:
    usual = {
        "region": REGION,
        "endpoint": url,
        "access_key_id": "test",
        "secret_access_key": "test",
        "functions": list(functions),
        "poll_interval_s": "50ms",
        "poll_most_s": "200ms",
        "look_interval_s": "200ms",
        "answer_within_s": "3s",
    }
    return LambdaSettings.model_validate(usual | fields)


def calling(function: str, payload: Any, **fields: Any) -> Workload:
    return Workload.model_validate({"name": "work", "function": {"name": function, "payload": payload}} | fields)


def lambda_subject(folder: Path, function: dict[str, Any], url: str) -> Subject:
    settings = lambda_settings(url, function)
    starts, name = folder / "starts", function["name"]

    def workload(run_s: float, exit_code: int, text: str) -> Workload:
        script = f'echo $DOVETAIL_TASK.$DOVETAIL_ATTEMPT >> {starts}; printf %s "$0"; sleep {run_s}; exit {exit_code}'
        return calling(name, {"command": ["/bin/sh", "-c", script, text], "env": marked(folder)})

    recorded = [calling(name, {"command": ["x" * 262_000]}), calling(name, ["no object"])]
    return Subject(
        backend_factory=lambda: LambdaBackend("lambda", settings, folder / "backend"),
        workload=workload,
        unrunnable=[
            Workload.model_validate({"name": "command", "run": {"command": ["true"]}}),
            Workload.model_validate({"name": "which", "kind": "function"}),
            calling("another", {"command": ["true"]}),
            *(recorded if "table" in function else []),
        ],
        times_run=lambda key: starts.read_text().split().count(key) if starts.exists() else 0,
        runs_now=lambda key: runs_now(folder, key),
    )


def behind(proxy: LossyProxy, folder: Path, function: dict[str, Any]) -> Subject:
    """The same, over a network that misbehaves."""

    @asynccontextmanager
    async def cut_off(_: str) -> AsyncIterator[None]:
        async with proxy.break_calls():
            yield

    return replace(
        lambda_subject(folder, function, f"http://{proxy.address}"),
        cut_replies=proxy.cut_replies,
        break_calls=proxy.break_calls,
        hold_reply=proxy.hold_reply,
        cut_off=cut_off,
    )
