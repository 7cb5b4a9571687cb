"""The table of results, from the side of the control plane: one item a key, written by `handler.py` and by us.

    (no item) ──► running ──► ended        by the function
        └──► ended    └──► stopping ──► ended     a stop: refused before it began, or to be ended by the function

Each step is a conditional write, so of a stop and a start that meet, one wins, and both sides see which. Looks at many
keys within a moment are one request.
"""

import asyncio
import json
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from dovetail.asyncio_tasks import cancel
from dovetail.backends.aws_lambda.clients import AwsUnreachable, LambdaClients, meaning_of, on_thread
from dovetail.backends.serverless.calls import (
    TIME_LIMIT_EXIT,
    CallPhase,
    CallResult,
    CallSeen,
    failed,
    result_of,
)
from dovetail.model.failure_cause import FailureCause

GATHER_S = 0.01
MOST_KEYS = 100  # of one BatchGetItem
_TIMED_OUT = "Task timed out"
T = TypeVar("T")


class ResultTable:
    def __init__(self, clients: LambdaClients, table: str) -> None:
        self._client, self._table = clients.tables, table
        self._asked: dict[str, list[asyncio.Future[CallSeen | None]]] = {}
        self._asking: set[asyncio.Task[None]] = set()

    async def find(self, key: str) -> CallSeen | None:
        answer: asyncio.Future[CallSeen | None] = asyncio.get_running_loop().create_future()
        first = not self._asked
        self._asked.setdefault(key, []).append(answer)
        if first or len(self._asked) >= MOST_KEYS:
            asking = asyncio.create_task(self._ask(0.0 if len(self._asked) >= MOST_KEYS else GATHER_S))
            self._asking.add(asking)
            asking.add_done_callback(self._asking.discard)
        return await answer

    async def stop(self, key: str, reason: str) -> None:
        """Refuse the key if nobody has claimed it; else tell its function to end."""
        if await self._write(
            key,
            "SET #state = :ended, #how = :how, #reason = :reason",
            "attribute_not_exists(#state)",
            {":ended": "ended", ":how": "stopped", ":reason": reason[:2000]},
            {"#state": "state", "#how": "how", "#reason": "reason"},
        ):
            return
        running = {":running": "running", ":stopping": "stopping"}
        await self._write(key, "SET #state = :stopping", "#state = :running", running, {"#state": "state"})

    async def close(self) -> None:
        await cancel(*self._asking)

    async def _write(self, key: str, what: str, condition: str, values: dict[str, str], names: dict[str, str]) -> bool:
        """False if the condition does not hold."""

        def write() -> bool:
            try:
                self._client.update_item(
                    TableName=self._table,
                    Key={"key": {"S": key}},
                    UpdateExpression=what,
                    ConditionExpression=condition,
                    ExpressionAttributeNames=names,
                    ExpressionAttributeValues={name: {"S": text} for name, text in values.items()},
                )
            except self._client.exceptions.ConditionalCheckFailedException:
                return False
            return True

        return await self._called(write)

    async def _ask(self, pause_s: float) -> None:
        await asyncio.sleep(pause_s)
        asked, self._asked = self._asked, {}
        keys = list(asked)
        try:
            for place in range(0, len(keys), MOST_KEYS):
                some = keys[place : place + MOST_KEYS]
                found = await self._called(partial(self._read, some))
                for key in some:
                    _give(asked[key], found.get(key))
        except BaseException as error:
            for answers in asked.values():
                for answer in answers:
                    if not answer.done():
                        answer.set_exception(AwsUnreachable(f"table {self._table}: {error}"))
            if not isinstance(error, Exception):
                raise

    def _read(self, keys: list[str]) -> dict[str, CallSeen]:
        wanted: Any = {self._table: {"Keys": [{"key": {"S": key}} for key in keys], "ConsistentRead": True}}
        found: dict[str, CallSeen] = {}
        while wanted:
            answer = self._client.batch_get_item(RequestItems=wanted)
            for item in answer.get("Responses", {}).get(self._table, []):
                found[item["key"]["S"]] = seen_in_item(item)
            wanted = answer.get("UnprocessedKeys")
        return found

    async def _called(self, work: Callable[[], T]) -> T:
        try:
            return await on_thread(work, f"table {self._table}")
        except Exception as error:
            raise meaning_of(error) from error


def _give(answers: list[asyncio.Future[CallSeen | None]], seen: CallSeen | None) -> None:
    for answer in answers:
        if not answer.done():
            answer.set_result(seen)


def seen_in_item(item: dict[str, Any]) -> CallSeen:
    state = item.get("state", {}).get("S", "")
    beat = int(item["beat"]["N"]) if "beat" in item else None
    if state != "ended":
        return CallSeen(CallPhase.RUNNING, beat=beat)
    how, reason = item.get("how", {}).get("S", ""), item.get("reason", {}).get("S", "")
    output = item.get("output", {}).get("S", "")
    cut = bool(item.get("cut", {}).get("BOOL"))
    return CallSeen(CallPhase.ENDED, _result(how, reason, output, cut=cut), beat)


def _result(how: str, reason: str, output: str, *, cut: bool) -> CallResult:
    if how == "returned":
        if cut:
            words = "its result was longer than a record holds, and was cut"
            return CallResult(0, words, output)
        return result_of(json.loads(output) if output else None)
    if how == "failed":
        found = failed(output or reason)
        return CallResult(found.exit_code, reason or found.reason, found.output, found.cause)
    if reason.startswith(_TIMED_OUT):
        return CallResult(TIME_LIMIT_EXIT, reason, output, FailureCause.WORKLOAD)
    return CallResult(None, reason or "stopped", output)
