"""Findings as items that people read: a sentence, why, and what to do next. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from urllib.parse import quote

from dovetail.control.backends.member import Member
from dovetail.control.cost.budgets import BudgetState, BudgetStatus
from dovetail.control.service_controller.desk import ServiceStatus
from dovetail.control.subsystems.runner import SubsystemHealth
from dovetail.engine.questions.attention_questions import NeverFits, NodeFinding, SplitGang, WorkExample
from dovetail.model.text.listing import count, first_of
from dovetail.model.workloads.affinity import HOST
from dovetail.model.workloads.workload import DEFAULT_NAMESPACE
from dovetail.responses.attention import AttentionItem, AttentionStep, AttentionSubject
from dovetail.services.records import RolloutState

BAD, WARN, INFO = "bad", "warn", "info"
_ORDER = {BAD: 0, WARN: 1, INFO: 2}
SHOWN_ALONE = 3  # kinds of work that ask for too much of one resource
STUCK_AFTER_S = 300.0  # an update of a service that got no further for so long


def worst_first(items: Iterable[AttentionItem]) -> list[AttentionItem]:
    return sorted(items, key=lambda one: (_ORDER[one["severity"]], -one["count"], one["kind"], one["what"]))


def _item(
    severity: str, kind: str, what: str, detail: str, subject: AttentionSubject, step: AttentionStep, number: int = 1
) -> AttentionItem:
    return {
        "severity": severity,
        "kind": kind,
        "what": what,
        "detail": detail,
        "subject": subject,
        "count": number,
        "next": step,
    }


def _subject(type_: str, name: str, namespace: str | None = None) -> AttentionSubject:
    return {"type": type_, "name": name, "namespace": namespace}


def _step(words: str, command: str, page: str) -> AttentionStep:
    return {"words": words, "command": f"dovetail {command}", "page": page}


def _typed(work: WorkExample) -> str:
    return work.name if work.namespace == DEFAULT_NAMESPACE else f"{work.namespace}/{work.name}"


def _explain(work: WorkExample, words: str = "why, and what would help") -> AttentionStep:
    return _step(words, f"explain {_typed(work)}", f"workload/{quote(work.namespace)}/{quote(work.name)}")


# --- nodes -----------------------------------------------------------------------------------------------------


def silent(nodes: Sequence[NodeFinding]) -> Iterator[AttentionItem]:
    """Those that hold tasks one by one, as far as they are few; the others together."""
    for reason, some in _by_reason(nodes).items():
        tasks = sum(one.tasks for one in some)
        first, many = some[0], len(some)
        who = f"node {first.name}" if many == 1 else f"{many:,} nodes"
        what = f"{who} {'is' if many == 1 else 'are'} offline: {reason or 'no heartbeat'}"
        held = f"{count(tasks, 'task')} may still run there and get no new node until somebody says that it is lost"
        names = "" if many == 1 else f"{first_of([one.name for one in some])}. "
        detail = f"{names}{held}" if tasks else f"{names}Nothing runs there."
        step = _step("its tasks and its history", f"nodes {first.name}", f"node/{quote(first.name, safe='')}")
        yield _item(BAD if tasks else WARN, "node_silent", what, detail, _subject("node", first.name), step, many)


def _by_reason(nodes: Iterable[NodeFinding]) -> dict[str, list[NodeFinding]]:
    """Without how long it has been: nodes that fell silent together are one finding."""
    found: dict[str, list[NodeFinding]] = {}
    for one in sorted(nodes, key=lambda one: (-one.tasks, one.name)):
        reason = "silent" if one.reason.startswith("silent for") else one.reason
        found.setdefault(reason, []).append(one)
    return {some[0].reason if len(some) == 1 else reason: some for reason, some in found.items()}


def quarantined(nodes: Sequence[NodeFinding], now: float) -> Iterator[AttentionItem]:
    for one in nodes:
        left = "" if one.until is None else f" for {max(0.0, one.until - now) / 60:.0f} more minutes"
        step = _step("what failed there", f"nodes {one.name}", f"node/{quote(one.name, safe='')}")
        what = f"node {one.name} is in quarantine{left}"
        yield _item(WARN, "node_quarantined", what, one.reason, _subject("node", one.name), step)


# --- parts of the server ---------------------------------------------------------------------------------------


def backends(members: Iterable[Member]) -> Iterator[AttentionItem]:
    for member in members:
        if member.state in ("closed", "starting") and not member.problem:
            continue
        severity = BAD if member.state in ("open", "unusable") else WARN
        what = f"backend {member.name} is {'left alone' if member.state == 'open' else member.state}"
        step = _step("what it answered", f"backend {member.name}", f"backends?name={quote(member.name)}")
        subject = _subject("backend", member.name)
        yield _item(severity, "backend_down", what, member.problem or "it answers too slowly", subject, step)


def subsystems(found: Iterable[SubsystemHealth]) -> Iterator[AttentionItem]:
    for one in found:
        if one.problem:
            step = _step("see the log of the server", "version", "")
            subject = _subject("subsystem", one.name)
            yield _item(WARN, "subsystem_trouble", f"subsystem {one.name} is in trouble", one.problem, subject, step)


def contradictions(found: Sequence[str], first: str) -> Iterator[AttentionItem]:
    if found:
        what = f"{count(len(found), 'node')} measured to be elsewhere than the topology says"
        step = _step("compare both", "topology discover", "network")
        yield _item(INFO, "topology_contradicted", what, found[0], _subject("node", first), step, len(found))


# --- work ------------------------------------------------------------------------------------------------------


def split_gangs(found: Iterable[SplitGang]) -> Iterator[AttentionItem]:
    """Gangs that wait for the same level are one item: `3 gangs wait for one leaf each: …`."""
    by_level: dict[str, list[SplitGang]] = {}
    for one in found:
        by_level.setdefault(one.level, []).append(one)
    for level, some in by_level.items():
        number, first = sum(one.count for one in some), max(some, key=lambda one: one.count)
        gangs = "1 gang waits" if number == 1 else f"{number:,} gangs wait"
        least = min(one.needed for one in some)
        if level == HOST:
            what = (
                f"{gangs}: {first.free:,} GPUs are free, but in pieces; the node with most has {first.largest_free:,}"
            )
        else:
            whole = f"largest free {level} {first.largest} has {first.largest_free:,} of {first.largest_gpus:,} GPUs"
            what = f"{gangs} for a whole {level}: {whole}"
        detail = f"{first.free:,} GPUs are free in all, and {_typed(first.example)} needs {first.needed:,} together"
        if least < first.needed:
            detail += f"; the smallest of them needs {least:,}"
        subject = _subject("workload", first.example.name, first.example.namespace)
        yield _item(WARN, "gang_split", what, detail, subject, _explain(first.example, "what would help"), number)


def never_fits(found: Iterable[NeverFits], cores: dict[int, str]) -> Iterator[AttentionItem]:
    """`cores`: by workload, which of its requirements no node has together, as far as that was asked. Many different
    ones that ask for too much of one resource are one item."""
    for one in _merged(found):
        name = _typed(one.example)
        who = f"{name} fits on no node" if one.count == 1 else f"{name} and {one.count - 1:,} alike fit on no node"
        detail = cores.get(one.example.id) or one.why
        subject = _subject("workload", one.example.name, one.example.namespace)
        yield _item(BAD, "never_fits", who, detail, subject, _explain(one.example), one.count)


def _merged(found: Iterable[NeverFits]) -> Iterator[NeverFits]:
    by_resource: dict[str, list[NeverFits]] = {}
    for one in found:
        by_resource.setdefault(one.resource, []).append(one)
    for resource, some in by_resource.items():
        if not resource or len(some) <= SHOWN_ALONE:
            yield from some
        else:
            yield replace(some[0], count=sum(one.count for one in some))


def overdue(queue: str, head: WorkExample, predicted: float, now: float) -> AttentionItem:
    late = f"{(now - predicted) / 60:.0f} minutes" if now - predicted >= 120 else f"{now - predicted:.0f} s"
    what = f"{_typed(head)}, first in queue {queue}, should have started {late} ago"
    detail = "other work ran longer than it usually does, or nodes were lost since the start was predicted"
    subject = _subject("workload", head.name, head.namespace)
    return _item(WARN, "start_overdue", what, detail, subject, _explain(head))


def budgets(found: Iterable[BudgetStatus]) -> Iterator[AttentionItem]:
    for one in found:
        if one.state is BudgetState.OK:
            continue
        spent = f"{one.spent:,.2f} of {one.budget.amount:,.2f} {one.budget.currency} in {one.month}"
        is_spent = one.state is BudgetState.SPENT
        what = f"the budget of namespace {one.namespace} is {'spent' if is_spent else f'{one.percent:.0f} % spent'}"
        effect = "; new work is refused" if one.refuses else ""
        step = _step("what it was spent on", f"cost --namespace {one.namespace}", "cost")
        severity = BAD if one.refuses else WARN if is_spent else INFO
        yield _item(severity, "budget_spent", what, f"{spent}{effect}", _subject("namespace", one.namespace), step)


def rollouts(found: Iterable[ServiceStatus], now: float) -> Iterator[AttentionItem]:
    for one in found:
        record = one.record
        name = _typed(WorkExample(0, record.namespace, record.name))
        ready = f"{one.ready} of {record.replicas} replicas are ready"
        detail = f"{one.message}; {ready}" if one.message else ready
        if record.removed or record.rollout is RolloutState.COMPLETE:
            continue
        if record.rollout is RolloutState.FAILED:
            severity, what = BAD, f"the update of service {name} has failed"
        elif record.rollout is RolloutState.ROLLED_BACK:
            severity, what = WARN, f"the update of service {name} was rolled back"
        elif now - record.progress_at > STUCK_AFTER_S:
            minutes = (now - record.progress_at) / 60
            severity, what = WARN, f"the update of service {name} got no further for {minutes:.0f} minutes"
        else:
            continue
        step = _step("its revisions and replicas", f"services {name}", f"services?name={quote(name)}")
        subject = _subject("service", record.name, record.namespace)
        yield _item(severity, "rollout_stuck", what, detail, subject, step)


def failures(last_hour: float, usual: float) -> AttentionItem:
    what = f"{last_hour:,.0f} failures in the last hour, {usual:,.0f} in a usual one"
    step = _step("what failed", "get --state failed", "workloads?state=failed")
    return _item(
        WARN, "failures_above_usual", what, "of attempts, also those that were repeated", _subject("cluster", ""), step
    )
