"""What is written is there after a restart: every kind of record, and the rule of unwritten tasks."""

from collections.abc import Callable
from dataclasses import replace

from tests.contract.store.records import (
    NOW,
    bind,
    decision,
    finished,
    new_workload,
    node_record,
    reservation_record,
    submitted,
    task_record,
    workload_record,
)

from dovetail.model.batch import Batch, Changes
from dovetail.model.command import Bind, GangStart, Move, Stop
from dovetail.model.record import Outcomes, ReservationRecord
from dovetail.model.reservation import Target
from dovetail.model.task import TaskId, TaskState, WorkloadState
from dovetail.store.contract import Store

Restart = Callable[[], Store]


def test_an_empty_store_restores_nothing_and_counts_from_one(store: Store) -> None:
    snapshot = store.restore()
    assert (snapshot.nodes, snapshot.reservations, snapshot.workloads, snapshot.outbox) == ([], [], [], [])
    assert (snapshot.cursors, snapshot.outcomes, snapshot.memory) == ({}, {}, {})
    assert (snapshot.next_workload, snapshot.next_reservation) == (1, 1)


def test_an_unfinished_workload_is_restored_with_its_state_and_tasks(store: Store, restart: Restart) -> None:
    record = workload_record(7, WorkloadState.RUNNING, reason="busy", message="one runs", active=1, started_at=NOW)
    task = task_record(7, 0, TaskState.RUNNING, attempt=3, reason="retried", message="again", started_at=NOW + 1)
    store.write(Batch(submitted=[new_workload(7)], changes=Changes(workloads=[record], tasks=[task])))

    (restored,) = restart().restore().workloads
    given = new_workload(7)
    assert (restored.id, restored.namespace, restored.name) == (7, given.namespace, given.name)
    assert (restored.priority, restored.replicas) == (given.priority, given.replicas)
    assert (restored.shape_json, restored.submitted_at) == (given.shape_json, given.submitted_at)
    assert restored.record == record
    assert restored.tasks == [task]


def test_a_workload_without_a_record_is_pending_with_all_its_replicas(store: Store, restart: Restart) -> None:
    store.write(submitted(1, replicas=3))
    (restored,) = restart().restore().workloads
    assert restored.record == workload_record(1, pending=3)


def test_a_later_record_replaces_the_earlier_one(store: Store, restart: Restart) -> None:
    store.write(Batch(submitted=[new_workload(1)], changes=Changes(tasks=[task_record(1, 0)])))
    record = workload_record(1, WorkloadState.RUNNING, active=1, pending=0)
    task = task_record(1, 0, TaskState.RUNNING, started_at=NOW + 5)
    store.write(Batch(changes=Changes(workloads=[record], tasks=[task])))
    (restored,) = restart().restore().workloads
    assert (restored.record, restored.tasks) == (record, [task])


def test_finished_workloads_are_not_restored_but_can_still_be_read(store: Store, restart: Restart) -> None:
    store.write(submitted(1, 2))
    store.write(finished(1))
    again = restart()
    assert [workload.id for workload in again.restore().workloads] == [2]
    found = again.workload(1)
    assert found is not None
    assert found["state"] == "succeeded"


def test_finished_tasks_of_an_unfinished_workload_are_restored(store: Store, restart: Restart) -> None:
    done = task_record(1, 1, TaskState.FAILED, exit_code=3, finished_at=NOW + 9)
    store.write(Batch(submitted=[new_workload(1, replicas=2)], changes=Changes(tasks=[done, task_record(1, 0)])))
    (restored,) = restart().restore().workloads
    assert restored.tasks == [task_record(1, 0), done]


