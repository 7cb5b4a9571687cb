"""The service of Azure functions: describes them, calls them, finds and terminates orchestrations.

An orchestration is started at `/runtime/webhooks/durabletask/orchestrators/NAME/ID`. Azure refuses an id that runs
(409), but starts one again that has ended: so before a start is repeated, its status is asked for. A key that is
stopped before it was started is remembered by the journal, which does not send it any more.
"""

import json
from typing import Any
from urllib.parse import quote

import httpx

from dovetail.backends.azure_functions.http import AppClient, AppUnreachable, refuse_unless_taken, shown_body
from dovetail.backends.azure_functions.settings import AzureFunction, AzureFunctionsSettings
from dovetail.backends.azure_functions.status import (
    result_of_answer,
    seen_in_status,
    status_address,
    terminate_address,
)
from dovetail.backends.serverless.calls import (
    CallAccepted,
    CallOrder,
    CallPhase,
    CallRefused,
    CallResult,
    CallSeen,
)
from dovetail.backends.serverless.node import function_node
from dovetail.model.failure_cause import FailureCause
from dovetail.model.node import Node
from dovetail.model.text.quantity import show_bytes
from dovetail.model.workloads.function import REGION_LABEL

MOST_BYTES = 100 * 2**20
MOST_INPUT_BYTES = 2**20  # of an orchestration; larger ones are slow, and some storage providers refuse them
WEBHOOKS = "/runtime/webhooks/durabletask"


