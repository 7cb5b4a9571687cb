"""Live migrations of VMs between nodes with agents, as the server drives them (`dovetail.backends.peer_migration`).

Nothing here outlives the server: both agents write down what they were told, and name their open moves with every
report. Guarantees: one move of an attempt at a time. It is ordered from the target only when it is certain that it is
there, and its agents forget where it was only when the store knows where it is; so after a crash of anybody, the same
questions lead to the same answer. A node that claims an attempt of another one gets it only if the other agrees.
"""

import asyncio
import contextlib
import logging
import secrets
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from dovetail.asyncio_tasks import cancel
from dovetail.backends.contract import Assignment, NeverMigrated, Refusal, StillMoving
from dovetail.backends.peer_migration import MachinePresence, PeerMove, Whereabouts, whereabouts
from dovetail.backends.registered.agents import NodeAgents
from dovetail.backends.registered.calls import AgentSilent, CallKind
from dovetail.backends.registered.order_book import OrderBook
from dovetail.backends.vm_control import MigrationProgress
from dovetail.model.workloads.workload import WorkloadKind

PATIENCE_S = 5.0  # of a caller; a migration goes on without one
ASKED_WITHIN_S = 10.0
BEGUN_WITHIN_S = 45.0
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.2, 2.0
PROGRESS_KEPT = 1000
_CANNOT_SAY = (AgentSilent, Refusal, KeyError)

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Going:
    """`target`: a caller wants it there; None: a move from before a restart is settled."""

    task: "asyncio.Task[None]"
    target: str | None