def test_replicas_that_were_never_written_are_pending(store: Store, restart: Restart) -> None:
    store.write(Batch(submitted=[new_workload(1, replicas=4)], changes=Changes(tasks=[task_record(1, 2)])))
    (restored,) = restart().restore().workloads
    assert [task.task for task in restored.tasks] == [TaskId(1, replica) for replica in range(4)]
    assert [task.state for task in restored.tasks] == ["pending", "pending", "placed", "pending"]
    assert all(task.attempt == 0 and task.node is None for task in restored.tasks if task.state == "pending")


def test_a_task_that_is_fresh_again_loses_what_was_said_before(store: Store, restart: Restart) -> None:
    store.write(Batch(submitted=[new_workload(1)], changes=Changes(tasks=[task_record(1, 0)])))
    fresh = task_record(1, 0, TaskState.PENDING, attempt=0, node=None, backend=None, placed_at=None)
    store.write(Batch(changes=Changes(tasks=[fresh])))
    (restored,) = restart().restore().workloads
    assert restored.tasks == [fresh]


def test_a_pending_task_with_a_reason_keeps_it_from_the_first_batch_on(store: Store, restart: Restart) -> None:
    waiting = task_record(
        1, 0, TaskState.PENDING, attempt=0, node=None, backend=None, placed_at=None, reason="no_available_nodes"
    )
    store.write(Batch(submitted=[new_workload(1)], changes=Changes(tasks=[waiting])))
    (restored,) = restart().restore().workloads
    assert restored.tasks == [waiting]


def test_nodes_come_back_with_definition_cordon_health_and_drain(store: Store, restart: Restart) -> None:
    kept = [
        node_record("node-a", row=0, online=False, reason="silent"),
        node_record("node-b", row=1, cordoned=True, drained=True, reason="repair"),
    ]
    store.write(Batch(changes=Changes(nodes=[*kept, node_record("node-c", row=2)])))
    store.write(Batch(changes=Changes(nodes_gone=["node-c"])))
    assert restart().restore().nodes == kept


def test_nodes_come_back_by_row_whatever_their_names_and_when_they_were_written(store: Store, restart: Restart) -> None:
    first, second, last = node_record("node-c", row=0), node_record("node-a", row=4), node_record("node-b", row=1000)
    store.write(Batch(changes=Changes(nodes=[last, first])))
    store.write(Batch(changes=Changes(nodes=[second])))
    assert restart().restore().nodes == [first, second, last]


def test_a_node_that_takes_the_row_of_one_that_left_comes_back_there(store: Store, restart: Restart) -> None:
    store.write(Batch(changes=Changes(nodes=[node_record("node-a", row=0), node_record("node-b", row=1)])))
    store.write(Batch(changes=Changes(nodes=[node_record("node-c", row=0)], nodes_gone=["node-a"])))
    assert restart().restore().nodes == [node_record("node-c", row=0), node_record("node-b", row=1)]


def test_a_task_comes_back_with_the_retries_it_has_used(store: Store, restart: Restart) -> None:
    failed = task_record(1, 0, TaskState.PENDING, attempt=2, node=None, backend=None, failures=1, bind_failures=2)
    store.write(Batch(submitted=[new_workload(1)], changes=Changes(tasks=[failed])))
    (restored,) = restart().restore().workloads
    assert restored.tasks == [failed]


def test_a_task_and_its_command_come_back_with_their_gpus(store: Store, restart: Restart) -> None:
    gpus = (3, 4)
    store.write(submitted(1, replicas=2))
    store.write(
        Batch(
            changes=Changes(tasks=[task_record(1, 0, devices=gpus), task_record(1, 1)]),
            outbox=[replace(bind(1, 0), devices=gpus), bind(1, 1)],
        )
    )
    again = restart()
    snapshot = again.restore()
    assert [task.devices for task in snapshot.workloads[0].tasks] == [gpus, ()]
    assert [command.devices for command in snapshot.outbox if isinstance(command, Bind)] == [gpus, ()]
    assert [row["devices"] for row in again.tasks(1)] == [[3, 4], []]
    assert [row["devices"] for row in again.node_tasks("node-a")] == [[3, 4], []]


