"""Workloads and tasks as people write them: what a table or a message shows can be typed.

| written | found |
|---|---|
| `17`, `17.3` | workload 17; its task 3 |
| `train`, `team/train` | the newest workload of that name |
| `train.3`, `team/train.3` | its task 3, unless a workload is called so |
| `train`, the name of a group | all workloads of the group, in order of rank |
| `web`, `web.3`, of a service | its replicas; its replica 3 |
| `train.worker`, `train/worker`, `worker` | the role `worker` of that group; alone, while it has not ended |

Where no namespace is given, a name means the one in `default`, or else the only one there is. Guarantees: every route
and command reads names through this module. A name in several namespaces is a Conflict that lists the candidates as
they can be typed. An unknown one is NotFound and names the nearest.
"""

import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from itertools import groupby
from typing import Any, NamedTuple

from dovetail.control.errors import Conflict, NotFound
from dovetail.control.loop.store_access import on_store_thread
from dovetail.engine.questions.questions import Questions
from dovetail.model.text.listing import count, first_of
from dovetail.model.text.strict import MAX_NAME, NAME, nearest, shown
from dovetail.model.workloads.roles import ROLE_LABEL
from dovetail.model.workloads.workload import DEFAULT_NAMESPACE
from dovetail.services.replicas import ReplicaName
from dovetail.store.contract import Store

SEARCHED = 10_000  # the newest workloads, among which ended members of a group are found
COMPARED = 1_000  # the newest names, among which the nearest to an unknown one is found

_ID = re.compile(r"(\d{1,18})(?:\.(\d{1,9})(?:\.\d{1,9})?)?", re.ASCII)  # also the key of an attempt, `17.3.1`
_OF_TASK = re.compile(r"(.+)\.(\d{1,9})", re.ASCII)

Row = dict[str, Any]


class NamedWork(NamedTuple):
    """What was named: the workloads, several only for a group or a service; which task, if one was meant; the name of
    the group, or of the service, if it was one."""

    workloads: list[Row]
    replica: int | None = None
    group: str | None = None
    service: str | None = None

    @property
    def ids(self) -> list[int]:
        return [row["id"] for row in self.workloads]


class WorkName(NamedTuple):
    """A name as it was written, without its namespace."""

    namespace: str | None
    name: str

    def written_like(self, namespace: str, name: str) -> str:
        """Another name, with its namespace if this one has one."""
        return name if self.namespace is None else f"{namespace}/{name}"

    def __str__(self) -> str:
        words = f"workload {shown(self.name)}"
        return words if self.namespace is None else f"{words} in namespace {shown(self.namespace)}"


#: Finds a service by its name and namespace: its name, and its replicas as (index, workload). None: there is none.
FindService = Callable[[str, str | None], Awaitable[tuple[str, list[tuple[int, int]]] | None]]


