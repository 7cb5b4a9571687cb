"""Backends that were added while the server ran are kept until they are removed."""

from collections.abc import Callable

from tests.contract.store.records import NOW

from dovetail.model.record import BackendRecord, HistoryLine
from dovetail.store.contract import Store

LAB = BackendRecord("lab", "spool", '{"folder":"/srv"}', NOW)


def test_what_was_added_is_there_after_a_restart(store: Store, restart: Callable[[], Store]) -> None:
    docker = BackendRecord("far", "docker", "{}", NOW + 1)
    store.put_backend(LAB)
    store.put_backend(docker)
    assert restart().backends() == [docker, LAB]


def test_the_last_word_on_a_name_counts(store: Store, restart: Callable[[], Store]) -> None:
    store.put_backend(LAB)
    changed = BackendRecord("lab", "spool", '{"folder":"/new"}', NOW + 5)
    store.put_backend(changed)
    assert store.backends() == [changed]
    store.remove_backend("lab")
    store.remove_backend("lab")
    assert restart().backends() == []


def test_a_change_comes_with_its_line_of_history(store: Store) -> None:
    store.put_backend(LAB, HistoryLine(NOW, "backend", "backend lab added by ann", backend="lab"))
    store.put_backend(BackendRecord("far", "docker", "{}", NOW), HistoryLine(NOW, "backend", "other", backend="far"))
    store.remove_backend("lab", HistoryLine(NOW + 5, "backend", "backend lab removed", backend="lab"))
    assert [(line["at"], line["message"]) for line in store.history(backend="lab")] == [
        (NOW, "backend lab added by ann"),
        (NOW + 5, "backend lab removed"),
    ]
    assert len(store.history()) == 3