def test_where_profiles_are_in_their_turn_is_remembered_by_profile(store: Store, restart: Restart) -> None:
    store.write(Batch(changes=Changes(cursors={"round_robin": 3, "fair": 1})))
    store.write(Batch(changes=Changes(cursors={"round_robin": 0})))
    assert restart().restore().cursors == {"round_robin": 0, "fair": 1}


def test_the_outcomes_of_nodes_are_remembered_as_last_counted(store: Store, restart: Restart) -> None:
    store.write(Batch(changes=Changes(outcomes={"node-a": Outcomes(1, 0), "node-b": Outcomes(0, 3, 0.1 + 0.2, 1 / 3)})))
    store.write(Batch(changes=Changes(outcomes={"node-a": Outcomes(2**40, 1, 1.9, 1.0)})))
    expected = {"node-a": Outcomes(2**40, 1, 1.9, 1.0), "node-b": Outcomes(0, 3, 0.1 + 0.2, 1 / 3)}
    assert restart().restore().outcomes == expected, "to the bit"


def test_a_node_that_is_gone_leaves_no_outcomes(store: Store, restart: Restart) -> None:
    store.write(Batch(changes=Changes(outcomes={"node-a": Outcomes(1, 0), "node-b": Outcomes(1, 0)})))
    store.write(Batch(changes=Changes(outcomes={"node-c": Outcomes(5, 5)}, nodes_gone=["node-a", "node-c"])))
    assert restart().restore().outcomes == {"node-b": Outcomes(1, 0)}


def test_a_node_that_changes_is_stored_once(store: Store) -> None:
    store.write(Batch(changes=Changes(nodes=[node_record("node-a")])))
    store.write(Batch(changes=Changes(nodes=[node_record("node-a", cordoned=True)])))
    assert store.restore().nodes == [node_record("node-a", cordoned=True)]


def test_reservations_stay_until_they_are_released(store: Store, restart: Restart) -> None:
    kept = reservation_record(1)
    once = Target(nodes=("node-a",), amounts={"memory": 2**40})
    plain = ReservationRecord(3, once, {"node-a": {"memory": 2**40}}, NOW, NOW + 60)
    store.write(Batch(changes=Changes(reservations=[kept, reservation_record(2), plain])))
    store.write(Batch(changes=Changes(reservations_gone=[2])))
    snapshot = restart().restore()
    assert snapshot.reservations == [kept, plain]
    assert snapshot.next_reservation == 4  # the id of a released reservation is not used again


def test_a_reservation_that_changes_is_stored_once(store: Store) -> None:
    store.write(Batch(changes=Changes(reservations=[reservation_record(1)])))
    rolled = reservation_record(1, start=NOW + 86460, end=NOW + 86520, begun=False, trouble="")
    store.write(Batch(changes=Changes(reservations=[rolled])))
    assert store.restore().reservations == [rolled]


def test_a_workload_comes_back_with_its_latest_note(store: Store, restart: Restart) -> None:
    store.write(Batch(submitted=[new_workload(1), new_workload(2)], changes=Changes(notes={1: '{"rank":1}'})))
    store.write(Batch(changes=Changes(notes={1: '{"rank":0}'})))
    first, second = restart().restore().workloads
    assert (first.notes, second.notes) == ('{"rank":0}', None)


def test_the_note_of_a_workload_that_finished_is_gone(store: Store, restart: Restart) -> None:
    store.write(Batch(submitted=[new_workload(1), new_workload(2)], changes=Changes(notes={1: "{}", 2: "{}"})))
    again = restart()
    again.write(finished(1))
    assert again.prune(NOW + 1, 0) == 1  # the workload: its note went when it finished, its shape is still in use
    (other,) = again.restore().workloads
    assert (other.id, other.notes) == (2, "{}")


