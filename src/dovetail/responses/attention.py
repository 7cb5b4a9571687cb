"""Answers about what needs a person."""

from typing_extensions import TypedDict


class AttentionSubject(TypedDict):
    """`type`: node, workload, backend, subsystem, namespace, service or cluster. `namespace` is null where a name needs
    none."""

    type: str
    name: str
    namespace: str | None


class AttentionStep(TypedDict):
    """`command`: what to type; `page`: where the dashboard shows it, without the first slash."""

    words: str
    command: str
    page: str


class AttentionItem(TypedDict):
    """`severity`: bad, warn or info. `count`: how many alike it stands for."""

    severity: str
    kind: str
    what: str
    detail: str
    subject: AttentionSubject
    count: int
    next: AttentionStep


class AttentionAnswer(TypedDict):
    """Worst first. `total`: with those that are not listed."""

    items: list[AttentionItem]
    total: int
    at: float