class WorkloadNames:
    def __init__(
        self,
        store: Store,
        questions: Questions,
        services: FindService,
        service_names: Callable[[], Awaitable[list[str]]],
    ) -> None:
        """`service_names`: those of all services, as they can be typed."""
        self._store, self._questions, self._services = store, questions, services
        self._service_names = service_names

    async def one(self, text: str, namespace: str | None = None) -> tuple[Row, int | None]:
        """One workload, and its task if one was named. Raises NotFound; Conflict for several."""
        found = await self.find(text, namespace)
        if len(found.workloads) > 1:
            members = first_of([typed(row) for row in found.workloads], most=20)
            many = count(len(found.workloads), "workload")
            if found.service is not None:
                one = f"{found.service}.0, or see dovetail services {found.service}"
                raise Conflict(f"{shown(text)} is a service with {many}; name a replica: {one}")
            raise Conflict(f"{shown(text)} is a group of {many}; name one of them: {members}")
        return found.workloads[0], found.replica

    async def find(self, text: str, namespace: str | None = None) -> NamedWork:
        """A workload, a task, or the workloads of a group. Raises NotFound, or Conflict if it is not clear which."""
        text = re.sub("%2F", "/", text, flags=re.IGNORECASE)  # a slash inside one segment of an address
        if by_id := _ID.fullmatch(text):
            return await self._by_id(by_id)
        asked = _split(text, namespace)
        if (replicas := await self._by_service(asked)) is not None:
            return replicas
        candidates = await on_store_thread(self._by_name, asked) or await self._by_group(asked)
        if not candidates:
            candidates = await on_store_thread(self._by_role, asked)
        if not candidates:
            raise NotFound(await self._unknown(asked))
        if len(candidates) > 1:
            raise _ambiguous(asked, candidates)
        return _checked(candidates[0])

    async def _by_service(self, asked: WorkName) -> NamedWork | None:
        """The replicas of a service, or one of them."""
        if not _is_name(asked.name):
            return None
        task = _OF_TASK.fullmatch(asked.name)
        found = await self._services(asked.name, asked.namespace)
        if found is not None:
            service, replicas = found
            rows = [row for _, id_ in replicas if (row := await on_store_thread(self._store.workload, id_))]
            if not rows:
                raise NotFound(f"service {service} has no replicas now; see dovetail services {service}")
            return NamedWork(rows, group=service, service=service)
        found = None if task is None else await self._services(task[1], asked.namespace)
        if task is None or found is None:
            return None
        service, replicas = found
        id_ = dict(replicas).get(int(task[2]))
        row = None if id_ is None else await on_store_thread(self._store.workload, id_)
        if row is None:
            raise NotFound(f"service {service} has no replica {task[2]} now; see dovetail services {service}")
        return NamedWork([row])

    async def beginning(self, prefix: str, limit: int) -> list[str]:
        """Names among the newest that begin so, as they can be typed: without the namespace only where nothing else
        begins so and one namespace has it."""
        recent = await on_store_thread(self._store.recent_names, COMPARED)
        times = Counter(row["name"] for row in recent)
        services = await self._service_names()
        found = dict.fromkeys(name for name in services if name.startswith(prefix))
        for row in recent:
            if (replica := ReplicaName.read(row["name"])) and typed(row | {"name": replica.service}) in services:
                continue
            for written in (typed(row), row["name"]) if times[row["name"]] == 1 else (typed(row),):
                if written.startswith(prefix):
                    found[written] = None
                    break
        return list(found)[:limit]

    async def _by_id(self, match: re.Match[str]) -> NamedWork:
        row = await on_store_thread(self._store.workload, int(match[1]))
        if row is None:
            raise NotFound(f"no workload {match[1]}; dovetail get lists those there are")
        return _checked(NamedWork([row], _number(match[2])))

    # --- each of these finds candidates, at most one in each namespace -----------------------------------------

    def _by_name(self, asked: WorkName) -> list[NamedWork]:
        if rows := self._newest(asked):
            return [NamedWork([row]) for row in rows]
        if task := _OF_TASK.fullmatch(asked.name):
            return [NamedWork([row], int(task[2])) for row in self._newest(asked._replace(name=task[1]))]
        return []

    async def _by_group(self, asked: WorkName) -> list[NamedWork]:
        live = self._questions.workloads.members(asked.name)
        found = await on_store_thread(self._members, asked.name, live)
        found = [row for row in found if asked.namespace in (None, row["namespace"])]
        found.sort(key=lambda row: (row["namespace"] != DEFAULT_NAMESPACE, row["namespace"], row["id"]))
        groups = [list(rows) for _, rows in groupby(found, key=lambda row: row["namespace"])]
        if asked.namespace is None and groups and groups[0][0]["namespace"] == DEFAULT_NAMESPACE:
            del groups[1:]
        return [NamedWork(_latest(rows), group=asked.name) for rows in groups]

    def _members(self, group: str, live: Iterable[int]) -> list[Row]:
        if not _is_name(group):
            return []
        rows = {row["id"]: row for row in self._store.in_group(group, SEARCHED)}
        rows |= {row["id"]: row for id_ in live if id_ not in rows and (row := self._store.workload(id_))}
        return list(rows.values())

    def _by_role(self, asked: WorkName) -> list[NamedWork]:
        """`group.role`, `group/role`, each perhaps with `.replica`; or the role alone."""
        name, replica = asked.name, None
        if task := _OF_TASK.fullmatch(name):
            name, replica = task[1], int(task[2])
        group, dot, role = name.rpartition(".")
        readings = [(asked.namespace, group, role)] if dot else []
        if asked.namespace is not None and not dot:
            readings.append((None, asked.namespace, name))  # its group may have been taken for a namespace
        for namespace, of_group, of_role in readings:
            rows = self._newest(WorkName(namespace, f"{of_group}-{of_role}"))
            if rows := [row for row in rows if _role(row) == of_role]:
                return [NamedWork([row], replica) for row in rows]
        rows = self._store.with_role(name) if _is_name(name) else []
        rows = [row for row in rows if _role(row) == name and asked.namespace in (None, row["namespace"])]
        return [NamedWork([row], replica) for row in rows]

    def _newest(self, asked: WorkName) -> list[Row]:
        """The newest workload of that name: in its namespace, else in `default`, else in each namespace."""
        if not _is_name(asked.name):
            return []
        row = self._store.find_workload(asked.namespace or DEFAULT_NAMESPACE, asked.name)
        if row is not None:
            return [row]
        return self._store.find_everywhere(asked.name) if asked.namespace is None else []

    # --- names that nothing has --------------------------------------------------------------------------------

    async def _unknown(self, asked: WorkName) -> str:
        if asked.name in self._questions.nodes:
            return f"no {asked}; {asked.name} is a node: dovetail nodes {asked.name}"
        return f"no {asked}{await on_store_thread(self._meant, asked)}"

    def _meant(self, asked: WorkName) -> str:
        if elsewhere := self._store.find_everywhere(asked.name) if _is_name(asked.name) else []:
            return f"; there is {first_of([typed(row) for row in elsewhere])}"
        known: dict[str, str] = {}  # as it can be typed, by what may have been written for it
        recent = self._store.recent_names(COMPARED)
        for row in sorted(recent, key=lambda row: bool(row["namespace"] != DEFAULT_NAMESPACE)):
            known.setdefault(asked.written_like(row["namespace"], row["name"]), typed(row))
        near = nearest(asked.written_like(asked.namespace or "", asked.name), known)
        return "; dovetail get lists those there are" if near is None else f". Did you mean {known[near]!r}?"


