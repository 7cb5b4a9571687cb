"""Policies in the store: every version is kept, the last one counts."""

from collections.abc import Callable

import pytest
from tests.contract.store.records import NOW, policy_record

from dovetail.model.batch import Batch, Changes
from dovetail.model.record import PolicyRecord
from dovetail.store.contract import Store, StoreError

Restart = Callable[[], Store]


def written(store: Store, *records: PolicyRecord) -> None:
    store.write(Batch(changes=Changes(policies=list(records))))


def test_of_each_policy_the_last_version_is_restored(store: Store, restart: Restart) -> None:
    written(store, policy_record("ssd", 1), policy_record("apart", 1))
    written(store, policy_record("ssd", 2, author="bob"))
    assert restart().restore().policies == [policy_record("apart", 1), policy_record("ssd", 2, author="bob")]


def test_several_versions_may_come_in_one_step(store: Store, restart: Restart) -> None:
    written(store, policy_record("ssd", 1), policy_record("ssd", 2), policy_record("ssd", 3))
    again = restart()
    assert again.restore().policies == [policy_record("ssd", 3)]
    assert [row["version"] for row in again.policy_versions("ssd")] == [3, 2, 1]


def test_every_version_can_be_read_with_who_made_it_and_when(store: Store) -> None:
    written(store, policy_record("ssd", 1), policy_record("other", 1))
    (row,) = store.policy_versions("ssd")
    assert (row["at"], row["author"], row["note"]) == (NOW + 1, "ann", "disks are slow")
    assert row["definition"] == {"name": "ssd", "require": 'node.labels.disk == "nvme"'}


def test_a_removal_is_a_version_without_a_definition_from_which_numbers_go_on(store: Store, restart: Restart) -> None:
    written(store, policy_record("ssd", 1))
    gone = policy_record("ssd", 2, definition=None)
    written(store, gone)
    again = restart()
    assert again.restore().policies == [gone]
    assert [row["definition"] is None for row in again.policy_versions("ssd")] == [True, False]


def test_a_version_that_is_there_stays_as_it_was(store: Store) -> None:
    written(store, policy_record("ssd", 1))
    written(store, policy_record("ssd", 1, author="mallory"))
    assert [row["author"] for row in store.policy_versions("ssd")] == ["ann"]


def test_of_an_unknown_policy_there_is_no_version(store: Store) -> None:
    assert store.policy_versions("nobody") == []


def test_forgetting_what_is_old_leaves_policies_alone(store: Store) -> None:
    written(store, policy_record("ssd", 1), policy_record("ssd", 2))
    store.prune(NOW + 1e9, NOW + 1e9)
    assert len(store.policy_versions("ssd")) == 2


def test_a_definition_that_this_version_cannot_read_is_said_at_the_start(store: Store, restart: Restart) -> None:
    written(store, policy_record("odd", 1, definition='{"name":"odd","demand":"more"}'))
    with pytest.raises(StoreError, match="policy 'odd' cannot be read by this version"):
        restart().restore()