def test_what_the_scheduler_learned_is_remembered_by_name(store: Store, restart: Restart) -> None:
    store.write(Batch(changes=Changes(memory={"usage": "[1]", "run_times": "{}"})))
    store.write(Batch(changes=Changes(memory={"usage": "[2]"})))
    assert restart().restore().memory == {"usage": "[2]", "run_times": "{}"}


def test_open_commands_are_restored_in_the_order_given(store: Store, restart: Restart) -> None:
    store.write(submitted(1, 2, 3))
    stop = Stop(TaskId(1, 0), "node-a", "simulated", "1.0.1", "cancelled by ann")
    store.write(Batch(outbox=[bind(3), bind(1), stop]))
    store.write(Batch(outbox=[bind(2)], outbox_done=[("bind", "1.0.1")]))
    assert restart().restore().outbox == [bind(3), stop, bind(2)]


def test_an_open_live_move_is_restored_as_a_move(store: Store, restart: Restart) -> None:
    store.write(submitted(1, 2))
    live = Move(TaskId(1, 0), "node-a", "simulated", "1.0.1", "drained", "node-b", live=True)
    plain = Move(TaskId(2, 0), "node-a", "simulated", "2.0.1", "drained", "node-b")
    store.write(Batch(outbox=[live, plain]))
    as_stop = Stop(plain.task, plain.node, plain.backend, plain.key, plain.reason)
    assert restart().restore().outbox == [live, as_stop]


def test_an_open_bind_is_restored_with_the_tasks_that_it_starts_with(store: Store, restart: Restart) -> None:
    store.write(submitted(1))
    together = [replace(bind(1, replica), gang=GangStart("1.0.1", 2)) for replica in range(2)]
    store.write(Batch(outbox=[*together]))
    assert restart().restore().outbox == together


def test_a_command_given_twice_is_kept_once(store: Store) -> None:
    store.write(Batch(outbox=[bind(1)]))
    store.write(Batch(outbox=[bind(1)]))
    assert store.restore().outbox == [bind(1)]


def test_workload_ids_are_not_used_again_after_pruning(store: Store, restart: Restart) -> None:
    store.write(submitted(1, 2))
    store.write(finished(1, 2))
    store.prune(NOW + 1, 0)
    assert restart().restore().next_workload == 3


def test_equal_shapes_are_one_string(store: Store, restart: Restart) -> None:
    store.write(submitted(1, 2))
    store.write(submitted(3))
    store.write(submitted(4, shape_json='{"cpu":900}'))
    first, second, third, other = restart().restore().workloads
    assert first.shape_json is second.shape_json is third.shape_json
    assert other.shape_json == '{"cpu":900}'


def test_a_decision_about_the_same_attempt_replaces_the_earlier_one(store: Store) -> None:
    store.write(submitted(1))
    for at in (1.0, 2.0, 3.0):
        store.write(Batch(changes=Changes(decisions=[decision(1, at=at, message=f"at {at}")])))
    store.write(Batch(changes=Changes(decisions=[decision(1, attempt=2, at=4.0)])))
    assert [(row["attempt"], row["at"]) for row in store.decisions(1)] == [(2, 4.0), (1, 3.0)]


def test_what_a_backend_said_of_a_node_is_kept_as_long_as_the_node(store: Store, restart: Restart) -> None:
    store.write(Batch(announced=[("node-a", "{}"), ("node-b", "{}"), ("node-a", '{"labels":{"a":"b"}}')]))
    store.write(Batch(changes=Changes(nodes_gone=["node-b"])))
    assert restart().restore().announced == {"node-a": '{"labels":{"a":"b"}}'}


def test_what_is_restored_later_is_the_state_of_the_moment_it_was_asked_for(store: Store) -> None:
    store.write(submitted(1, 2))
    later = store.restore_later()
    store.write(finished(1))
    store.write(submitted(3))
    assert [workload.id for workload in later().workloads] == [1, 2]
    assert [workload.id for workload in store.restore().workloads] == [2, 3]