def typed(row: Row, replica: int | None = None, group: str | None = None) -> str:
    """A workload, one task of it or its group, as it can be typed from anywhere."""
    name = group or row["name"]
    name = name if row["namespace"] == DEFAULT_NAMESPACE else f"{row['namespace']}/{name}"
    return name if replica is None else f"{name}.{replica}"


def _split(text: str, namespace: str | None) -> WorkName:
    """A namespace that is part of the name counts more than one beside it."""
    before, slash, name = text.partition("/")
    return WorkName(before, name) if slash else WorkName(namespace, text)


def _is_name(text: str) -> bool:
    return len(text) <= MAX_NAME and NAME.fullmatch(text) is not None


def _number(digits: str | None) -> int | None:
    return None if digits is None else int(digits)


def _role(row: Row) -> str | None:
    labels: dict[str, str] = row["spec"].get("labels") or {}
    return labels.get(ROLE_LABEL)


def _latest(rows: list[Row]) -> list[Row]:
    """The members of a group as it was last: an earlier group of that name had ended before this one began."""
    begun = max(row["submitted_at"] for row in rows)
    overlapping = [row for row in rows if row["finished_at"] is None or row["finished_at"] >= begun]
    return list({row["name"]: row for row in overlapping}.values())


def _ambiguous(asked: WorkName, candidates: list[NamedWork]) -> Conflict:
    written = [typed(one.workloads[0], one.replica, one.group) for one in candidates]
    return Conflict(f"{shown(asked.name)} is in several namespaces; write one of: {first_of(written, most=20)}")


def _checked(found: NamedWork) -> NamedWork:
    """The task exists."""
    row, replica = found.workloads[0], found.replica
    if replica is not None and replica >= row["replicas"]:
        there = "one task, 0" if row["replicas"] == 1 else f"{row['replicas']} tasks, 0 to {row['replicas'] - 1}"
        raise NotFound(f"{typed(row)} has no task {replica}; it has {there}")
    return found
