"""The latest decisions in bounded memory: alike ones are one entry, and large steps cost no more than what is kept."""

from dovetail.control.telemetry.recent_decisions import KEPT, MOST_NODES, DecidedName, DecisionRing
from dovetail.model.reason import Explanation
from dovetail.model.record import Decision
from dovetail.model.task import TaskId


def decision(workload: int, replica: int = 0, node: str | None = "n", at: float = 1.0) -> Decision:
    outcome = "placed" if node else "no_available_nodes"
    return Decision(TaskId(workload, replica), 1, at, node, Explanation(outcome, "", "auto", 1, ()))


def named(workload: int) -> DecidedName | None:
    return DecidedName("default", f"w{workload}") if workload else None


def test_tasks_decided_alike_at_once_are_one_entry() -> None:
    ring = DecisionRing()
    gang = [decision(1, i, f"n{i}") for i in range(20)]
    ring.take([*gang, decision(1, 20, None), decision(2), decision(2, 1, at=2.0), decision(0)], named)
    found = [(one.name.name if one.name else None, one.tasks) for one in ring.newest(10)]
    assert found == [(None, 1), ("w2", 1), ("w2", 1), ("w1", 1), ("w1", 20)]
    assert ring.newest(10)[-1].nodes == [f"n{i}" for i in range(MOST_NODES)]
    assert ring.newest(2)[1].decision.at == 2.0


def test_of_a_very_large_step_only_the_last_are_looked_at() -> None:
    ring, asked = DecisionRing(), []

    def counted(workload: int) -> DecidedName | None:
        asked.append(workload)
        return named(workload)

    ring.take([decision(i) for i in range(1, 20_001)], counted)
    assert len(asked) == KEPT
    assert [one.workload for one in ring.newest(3)] == [20_000, 19_999, 19_998]
    assert len(ring.newest(10_000)) == KEPT
    ring.take([], counted)
    ring.take([decision(7, i) for i in range(10_000)], counted)
    assert ring.newest(1)[0].workload == 7
