"""Services on a live control plane with a simulated cluster: records, refusals, a controller that fails, odd clocks."""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.patience import wait_for
from tests.unit.api.server import serving, settings_in

from dovetail.client import Client, DovetailError
from dovetail.control.service_controller import owned
from dovetail.control.service_controller.book import ServiceBook
from dovetail.control.service_controller.controller import ServiceController
from dovetail.control.service_controller.desk import KEPT_REVISIONS
from dovetail.control.subsystems.registry import BUILT_IN
from dovetail.model.services.service import Service
from dovetail.services.records import Revision, RolloutState, ServiceRecord
from dovetail.services.replicas import FIRST_PORT
from dovetail.store.subsystem_tables import SubsystemTables

WEB: dict[str, Any] = {"name": "web", "replicas": 2, "resources": {"cpu": "10m"}, "update": {"drain": "0s"}}


@contextmanager
def book_in(folder: Path) -> Iterator[ServiceBook]:
    migrations = BUILT_IN["services"].migrations
    assert migrations is not None
    tables = SubsystemTables("services", folder / "tables.db", migrations)
    try:
        yield ServiceBook(tables)
    finally:
        tables.close()


def record(name: str = "web", target: int = 1, revisions: int = 1, **fields: Any) -> ServiceRecord:
    spec = Service.model_validate({"name": name, **fields})
    made = tuple(Revision(number, spec, 5.0, "ada") for number in range(1, revisions + 1))
    return ServiceRecord("default", name, made, target=target, replicas=2, stable=1)


def settled(client: Client, revision: int, replicas: int = 2, name: str = "web") -> None:
    def look() -> bool:
        row = client.service(name)
        ready = [one for one in row["items"] if one["ready"] and one["revision"] == revision]
        return row["rollout"] == "complete" and len(ready) == len(row["items"]) == replicas

    wait_for(look, f"{name} has {replicas} replicas of revision {revision}")


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with serving(settings_in(tmp_path_factory.mktemp("data"))) as url, Client(url) as found:
        yield found


# --- the book ------------------------------------------------------------------------------------------------


def test_records_come_back_as_they_were(tmp_path: Path) -> None:
    kept = record(revisions=3, target=2, ports=[{"name": "http"}], health={"readiness": {"http": "/ok"}})
    kept = replace(kept, rollout=RolloutState.ROLLED_BACK, message="why", best=1, progress_at=7.5, active=2)
    with book_in(tmp_path) as book:
        book.change(kept.key, lambda _: kept)
        book.change(("default", "gone"), lambda _: record("gone"))
        book.change(("default", "gone"), lambda _: None)
    with book_in(tmp_path) as book:
        assert book.records() == {kept.key: kept}


def test_what_a_change_raises_changes_nothing(tmp_path: Path) -> None:
    def refuse(_: ServiceRecord | None) -> ServiceRecord:
        raise LookupError("no")

    with book_in(tmp_path) as book:
        book.change(("default", "web"), lambda _: record())
        with pytest.raises(LookupError):
            book.change(("default", "web"), refuse)
        assert book.get(("default", "web")) == record()


def test_earlier_revisions_that_cannot_be_read_are_left_out_and_a_target_makes_the_service_unreadable(
    tmp_path: Path,
) -> None:
    with book_in(tmp_path) as book:
        for name in ("early", "late"):
            kept = record(name, target=2, revisions=2)
            book.change(kept.key, lambda _, kept=kept: kept)  # type: ignore[misc]
    with sqlite3.connect(tmp_path / "tables.db") as tables:
        tables.execute("UPDATE revisions SET spec = '{\"name\": 7}' WHERE name = 'early' AND number = 1")
        tables.execute("UPDATE revisions SET spec = 'nonsense' WHERE name = 'late' AND number = 2")
    tables.close()
    with book_in(tmp_path) as book:
        (found,) = book.records().values()
        assert (found.name, found.stable, [one.number for one in found.revisions]) == ("early", 0, [2])
        lost = book.unreadable(("default", "late"))
        assert lost is not None
        assert lost.newest == 2


def test_the_clock_of_decisions_goes_on_evenly_when_the_clock_of_the_machine_is_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with book_in(tmp_path) as book:
        before, real = book.now(), time.time
        for jump_s in (86_400, -86_400):
            monkeypatch.setattr(time, "time", lambda jump_s=jump_s: real() + jump_s)
            assert before <= book.now() < before + 3600


# --- refusals ------------------------------------------------------------------------------------------------


