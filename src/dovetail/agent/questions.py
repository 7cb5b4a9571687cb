"""Answers the questions that come with the orders: about the output of attempts, and about VMs."""

import asyncio
import logging
from dataclasses import asdict
from typing import Any

from dovetail.agent.executors import Executors
from dovetail.backends.contract import Refusal
from dovetail.backends.peer_migration import LeavingMachine, PeerAddress, PeerMigration, PeerMove
from dovetail.backends.vm_control import MachineControl, MachinePower, MachineSeen
from dovetail.client import Client, ConnectError, DovetailError
from dovetail.responses.nodes import AgentCall

_MIGRATION = ("vm_leaving", "vm_peer", "vm_expect", "vm_send", "vm_presence", "vm_settle")
_log = logging.getLogger(__name__)


async def answer(call: AgentCall, node: str, work: Executors, client: Client) -> None:
    about_vms = call["kind"].startswith("vm")
    found = await (_asked_hypervisor(call, node, work) if about_vms else _looked_up(call, work))
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


async def _asked_hypervisor(call: AgentCall, node: str, work: Executors) -> dict[str, Any]:
    try:
        if call["kind"] in _MIGRATION:
            return await _migrated(call, node, work.peers)
        return await _done(call, node, work.vms)
    except (Refusal, TimeoutError) as refusal:
        return {"refused": str(refusal)}
    except KeyError:
        return {"unknown": True}
    except Exception as error:  # who asked waits for an answer, whatever the hypervisor says
        _log.exception("the hypervisor did not do it: %s of attempt %s", call["kind"], call["key"])
        return {"refused": f"the hypervisor did not do it: {error}"}


async def _done(call: AgentCall, node: str, vms: MachineControl) -> dict[str, Any]:
    kind, key, asked = call["kind"], call["key"], call["asked"]
    if kind == "vms":
        return {"vms": [_told(one) for one in await vms.machines([node])]}
    if kind == "vm_offer":
        return {"vms": [_told(await vms.offer_for_adoption(node, asked["name"]))]}
    if kind == "vm_snapshots":
        return {"snapshots": [asdict(one) for one in await vms.snapshots(key)]}
    if kind == "vm_power":
        await vms.set_power(key, MachinePower(asked["power"]))
    elif kind == "vm_snapshot":
        await vms.take_snapshot(key, asked["name"])
    elif kind == "vm_revert":
        await vms.revert_to_snapshot(key, asked["name"])
    elif kind == "vm_remove_snapshot":
        await vms.remove_snapshot(key, asked["name"])
    else:
        return {"refused": f"this agent does not know how to do {kind}; update it"}
    return {}


async def _migrated(call: AgentCall, node: str, peers: PeerMigration) -> dict[str, Any]:
    kind, key, asked = call["kind"], call["key"], call["asked"]
    if kind == "vm_leaving":
        return {"leaving": asdict(await peers.leaving(key))}
    if kind == "vm_peer":
        return {"peer": asdict(await peers.peer(node, LeavingMachine(**asked["leaving"])))}
    if kind == "vm_presence":
        return {"presence": asdict(await peers.presence(key))}
    if kind == "vm_expect":
        await peers.expect(PeerMove(**asked["move"]))
    elif kind == "vm_send":
        await peers.send(PeerMove(**asked["move"]), PeerAddress(**asked["peer"]))
    else:
        await peers.settle(key, asked["number"], asked["at"])
    return {}


def _told(seen: MachineSeen) -> dict[str, Any]:
    """The server knows which node this is."""
    return {name: value for name, value in asdict(seen).items() if name != "node"}
