"""What an agent reports, and until when."""

import asyncio
from pathlib import Path
from typing import cast

from dovetail.agent.order_journal import OrderJournal
from dovetail.agent.reports import ReportOutbox
from dovetail.model.command import task_of_key
from dovetail.model.event import TaskFinished, TaskStarted
from dovetail.responses.nodes import RunOrder


def started(key: str) -> TaskStarted:
    return TaskStarted(task_of_key(key), key)


def finished(key: str, code: int | None = 0) -> TaskFinished:
    return TaskFinished(task_of_key(key), key, code, "it ended")


def states(outbox: ReportOutbox) -> list[tuple[str, str]]:
    return [(report["key"], report["state"]) for report in outbox.next()]


def test_what_runs_is_repeated_and_an_end_is_reported_until_it_was_taken() -> None:
    outbox = ReportOutbox()
    outbox.add(started("1.0.1"))
    assert outbox.filled.is_set()
    assert outbox.taken(outbox.next()) == []
    assert states(outbox) == [("1.0.1", "running")]
    outbox.add(finished("1.0.1"))
    assert states(outbox) == states(outbox) == [("1.0.1", "finished")]
    assert outbox.taken(outbox.next()) == ["1.0.1"]
    assert states(outbox) == []


def test_a_start_that_nobody_heard_of_comes_before_its_end() -> None:
    outbox = ReportOutbox()
    outbox.add(started("1.0.1"))
    outbox.add(finished("1.0.1"))
    assert states(outbox) == [("1.0.1", "running"), ("1.0.1", "finished")]
    assert outbox.taken(outbox.next()) == ["1.0.1"]
    assert states(outbox) == []


def test_an_end_that_comes_while_the_report_is_on_its_way_is_not_taken_for_reported() -> None:
    outbox = ReportOutbox()
    outbox.add(started("1.0.1"))
    on_its_way = outbox.next()
    outbox.add(finished("1.0.1"))
    assert outbox.taken(on_its_way) == []
    assert outbox.filled.is_set()
    assert states(outbox) == [("1.0.1", "finished")]


def order(key: str) -> RunOrder:
    fields = {"key": key, "namespace": "default", "name": "work", "replica": 0, "replicas": 1, "resources": {}}
    more = {"run": {"command": ["true"]}, "limits": {}, "deadline": {}, "grace_s": 3.5, "devices": [1]}
    return cast("RunOrder", fields | more)


def test_orders_are_found_again_until_their_end_was_taken(tmp_path: Path) -> None:
    async def scene() -> None:
        journal = OrderJournal(tmp_path, "here")
        assert journal.emptied.is_set()
        journal.keep(order("7.0.1"))
        journal.keep(order("7.0.1"))
        again = OrderJournal(tmp_path, "here")
        assert not again.emptied.is_set()
        [found] = again.all()
        assert (found.key, found.node, found.spec.disruption.grace, found.devices) == ("7.0.1", "here", 3.5, (1,))
        again.drop("7.0.1")
        assert again.emptied.is_set()
        assert OrderJournal(tmp_path, "here").all() == []

    asyncio.run(scene())


def test_what_was_half_written_counts_for_nothing(tmp_path: Path) -> None:
    async def scene() -> None:
        (tmp_path / "7.0.1.json").write_text('{"key": "7.0')
        journal = OrderJournal(tmp_path, "here")
        assert journal.all() == []
        assert journal.emptied.is_set()

    asyncio.run(scene())
