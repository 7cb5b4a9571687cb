"""Nominations: the nodes that a search has found for the tasks of an application.

When the first of its workloads has its turn, all that wait in the queue with it are searched together, and each of
their tasks gets a nominated node. Then every workload is committed at its own turn, as always: order, quotas and gangs
are untouched, and filters may still refuse the node, in which case the task goes to its best one.
Guarantees: a workload is searched once. What waits after that, because it did not fit or its quota was used up, is
placed by itself. Nominations are part of the workload's notes, so a restart goes on with the same ones.
"""

from dovetail.engine.applications.application_trial import try_application
from dovetail.engine.applications.parts import has_peers, may_be_nominated, parts_of, waiting_members
from dovetail.engine.pieces import whole
from dovetail.engine.state.engine_state import EngineState
from dovetail.engine.state.work import Work


def nominate_application(state: EngineState, work: Work, now: float) -> None:
    """Nominate nodes for the workload and those it exchanges traffic with, if others wait with it."""
    if not has_peers(state, work) or not may_be_nominated(state, work):
        return
    members = waiting_members(state, work)
    if len(members) < 2:
        return
    parts = parts_of(state, members, now)
    plan = whole(try_application(state, parts))
    if plan is None:
        return  # perhaps nodes join before their next turn
    for index, member in enumerate(members):
        member.nominations = {}
        if plan.improves:
            member.application = plan.note
            for replica, choice in zip(parts[index].trial.replicas, plan.choices[index], strict=True):
                if choice is not None and choice.row is not None:
                    member.nominations[replica] = state.cluster.names[choice.row]
        state.changes.notes[member.id] = None


def nominated_row(state: EngineState, work: Work, replica: int) -> int | None:
    """The row that was found for a task, once: a second attempt goes by itself."""
    if not work.nominations:
        return None
    node = work.nominations.pop(replica, "")
    return state.cluster.rows.get(node)


def drop_nominations(state: EngineState, work: Work) -> None:
    """The workload waits: what was found for it is out of date when its turn comes again."""
    if work.nominations:
        work.nominations = {}
        state.changes.notes[work.id] = None
