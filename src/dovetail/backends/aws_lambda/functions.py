"""The service of Lambda functions: describes them, calls them, finds and stops recorded calls."""

import asyncio
import base64
import json
from typing import Any

from dovetail.backends.aws_lambda.clients import LambdaClients, meaning_of, on_thread
from dovetail.backends.aws_lambda.records import ResultTable
from dovetail.backends.aws_lambda.settings import LIST_PRICES, LambdaFunction, LambdaSettings
from dovetail.backends.serverless.calls import (
    TIME_LIMIT_EXIT,
    CallAccepted,
    CallOrder,
    CallRefused,
    CallResult,
    CallSeen,
    failed,
    joined,
    result_of,
)
from dovetail.backends.serverless.node import function_node
from dovetail.model.failure_cause import FailureCause
from dovetail.model.node import Node
from dovetail.model.text.quantity import show_bytes
from dovetail.model.workloads.function import ACCOUNT_LABEL, REGION_LABEL

MOST_AWAITED_BYTES, MOST_QUEUED_BYTES = 6 * 2**20, 256 * 2**10
MIB, MIB_A_CORE = 2**20, 1769  # Lambda gives a function a core for so much memory
_UNUSABLE_STATES = ("Pending", "Failed", "Deactivating", "Deactivated", "Deleting")


