"""Backends that were added while the server ran are kept until they are removed."""

from collections.abc import Callable

from tests.contract.store.records import NOW

from dovetail.model.record import BackendRecord
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