class AzureFunctions:
    """Implements `FunctionService`."""

    def __init__(self, backend: str, settings: AzureFunctionsSettings) -> None:
        self._backend, self._settings = backend, settings
        self._functions = {one.node_name: one for one in settings.functions}
        self._app: AppClient | None = None

    async def open(self) -> None:
        if self._app is None:
            self._app = AppClient(self._settings.url, self._settings.answer_within_s)

    async def close(self) -> None:
        if self._app is not None:
            await self._app.close()
            self._app = None

    def records(self, node: str) -> bool:
        function = self._functions.get(node)
        return function is not None and function.orchestrator is not None

    def check(self, order: CallOrder) -> None:
        most = MOST_INPUT_BYTES if self.records(order.node) else MOST_BYTES
        if len(order.body) > most:
            words = f"its payload has {show_bytes(len(order.body))}; at most {show_bytes(most)} are sent"
            raise CallRefused(f"{words}: put the data into a store", FailureCause.WORKLOAD)
        if order.call.qualifier is not None:
            raise CallRefused("function.qualifier is for Lambda; name the slot's own address in the settings",
                              FailureCause.WORKLOAD)  # fmt: skip

    async def describe(self) -> dict[str, Node | Exception]:
        """The app itself is asked: a function cannot be asked without being called. `durable_key` is checked."""
        trouble: Exception | None = None
        if any(one.orchestrator is not None for one in self._functions.values()):
            answer = await self._ask("GET", f"{WEBHOOKS}/instances", self._durable_key(), top=1)
            if answer.status_code in (401, 403):
                trouble = CallRefused(f"the key durable_key is not accepted: {answer.status_code}")
        else:
            answer = await self._ask("GET", "/", None)
        if answer.status_code >= 500:
            raise AppUnreachable(f"the function app answers {answer.status_code}: {shown_body(answer)}")
        return {
            name: trouble if trouble is not None and one.orchestrator is not None else self._node(one)
            for name, one in self._functions.items()
        }

    async def begin(self, order: CallOrder) -> CallAccepted | CallResult:
        function = self._functions[order.node]
        if function.orchestrator is not None:
            return await self._start(function.orchestrator, order)
        key = function.key or self._settings.key
        secret = None if key is None else key.get_secret_value()
        assert function.path is not None
        answer = await self._ask("POST", function.path, secret, body=order.body, read_s=self._settings.longest_call_s)
        refuse_unless_taken(answer, function.path)
        if answer.status_code in (502, 503, 504):
            raise AppUnreachable(f"{function.path} answered {answer.status_code}: {shown_body(answer)}")
        if answer.status_code != httpx.codes.ACCEPTED:
            return result_of_answer(answer.status_code, answer.content)
        return self._followed(function.path, answer)

    async def find(self, node: str, key: str, handle: str) -> CallSeen | None:
        function = self._functions.get(node)
        if handle:
            answer = await self._ask("GET", json.loads(handle)["status"], None)
        else:
            answer = await self._ask("GET", self._instance(key), self._durable_key())
        if answer.status_code == httpx.codes.NOT_FOUND:
            return None
        told = _json_in(answer)
        if isinstance(told, dict) and "runtimeStatus" in told:
            return seen_in_status(told)
        if handle and answer.status_code == httpx.codes.ACCEPTED:
            return CallSeen(CallPhase.RUNNING)
        if handle and answer.status_code < 500:
            return CallSeen(CallPhase.ENDED, result_of_answer(answer.status_code, answer.content))
        name = node if function is None else function.name
        raise AppUnreachable(f"the status of a call of {name}: {answer.status_code}: {shown_body(answer)}")

    async def cancel(self, node: str, key: str, handle: str, reason: str) -> bool:  # noqa: ARG002 (of other services)
        if handle:
            url = json.loads(handle)["terminate"]
            if not url:
                return False
            answer = await self._ask("POST", url.replace("{text}", quote(reason[:200])), None)
        else:
            url = f"{self._instance(key)}/terminate"
            answer = await self._ask("POST", url, self._durable_key(), reason=reason[:200])
        if answer.status_code >= 400 and answer.status_code not in (httpx.codes.NOT_FOUND, httpx.codes.GONE):
            raise AppUnreachable(f"a call was not terminated: {answer.status_code}: {shown_body(answer)}")
        return True

    async def _start(self, orchestrator: str, order: CallOrder) -> CallAccepted:
        url = f"{WEBHOOKS}/orchestrators/{orchestrator}/{quote(order.key)}"
        answer = await self._ask("POST", url, self._durable_key(), body=order.body)
        if answer.status_code == httpx.codes.CONFLICT:  # it runs: an earlier start was taken, and its answer lost
            return CallAccepted()
        refuse_unless_taken(answer, f"orchestrator {orchestrator}")
        if answer.status_code == httpx.codes.BAD_REQUEST:
            raise CallRefused(f"orchestrator {orchestrator} was not started: {shown_body(answer)}", FailureCause.NODE)
        if answer.status_code != httpx.codes.ACCEPTED:
            raise AppUnreachable(f"orchestrator {orchestrator} answered {answer.status_code}: {shown_body(answer)}")
        return CallAccepted()

    def _followed(self, path: str, answer: httpx.Response) -> CallAccepted | CallResult:
        """A call that goes on after its answer."""
        assert self._app is not None
        told = _json_in(answer)
        status, terminate = status_address(told, answer.headers.get("location")), terminate_address(told)
        if status is None:
            return CallResult(0, "accepted: the function does not say where its result is", answer.text)
        if not self._app.is_ours(status) or (terminate and not self._app.is_ours(terminate)):
            words = f"lost: {path} gave a status address outside of its app, which is not followed"
            return CallResult(None, words)
        return CallAccepted(json.dumps({"status": status, "terminate": terminate}))

    def _node(self, function: AzureFunction) -> Node:
        region = self._settings.region
        labels = {} if region is None else {REGION_LABEL: region}
        return function_node(
            function.node_name,
            self._backend,
            function.name,
            concurrency=function.concurrency,
            memory_bytes=function.memory,
            cores=function.cpu,
            price=self._settings.price,
            labels=labels | function.labels,
            place="azure" if region is None else f"azure/{region}",
            start_up_s=self._settings.cold_start_s,
        )

    def _instance(self, key: str) -> str:
        return f"{WEBHOOKS}/instances/{quote(key)}"

    def _durable_key(self) -> str | None:
        key = self._settings.durable_key
        return None if key is None else key.get_secret_value()

    async def _ask(self, method: str, url: str, key: str | None, **fields: Any) -> httpx.Response:
        if self._app is None:
            raise AppUnreachable("the backend is closed")
        return await self._app.ask(method, url, key, **fields)


def _json_in(answer: httpx.Response) -> Any:
    try:
        return answer.json()
    except ValueError:
        return None
