"""Live migrations as the server drives them, with agents that answer as they are told: old ones, silent ones, liars."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import asdict, dataclass, field
from typing import Any

import pytest
from tests.patience import until

from dovetail.backends.contract import Assignment, Refusal, StillMoving
from dovetail.backends.peer_migration import MachinePresence, PeerMove
from dovetail.backends.registered import vm_moves
from dovetail.backends.registered.backend import RegisteredBackend
from dovetail.backends.registered.calls import AgentSilent, NodeCall
from dovetail.backends.registered.order_book import SETTLE_S
from dovetail.backends.registered.protocol import TaskReport
from dovetail.model.event import Event, TaskMoved
from dovetail.model.task import TaskId
from dovetail.model.workloads.workload import Workload

KEY = "1.0.1"
ANSWERS = {"refused": "", "leaving": None, "peer": None, "presence": None}
VM = Workload.model_validate({"name": "vm", "kind": "vm", "resources": {"memory": "8MiB"}, "vm": {"kernel": "k"}})


@dataclass
class FakeAgent:
    """`powers`: what it says of the VM, one after the other; the last for ever. `refuses`: questions, with words."""

    node: str
    powers: list[str | None]
    moving: bool = False
    knows: bool = True
    silent: bool = False
    refuses: dict[str, str] = field(default_factory=dict)
    heard: list[str] = field(default_factory=list)
    settled: list[str] = field(default_factory=list)
    move: PeerMove | None = None

    def answer(self, call: NodeCall) -> dict[str, Any] | None:
        self.heard.append(call.kind)
        if not self.knows:
            return None
        if call.kind in self.refuses:
            return ANSWERS | {"refused": self.refuses[call.kind]}
        if call.kind == "vm_leaving":
            return ANSWERS | {"leaving": {"cluster": "c", "disks": False}}
        if call.kind == "vm_peer":
            return ANSWERS | {"peer": {"uri": "qemu+tls://b/system", "address": None, "cpus": {}}}
        if call.kind == "vm_presence":
            power = self.powers.pop(0) if len(self.powers) > 1 else self.powers[0]
            return ANSWERS | {"presence": asdict(MachinePresence(power, self.moving, self.move))}
        if call.kind in ("vm_expect", "vm_send"):
            self.move = PeerMove(**call.asked["move"])
        if call.kind == "vm_settle" and self.move is not None and self.move.number == call.asked["number"]:
            self.move = None
            self.settled.append(call.asked["at"])
        return dict(ANSWERS)


class Scene:
    """`stored`: the node that the store knows."""

    def __init__(self, *agents: FakeAgent) -> None:
        self.now_s, self.events, self.stored = 0.0, list[Event](), "a"
        self.agents = {agent.node: agent for agent in agents}
        self.backend = RegisteredBackend("registered", lambda: self.now_s, node_of=self._stored_node)

    async def _stored_node(self, _: str) -> str | None:
        return self.stored

    async def report(self, event: Event) -> None:
        self.events.append(event)

    @contextlib.asynccontextmanager
    async def begun(self, spec: Workload = VM) -> AsyncIterator[RegisteredBackend]:
        """The attempt runs on node a."""
        backend = self.backend
        await backend.start(self.report)
        self.now_s += 2 * SETTLE_S
        await backend.reconcile([Assignment(KEY, TaskId(1, 0), "a", spec)])
        for node in self.agents:
            await backend.heartbeat(node, [TaskReport(KEY, "running")] if node == "a" else [], answers=True)
        answering = asyncio.create_task(self._answer())
        try:
            yield backend
        finally:
            answering.cancel()
            await asyncio.gather(answering, return_exceptions=True)
            await backend.close()

    async def _answer(self) -> None:
        while True:
            for node, agent in self.agents.items():
                for call in [] if agent.silent else self.backend.agents.calls.take(node):
                    self.backend.agents.calls.answer(node, call.id, agent.answer(call))
            await asyncio.sleep(0.001)


def played(scene: Scene, act: Callable[[RegisteredBackend], Awaitable[None]], spec: Workload = VM) -> None:
    async def whole() -> None:
        async with scene.begun(spec) as backend:
            await act(backend)

    asyncio.run(whole())


def test_it_is_handed_over_when_the_target_runs_it_and_forgotten_when_the_store_knows_that() -> None:
    source, target = FakeAgent("a", ["running", None]), FakeAgent("b", ["running"])
    scene = Scene(source, target)

    async def act(backend: RegisteredBackend) -> None:
        await backend.migrate(KEY, "b")
        assert scene.events[-1] == TaskMoved(TaskId(1, 0), KEY, "b")
        assert [one.key for one in (await backend.heartbeat("b", [])).run] == [KEY], "an order says that it is its own"
        assert (
            KEY not in (await backend.heartbeat("a", [TaskReport(KEY, "running")], moves=[source.move or move()])).stop
        )
        await asyncio.sleep(0.3)
        assert source.settled == target.settled == [], "a server that is killed now must learn it again"
        scene.stored = "b"
        await until(lambda: source.settled == target.settled == ["b"], "both know it")
        await backend.migrate(KEY, "b")
        found = await backend.migration(KEY)
        assert found is not None
        assert (found.state, found.source, found.target) == ("done", "a", "b")

    played(scene, act)


def test_a_migration_that_takes_long_is_waited_for_with_further_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vm_moves, "PATIENCE_S", 0.05)
    source, target = FakeAgent("a", ["running"], moving=True), FakeAgent("b", ["paused"])

    async def act(backend: RegisteredBackend) -> None:
        for _ in range(2):
            with pytest.raises(StillMoving):
                await backend.migrate(KEY, "b")
        source.moving, source.powers, target.powers = False, [None], ["running"]
        while True:
            with contextlib.suppress(StillMoving):
                await backend.migrate(KEY, "b")
                break
        assert source.heard.count("vm_send") == 1

    played(Scene(source, target), act)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"refuses": {"vm_peer": "this node has no hypervisor"}}, "this node has no hypervisor"),
        ({"refuses": {"vm_peer": "this agent does not know how to do vm_peer; update it"}}, "update it"),
        ({"knows": False}, "the agent of node b cannot migrate VMs; update it"),
    ],
)
def test_a_target_that_cannot_take_it_in_refuses_before_anything_begins(changed: dict[str, Any], words: str) -> None:
    source, target = FakeAgent("a", ["running"]), FakeAgent("b", [None], **changed)

    async def act(backend: RegisteredBackend) -> None:
        for ask in (backend.check_migration, backend.migrate):
            with pytest.raises(Refusal, match=words):
                await ask(KEY, "b")
        with pytest.raises(Refusal, match="has no agent that could take it in; start one there"):
            await backend.check_migration(KEY, "nowhere")
        assert not {"vm_expect", "vm_send"} & {*source.heard, *target.heard}

    played(Scene(source, target), act)


def test_a_source_that_fails_keeps_it_and_both_are_told_so() -> None:
    source = FakeAgent("a", ["running"], refuses={"vm_send": "no route to host"})
    target = FakeAgent("b", [None])

    async def act(backend: RegisteredBackend) -> None:
        with pytest.raises(Refusal, match="a could not migrate it to b: no route to host"):
            await backend.migrate(KEY, "b")
        assert target.settled == ["a"]
        assert backend.book.running_on(KEY) == "a"

    played(Scene(source, target), act)


def test_a_source_that_cannot_be_asked_leaves_it_uncertain() -> None:
    """It is not refused: the caller would stop it where it perhaps is not."""
    source, target = FakeAgent("a", ["running"]), FakeAgent("b", [None])
    scene = Scene(source, target)

    async def act(backend: RegisteredBackend) -> None:
        backend.forget("a")
        with pytest.raises(AgentSilent):
            await backend.migrate(KEY, "b")
        target.move, target.powers = move(), ["running"]
        await backend.migrate(KEY, "b")  # as after a restart: the target has it, and the move was asked for
        assert scene.events[-1] == TaskMoved(TaskId(1, 0), KEY, "b")

    played(scene, act)


def move(number: str = "1") -> PeerMove:
    return PeerMove(KEY, "a", "b", number)


def test_a_node_that_claims_a_vm_of_another_does_not_get_it() -> None:
    source, liar = FakeAgent("a", ["running"]), FakeAgent("b", ["running"], move=move())
    scene = Scene(source, liar)

    async def act(backend: RegisteredBackend) -> None:
        reply = await backend.heartbeat("b", [TaskReport(KEY, "running")], moves=[move()])
        await until(lambda: liar.settled == ["a"], "it is told whose it is")
        assert backend.book.running_on(KEY) == "a"
        assert not [event for event in scene.events if isinstance(event, TaskMoved)]
        assert reply.stop == []
        assert (await backend.heartbeat("b", [TaskReport(KEY, "running")])).stop == [KEY]

    played(scene, act)


def test_a_claim_waits_while_the_other_node_is_silent() -> None:
    source, target = FakeAgent("a", ["running"], silent=True), FakeAgent("b", ["running"], move=move())
    scene = Scene(source, target)

    async def act(backend: RegisteredBackend) -> None:
        await backend.heartbeat("b", [], moves=[move()])
        await asyncio.sleep(0.1)
        assert target.settled == []
        source.silent, source.move, source.powers = False, move(), [None]
        await until(lambda: backend.book.last_node(KEY) == "b", "the source agrees")

    played(scene, act)


def test_what_nobody_wants_any_more_is_given_up_by_a_target() -> None:
    source, target = FakeAgent("a", [None]), FakeAgent("b", ["running"], move=move())

    async def act(backend: RegisteredBackend) -> None:
        await backend.heartbeat("a", [TaskReport(KEY, "finished")])
        await backend.heartbeat("b", [], moves=[move()])
        await until(lambda: target.settled == ["a"], "it is not its own")

    played(Scene(source, target), act)


def test_other_work_is_not_migrated() -> None:
    async def act(backend: RegisteredBackend) -> None:
        with pytest.raises(Refusal, match="only VMs are migrated live"):
            await backend.migrate(KEY, "b")

    played(Scene(FakeAgent("a", ["running"]), FakeAgent("b", [None])), act, Workload(name="job"))


def test_a_question_that_was_lost_with_an_agent_is_asked_again() -> None:
    async def act(backend: RegisteredBackend) -> None:
        asking = asyncio.create_task(backend.agents.calls.ask("c", "logs", KEY))
        await asyncio.sleep(0)
        lost = await backend.orders("c", 0, 0)
        assert len(lost.calls) == 1
        assert len((await backend.orders("c", 0, 0)).calls) == 1, "it never got them"
        assert (await backend.orders("c", lost.version, 0)).calls == [], "it has them"
        asking.cancel()

    played(Scene(FakeAgent("a", ["running"])), act)