class VmMoves:
    def __init__(self, book: OrderBook, agents: NodeAgents) -> None:
        self._book, self._agents = book, agents
        self._going: dict[str, _Going] = {}
        self._closing: dict[str, asyncio.Task[None]] = {}
        self._progress: OrderedDict[str, MigrationProgress] = OrderedDict()

    def progress(self, key: str) -> MigrationProgress | None:
        return self._progress.get(key)

    def is_open(self, key: str) -> bool:
        going = self._going.get(key)
        return key in self._closing or (going is not None and not going.task.done())

    async def close(self) -> None:
        await cancel(*(one.task for one in self._going.values()), *self._closing.values())
        self._going, self._closing = {}, {}

    # --- what callers want -------------------------------------------------------------------------------------

    async def check(self, key: str, node: str) -> None:
        """Raises Refusal if it could not be migrated there now."""
        await self._agreed(self._movable(key), node)

    async def migrate(self, key: str, node: str) -> None:
        """Raises Refusal if it still runs where it was, StillMoving if that takes long."""
        while self._movable(key).node != node:
            going = self._going.get(key)
            if going is None:
                task = asyncio.create_task(self._move(key, node), name=f"registered: migration of {key}")
                going = self._going[key] = _Going(task, node)
            await asyncio.wait({going.task}, timeout=PATIENCE_S)
            if not going.task.done():
                raise StillMoving(f"attempt {key} is being migrated to {going.target or 'where it belongs'}")
            self._going.pop(key, None)
            if going.target == node:
                going.task.result()

    def heard(self, node: str, moves: Sequence[PeerMove]) -> None:
        """The agent of the node names moves that are not settled."""
        for move in moves:
            known = self._book.last_node(move.key) is not None
            if node in (move.source, move.target) and not self.is_open(move.key) and (known or self._book.all_known):
                if move.key in self._going and self._book.ordered(move.key) is not None:
                    continue  # its caller has not heard the end yet, and comes again
                task = asyncio.create_task(self._resolve(node, move), name=f"registered: settling {move.key}")
                self._going[move.key] = _Going(task, None)
                task.add_done_callback(lambda task, key=move.key: self._resolved(key, task))  # type: ignore[misc]

    def _closed(self, key: str, task: "asyncio.Task[None]") -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.warning("the migration of attempt %s is not settled yet: %s", key, error)
        if self._closing.get(key) is task:
            del self._closing[key]

    def _resolved(self, key: str, task: "asyncio.Task[None]") -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.warning("a migration of attempt %s is not settled yet: %s", key, error)
        going = self._going.get(key)
        if going is not None and going.task is task:
            del self._going[key]

    # --- one migration -----------------------------------------------------------------------------------------

    def _movable(self, key: str) -> Assignment:
        found = self._book.ordered(key)
        if found is None:
            raise Refusal("it does not run, so it cannot be migrated")
        if found.spec.kind is not WorkloadKind.VM:
            raise NeverMigrated("only VMs are migrated live")
        return found

    async def _agreed(self, found: Assignment, node: str) -> dict[str, Any]:
        """Both sides can do it. Returns the address of the target. Raises Refusal."""
        leaving = await self._asked(found.node, "vm_leaving", found.key, "leaving")
        if self._book.all_known and not self._agents.has(node):
            raise Refusal(f"node {node} has no agent that could take it in; start one there: dovetail agent")
        return await self._asked(node, "vm_peer", found.key, "peer", leaving=leaving)

    async def _asked(self, node: str, kind: CallKind, key: str, field: str, **asked: Any) -> dict[str, Any]:
        """Raises Refusal, also for an agent that does not know the question, and AgentSilent."""
        if not self._agents.has(node):
            raise AgentSilent(f"the agent of node {node} is not heard now")
        try:
            answer = await self._agents.ask(node, kind, key, ASKED_WITHIN_S, **asked)
        except KeyError:
            answer = {}
        found: dict[str, Any] | None = answer.get(field)
        if found is None:
            raise Refusal(f"the agent of node {node} cannot migrate VMs; update it")
        return found

    async def _move(self, key: str, node: str) -> None:
        if (closing := self._closing.get(key)) is not None:
            await asyncio.wait({closing})
        found = self._movable(key)
        before = await self._open_move(found, node)
        if before is not None and before.source == found.node:
            await self._settle(before, surely_sent=before.target == node)
        elif before is not None:
            await self._close(before)
        found = self._movable(key)
        if found.node == node:
            return
        peer = await self._agreed(found, node)
        move = PeerMove(key, found.node, node, secrets.token_hex(8))
        self._note(key, MigrationProgress(found.node, node, "running", 0.0))
        words = ""
        try:
            await self._begun(node, "vm_expect", key, move=asdict(move))
            await self._begun(found.node, "vm_send", key, move=asdict(move), peer=peer)
        except _CANNOT_SAY as error:
            words = str(error)
        await self._settle(move, surely_sent=True)
        after = self._book.ordered(key)
        if after is not None and after.node == node:
            self._note(key, replace(self._progress[key], state="done", words=""))
            return
        words = words or self._progress[key].words or "it stayed where it was"
        self._note(key, replace(self._progress[key], state="failed", words=words))
        raise Refusal(f"{found.node} could not migrate it to {node}: {words}")

    async def _begun(self, node: str, kind: CallKind, key: str, **asked: Any) -> None:
        """An agent that is started anew meanwhile is asked again."""
        gives_up_at = asyncio.get_running_loop().time() + BEGUN_WITHIN_S
        while True:
            try:
                await self._agents.ask(node, kind, key, ASKED_WITHIN_S, **asked)
            except AgentSilent:
                if asyncio.get_running_loop().time() > gives_up_at:
                    raise
            else:
                return

    async def _open_move(self, found: Assignment, node: str) -> PeerMove | None:
        """From before a restart. Raises AgentSilent if nobody can say."""
        try:
            presence = _presence(await self._asked(found.node, "vm_presence", found.key, "presence"))
        except AgentSilent:
            there = await self._seen(node, found.key)
            if there is None or there.move is None or there.move.source != found.node:
                raise
            return there.move
        return presence.move

    async def _settle(self, move: PeerMove, *, surely_sent: bool) -> None:
        """Find out where it is, and tell both. Returns when that is done, or when it is not ordered there any more."""
        looks, pause_s = 0, FIRST_PAUSE_S
        while (found := self._book.ordered(move.key)) is not None and found.node == move.source:
            source = await self._seen(move.source, move.key)
            if source is not None and (source.move is None or source.move.number != move.number):
                where = Whereabouts.SOURCE  # it never began, or was settled before
            else:
                target = None if source is not None and source.moving else await self._seen(move.target, move.key)
                if target is not None and (target.move is None or target.move.number != move.number):
                    target = MachinePresence()  # what is there did not come with this move
                looks += 1
                where = whereabouts(source, target, surely_sent=surely_sent, looks=looks)
                self._note_seen(move, source, target)
            if self._book.ordered(move.key) is not found:
                continue  # it has ended meanwhile
            if where is Whereabouts.TARGET:
                await self._book.hand_to(move.key, move.target)
                self._begin_close(move)
                return
            if where is Whereabouts.SOURCE:
                await self._tell(move, move.source)
                return
            await asyncio.sleep(pause_s)
            pause_s = min(LONGEST_PAUSE_S, pause_s * 1.5)

    async def _tell(self, move: PeerMove, node: str) -> None:
        """It is on this node. Whoever does not hear it asks again with its next report. The target expects it until
        the source cannot begin to send it any more."""
        for side in (move.source, move.target):
            try:
                await self._tell_one(side, move, node)
            except _CANNOT_SAY as error:
                _log.info("node %s was not told that attempt %s is on %s: %s", side, move.key, node, error)
                if node == move.source:
                    return

    async def _tell_one(self, side: str, move: PeerMove, node: str) -> None:
        await self._agents.ask(side, "vm_settle", move.key, ASKED_WITHIN_S, number=move.number, at=node)

    def _begin_close(self, move: PeerMove) -> None:
        task = asyncio.create_task(self._close(move), name=f"registered: end of the migration of {move.key}")
        self._closing[move.key] = task
        task.add_done_callback(lambda task: self._closed(move.key, task))

    async def _close(self, move: PeerMove) -> None:
        """Both may forget it when the store knows where it is: a server that is killed before asks them again."""
        pause_s = FIRST_PAUSE_S
        while await self._book.stored_node(move.key) == move.source:
            if self._book.last_node(move.key) != move.target:
                return
            await asyncio.sleep(pause_s)
            pause_s = min(LONGEST_PAUSE_S, pause_s * 1.5)
        await self._tell(move, move.target)

    async def _resolve(self, node: str, move: PeerMove) -> None:
        """A move that nobody waits for here."""
        at, found = self._book.last_node(move.key), self._book.ordered(move.key)
        if found is not None and at == move.source:
            await self._settle(move, surely_sent=False)
        elif found is not None and at == move.target:
            self._begin_close(move)
        else:  # it ended, or nobody wants it any more, or it has moved on
            with contextlib.suppress(*_CANNOT_SAY):
                await self._tell_one(node, move, at or move.source)

    async def _seen(self, node: str, key: str) -> MachinePresence | None:
        """None: it cannot say now."""
        try:
            return _presence(await self._asked(node, "vm_presence", key, "presence"))
        except _CANNOT_SAY as error:
            _log.debug("node %s cannot say where attempt %s is: %s", node, key, error)
            return None

    # --- progress ----------------------------------------------------------------------------------------------

    def _note_seen(self, move: PeerMove, source: MachinePresence | None, target: MachinePresence | None) -> None:
        """The target knows the totals when it is over; the source alone knows how long it took, and why it failed."""
        if move.key not in self._progress:
            self._note(move.key, MigrationProgress(move.source, move.target, "running", 0.0))
        told = [one.progress for one in (source, target) if one is not None and one.progress is not None]
        best = max(told, key=lambda one: (one.downtime_s is not None, one.total_bytes), default=None)
        known = self._progress[move.key]
        if best is not None and best.total_bytes:
            known = replace(best, elapsed_s=max(one.elapsed_s for one in told))
        words = next((one.words for one in told if one.words), known.words)
        self._note(move.key, replace(known, source=move.source, target=move.target, state="running", words=words))

    def _note(self, key: str, progress: MigrationProgress) -> None:
        self._progress[key] = progress
        self._progress.move_to_end(key)
        if len(self._progress) > PROGRESS_KEPT:
            self._progress.popitem(last=False)


def _presence(answer: dict[str, Any]) -> MachinePresence:
    move, progress = answer["move"], answer["progress"]
    return MachinePresence(
        answer["power"],
        answer["moving"],
        None if move is None else PeerMove(**move),
        None if progress is None else MigrationProgress(**progress),
    )