def test_what_cannot_be_done_is_refused_with_what_can(client: Client) -> None:
    client.apply(WEB | {"name": "strict", "autoscale": {"max": 3, "target": 1, "query": {"url": "http://x"}}})
    for call, words in (
        (lambda: client.scale("strict", 9), "strict scales itself between 1 and 3 replicas"),
        (lambda: client.undo_rollout("strict"), "strict has no earlier revision than 1"),
        (lambda: client.undo_rollout("strict", 7), "strict has no revision 7; it has 1"),
        (lambda: client.undo_rollout("strict", 1), "strict has revision 1 already"),
        (lambda: client.service("strickt"), "no service 'strickt'.*Did you mean 'strict'"),
        (lambda: client.submit([WEB | {"kind": "service"}]), "is a service; dovetail apply -f FILE"),
        (lambda: client.apply(WEB | {"queue": "nowhere"}), "nowhere"),
        (lambda: client.apply([WEB, WEB]), "name"),
    ):
        with pytest.raises(DovetailError, match=words):
            call()
    client.remove_service("strict")
    wait_for(lambda: not client.services())


def test_a_definition_without_a_number_of_replicas_leaves_it_as_it_is(client: Client) -> None:
    client.apply(WEB)
    client.scale("web", 3)
    without = {name: value for name, value in WEB.items() if name != "replicas"}
    assert client.apply(without)[0]["outcome"] == "unchanged"
    assert client.apply(WEB)[0]["changes"] == [{"field": "replicas", "before": 3, "after": 2}]
    client.remove_service("web")
    wait_for(lambda: not client.services())


def test_old_revisions_are_forgotten_and_those_in_use_are_not(client: Client) -> None:
    client.apply(WEB | {"replicas": 0})
    settled(client, 1, 0)
    for _ in range(KEPT_REVISIONS + 3):
        client.restart_service("web")
    numbers = [row["number"] for row in client.service("web")["revisions"]]
    assert len(numbers) == KEPT_REVISIONS
    assert numbers[-1] == KEPT_REVISIONS + 4
    client.remove_service("web")
    wait_for(lambda: not client.services())


def test_a_replica_that_somebody_cancels_is_made_again(client: Client) -> None:
    client.apply(WEB)
    settled(client, 1)
    before = client.workload("web.1")["id"]
    client.cancel("web-r1-1")
    wait_for(
        lambda: [one["workload"] != before for one in client.service("web")["items"] if one["index"] == 1] == [True]
    )
    settled(client, 1)
    client.remove_service("web")
    wait_for(lambda: not client.services())


def test_work_that_only_looks_like_a_replica_is_left_alone(tmp_path: Path) -> None:
    labels = {"dovetail/service": "mine", "dovetail/revision": "1"}
    for _ in range(2):  # the second server finds what the first one left
        with serving(settings_in(tmp_path)) as url, Client(url) as own:
            if not own.workloads()["items"]:
                own.submit({"name": "mine-r1-0", "labels": labels, "resources": {"cpu": 1}})
            own.apply(WEB | {"replicas": 1})
            settled(own, 1, 1)
            assert own.workload("mine-r1-0")["state"] == "running"


# --- trouble -------------------------------------------------------------------------------------------------


def test_a_controller_that_fails_in_the_middle_of_an_update_goes_on_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, left = ServiceController._take_away, [2]

    async def fail_twice(self: ServiceController, *args: Any) -> None:
        await real(self, *args)
        if left[0] and any(owned.name.revision == 2 for owned in self._owned.values()):
            left[0] -= 1
            raise OSError("the disk is gone")

    with serving(settings_in(tmp_path)) as url, Client(url) as own:
        own.apply(WEB)
        settled(own, 1)
        monkeypatch.setattr(ServiceController, "_take_away", fail_twice)
        own.apply(WEB | {"labels": {"version": "2"}})
        settled(own, 2)
        assert left == [0]


def test_replicas_wait_when_all_ports_are_given_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(owned, "LAST_PORT", FIRST_PORT + 2)
    with serving(settings_in(tmp_path)) as url, Client(url) as own:
        own.apply(WEB | {"replicas": 4, "ports": [{"name": "http"}]})
        wait_for(lambda: own.service("web")["ready"] == 3)
        message = wait_for(lambda: own.service("web")["message"])
        assert "write the port http as a number" in message
        own.scale("web", 3)
        settled(own, 1, 3)


def test_damaged_tables_of_services_leave_jobs_alone(tmp_path: Path) -> None:
    with serving(settings_in(tmp_path)) as url, Client(url) as own:
        own.apply(WEB)
        settled(own, 1)
    (file,) = tmp_path.rglob("services/**/tables.db")
    for left in file.parent.glob("tables.db-*"):
        left.unlink()
    file.write_bytes(b"not a database" * 1000)
    with serving(settings_in(tmp_path)) as url, Client(url) as own:
        own.submit({"name": "job", "resources": {"cpu": 1}})
        wait_for(lambda: own.workload("job")["state"] == "running")
        assert own.names("workloads", "jo") == ["job"]
        assert own.workload("web-r1-0")["state"] == "running", "replicas are left as they are"
        with pytest.raises(DovetailError):
            own.services()
        own.cancel("job")
