"""Which replicas are endpoints, from what the controller shows and from steps that became durable."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from dovetail.control import service_controller
from dovetail.control.errors import Unavailable
from dovetail.control.service_controller.book import ReplicaView, ServiceBook
from dovetail.control.services.discovery import DiscoveryService
from dovetail.engine.engine import Engine
from dovetail.engine.questions.questions import Questions
from dovetail.model.batch import Changes
from dovetail.model.node import Node
from dovetail.model.record import NodeRecord, TaskRecord
from dovetail.model.services.service import Service
from dovetail.model.task import TaskId, TaskState
from dovetail.services.records import Revision, ServiceRecord
from dovetail.store.subsystem_tables import SubsystemTables

KEY = ("default", "web")
SPEC = Service.model_validate({"name": "web", "replicas": 2, "ports": [{"name": "http"}]})
RECORD = ServiceRecord(*KEY, (Revision(1, SPEC, 0.0), Revision(2, SPEC, 0.0)), target=2, replicas=2)
NODES = [NodeRecord(Node(name=f"n{n}", address=f"10.0.0.{n}"), n, True, False, "") for n in (1, 2)]

Scene = Callable[[DiscoveryService, ServiceBook], Awaitable[None]]


def view(index: int, revision: int = 1, attempt: int = 1, **more: object) -> ReplicaView:
    workload, node = 10 * revision + index, f"n{index + 1}"
    found = ReplicaView(
        index=index,
        revision=revision,
        workload=workload,
        workload_name=f"web-r{revision}-{index}",
        state="running",
        ready=True,
        message="",
        restarts=0,
        node=node,
        address=f"10.0.0.{index + 1}",
        ports={"http": 20_000},
        started_at=1.0,
        key=f"{workload}.0.{attempt}",
    )
    return replace(found, **more)  # type: ignore[arg-type]


def task(workload: int, state: TaskState, attempt: int = 1) -> Changes:
    return Changes(tasks=[TaskRecord(TaskId(workload, 0), state, attempt)])


@pytest.fixture
def play(tmp_path: Path) -> Iterator[Callable[[Scene], None]]:
    folder = Path(service_controller.__file__).parent / "revisions"
    tables = SubsystemTables("services", tmp_path / "services.db", folder)
    book = ServiceBook(tables)
    book.change(KEY, lambda _: RECORD)

    def play(scene: Scene) -> None:
        async def whole() -> None:
            found = DiscoveryService(book, Questions(Engine()).network)
            found.start(NODES)
            await scene(found, book)

        asyncio.run(whole())

    yield play
    tables.close()


def ids(discovery: DiscoveryService) -> list[int]:
    return [one.workload for one in discovery.endpoints(KEY)[1]]


def test_only_ready_replicas_with_an_address_are_endpoints(play: Callable[[Scene], None]) -> None:
    async def scene(discovery: DiscoveryService, book: ServiceBook) -> None:
        book.show({KEY: (view(0), view(1, ready=False))})
        assert ids(discovery) == [10]
        book.show({KEY: (view(0, address=None), view(1))})
        assert ids(discovery) == [11]

    play(scene)


def test_in_a_blue_green_update_only_the_active_revision_is_reached(play: Callable[[Scene], None]) -> None:
    async def scene(discovery: DiscoveryService, book: ServiceBook) -> None:
        both = {KEY: (view(0), view(0, revision=2, node="n2"))}
        for active, expected in ((1, [10]), (2, [20]), (0, [10, 20])):
            book.change(KEY, lambda record, active=active: replace(record, active=active))  # type: ignore[misc]
            book.show(both)
            assert ids(discovery) == expected

    play(scene)


def test_nothing_is_said_before_the_health_of_old_replicas_is_known(play: Callable[[Scene], None]) -> None:
    async def scene(discovery: DiscoveryService, book: ServiceBook) -> None:
        book.show({KEY: (view(0, ready=False),)}, settled=False)
        with pytest.raises(Unavailable):
            discovery.endpoints(KEY)
        with pytest.raises(Unavailable):
            await discovery.changes(0, 0.01)
        waiting = asyncio.create_task(discovery.changes(0, 60))
        book.show({KEY: (view(0),)})
        assert (await waiting).full

    play(scene)


@pytest.mark.parametrize("state", [TaskState.STOPPING, TaskState.FAILED, TaskState.PENDING, TaskState.CANCELLED])
def test_an_attempt_that_ended_never_comes_back(play: Callable[[Scene], None], state: TaskState) -> None:
    async def scene(discovery: DiscoveryService, book: ServiceBook) -> None:
        book.show({KEY: (view(0), view(1))})
        before = discovery.endpoints()[0]
        waiting = asyncio.create_task(discovery.changes(before, 60))
        await asyncio.sleep(0)
        discovery.take(task(10, state))
        assert ids(discovery) == [11], "at once, without the controller"
        assert (await waiting).dropped == [("endpoint", 10)]
        book.show({KEY: (view(0), view(1))})
        assert ids(discovery) == [11], "what the controller saw before it ended"
        book.show({KEY: (view(0, attempt=2), view(1))})
        assert ids(discovery) == [10, 11], "the next attempt is another one"

    play(scene)


def test_an_attempt_that_ended_before_it_was_shown_is_not_shown(play: Callable[[Scene], None]) -> None:
    async def scene(discovery: DiscoveryService, book: ServiceBook) -> None:
        book.show({KEY: ()})
        discovery.take(task(10, TaskState.FAILED))
        book.show({KEY: (view(0),)})
        assert ids(discovery) == []
        discovery.take(task(10, TaskState.PLACED, attempt=2))
        book.show({KEY: (view(0, attempt=2),)})
        assert ids(discovery) == [10]

    play(scene)


def test_a_replica_that_was_moved_while_it_ran_stays_an_endpoint(play: Callable[[Scene], None]) -> None:
    async def scene(discovery: DiscoveryService, book: ServiceBook) -> None:
        book.show({KEY: (view(0),)})
        discovery.take(task(10, TaskState.STOPPING))
        discovery.take(task(10, TaskState.RUNNING))
        book.show({KEY: (view(0, node="n2", address="10.0.0.2"),)})
        assert discovery.endpoints(KEY)[1][0].address == "10.0.0.2"

    play(scene)


def test_endpoints_go_with_a_silent_node_and_come_back_with_it(play: Callable[[Scene], None]) -> None:
    async def scene(discovery: DiscoveryService, book: ServiceBook) -> None:
        views = {KEY: (view(0), view(1))}
        book.show(views)
        discovery.take(Changes(nodes=[replace(NODES[0], online=False)]))
        assert ids(discovery) == [11]
        book.show(views)
        assert ids(discovery) == [11]
        discovery.take(Changes(nodes=[NODES[0]]))
        book.show(views)
        assert ids(discovery) == [10, 11]
        discovery.take(Changes(nodes_gone=["n2"]))
        assert ids(discovery) == [10]
        assert (await discovery.changes(0, 0)).put.count((("node", "n2"), "10.0.0.2")) == 0

    play(scene)


def test_who_waits_in_vain_hears_that_nothing_changed(play: Callable[[Scene], None]) -> None:
    async def scene(discovery: DiscoveryService, book: ServiceBook) -> None:
        book.show({KEY: (view(0),)})
        version = discovery.endpoints()[0]
        found = await discovery.changes(version, 0.01)
        assert (found.version, found.full, found.put, found.dropped) == (version, False, [], [])

    play(scene)