class LambdaFunctions:
    """Implements `FunctionService`."""

    def __init__(self, backend: str, settings: LambdaSettings) -> None:
        self._backend, self._settings = backend, settings
        self._functions = {one.node_name: one for one in settings.functions}
        self._clients: LambdaClients | None = None
        self._tables: dict[str, ResultTable] = {}

    async def open(self) -> None:
        if self._clients is None:
            self._clients = await on_thread(lambda: LambdaClients(self._settings), "boto3")
            names = {one.table for one in self._settings.functions if one.table is not None}
            self._tables = {name: ResultTable(self._clients, name) for name in names}

    async def close(self) -> None:
        for table in self._tables.values():
            await table.close()
        if self._clients is not None:
            self._clients.close()
        self._clients, self._tables = None, {}

    def records(self, node: str) -> bool:
        return self._table_of(node) is not None

    def check(self, order: CallOrder) -> None:
        recorded = self.records(order.node)
        most = MOST_QUEUED_BYTES if recorded else MOST_AWAITED_BYTES
        if len(order.body) > most:
            words = f"its payload has {show_bytes(len(order.body))}; Lambda takes {show_bytes(most)}"
            raise CallRefused(f"{words}: put the data into a store", FailureCause.WORKLOAD)
        if recorded and not order.call.identify:
            words = "function.identify is false, but the function records its results by the key in its payload"
            raise CallRefused(f"{words}; leave identify out", FailureCause.WORKLOAD)
        if recorded and not (order.call.payload is None or isinstance(order.call.payload, dict)):
            words = "the payload has to be an object: the function finds its key in the field `dovetail`"
            raise CallRefused(words, FailureCause.WORKLOAD)

    async def describe(self) -> dict[str, Node | Exception]:
        unreserved = await self._asked("get_account_settings", {})
        left = int(unreserved["AccountLimit"]["UnreservedConcurrentExecutions"])
        found = await asyncio.gather(*(self._describe(one, left) for one in self._functions.values()))
        return dict(zip(self._functions, found, strict=True))

    async def begin(self, order: CallOrder) -> CallAccepted | CallResult:
        function = self._functions[order.node]
        asked: dict[str, Any] = {"FunctionName": function.name, "Payload": order.body}
        if (qualifier := order.call.qualifier or function.qualifier) is not None:
            asked["Qualifier"] = qualifier
        if self.records(order.node):
            await self._asked("invoke", {"InvocationType": "Event", **asked})
            return CallAccepted()
        answer = await self._asked(
            "invoke", {"InvocationType": "RequestResponse", "LogType": "Tail", **asked}, patient=True
        )
        return result_in_answer(answer)

    async def find(self, node: str, key: str, handle: str) -> CallSeen | None:  # noqa: ARG002 (of other services)
        table = self._table_of(node)
        return None if table is None else await table.find(key)

    async def cancel(self, node: str, key: str, handle: str, reason: str) -> bool:  # noqa: ARG002 (of other services)
        table = self._table_of(node)
        if table is None:
            return False
        await table.stop(key, reason)
        return True

    def _table_of(self, node: str) -> ResultTable | None:
        function = self._functions.get(node)
        return None if function is None or function.table is None else self._tables.get(function.table)

    async def _describe(self, function: LambdaFunction, unreserved: int) -> Node | Exception:
        named = {"FunctionName": function.name}
        aliased = named if function.qualifier is None else {**named, "Qualifier": function.qualifier}
        try:
            told = await self._asked("get_function_configuration", aliased)
            if told.get("State") in _UNUSABLE_STATES:
                words = f"function {function.name} is {told['State']}: {told.get('StateReason', '')}"
                return CallRefused(words.rstrip(": "), FailureCause.BACKEND)
            most = function.concurrency
            if most is None:
                reserved = await self._asked("get_function_concurrency", named)
                most = int(reserved.get("ReservedConcurrentExecutions", unreserved))
        except CallRefused as error:
            return error
        if most < 1:
            return CallRefused(f"function {function.name} has no concurrency: calls are switched off")
        return self._node(function, told, most)

    def _node(self, function: LambdaFunction, told: dict[str, Any], concurrency: int) -> Node:
        memory_mib, architecture = int(told["MemorySize"]), str((told.get("Architectures") or ["x86_64"])[0])
        labels = {
            REGION_LABEL: self._settings.region,
            ACCOUNT_LABEL: str(told["FunctionArn"]).split(":")[4],
            "arch": "amd64" if architecture == "x86_64" else architecture,
            "runtime": str(told.get("Runtime") or "image"),
        }
        return function_node(
            function.node_name,
            self._backend,
            function.name,
            concurrency=concurrency,
            memory_bytes=memory_mib * MIB,
            cores=memory_mib / MIB_A_CORE,
            price=self._settings.price or LIST_PRICES.get(architecture, LIST_PRICES["x86_64"]),
            labels=labels | function.labels,
            place=f"aws/{self._settings.region}",
            start_up_s=self._settings.cold_start_s,
        )

    async def _asked(self, operation: str, fields: dict[str, Any], *, patient: bool = False) -> dict[str, Any]:
        assert self._clients is not None, "the service is not open"
        client = self._clients.patient if patient else self._clients.quick

        def ask() -> dict[str, Any]:
            answer: dict[str, Any] = getattr(client, operation)(**fields)
            if "Payload" in answer:  # read here: it may be long
                answer["Payload"] = answer["Payload"].read()
            return answer

        try:
            return await on_thread(ask, f"lambda: {operation}")
        except Exception as error:
            raise meaning_of(error) from error


def result_in_answer(answer: dict[str, Any]) -> CallResult:
    """Of a call whose answer was awaited. Lambda gives the last 4 KB of its log."""
    log = base64.b64decode(answer.get("LogResult") or "").decode(errors="replace")
    text = answer.get("Payload", b"").decode(errors="replace")
    try:
        value = json.loads(text) if text else None
    except ValueError:
        value = text
    if answer.get("FunctionError") is None:
        return result_of(value, log)
    return _error(value, log)


def _error(value: Any, log: str) -> CallResult:
    told = value if isinstance(value, dict) else {"errorMessage": str(value)}
    message, kind = str(told.get("errorMessage", "")), str(told.get("errorType", ""))
    if "Task timed out" in message:
        return CallResult(TIME_LIMIT_EXIT, message, joined(log, message), FailureCause.WORKLOAD)
    trace = "".join(line if line.endswith("\n") else f"{line}\n" for line in told.get("stackTrace") or [])
    return failed(joined(f"{kind}: {message}" if kind else message, f"\n{trace}" if trace else ""), log)
