"""Answers the questions that come with the orders: about the output of attempts."""

import asyncio
import logging
from typing import Any

from dovetail.agent.executors import Executors
from dovetail.client import Client, ConnectError, DovetailError
from dovetail.responses.nodes import AgentCall

_log = logging.getLogger(__name__)


async def answer(call: AgentCall, node: str, work: Executors, client: Client) -> None:
    found = await _looked_up(call, work)
    try:
        await asyncio.to_thread(client.answer_call, node, call["id"], found)
    except (ConnectError, DovetailError) as error:  # who asked has given up, and may ask again
        _log.info("the answer to a question about attempt %s was not taken: %s", call["key"], error)


async def _looked_up(call: AgentCall, work: Executors) -> dict[str, Any]:
    key, asked = call["key"], call["asked"]
    try:
        if call["kind"] == "logs":
            chunk = await work.logs(key, int(asked["offset"]), int(asked["limit"]))
            return {"text": chunk.text, "next_offset": chunk.next_offset, "ended": chunk.ended}
        if call["kind"] == "log_tail":
            return {"offset": await work.log_tail(key, int(asked["lines"]))}
        if call["kind"] == "log_since":
            return {"offset": await work.log_since(key, float(asked["at"]))}
    except (KeyError, OSError, ValueError):
        pass
    return {"unknown": True}
