"""Policies, their versions and violations; the node affinity of services; and the check of an expression."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from dovetail.cli.render.parts.table import Header, TableColumn, and_more, grid, pairs, table
from dovetail.cli.render.parts.text import Drawing, Stack, Text
from dovetail.cli.render.parts.times import age, moment
from dovetail.model.text.listing import count

if TYPE_CHECKING:
    from dovetail.responses.policies import (
        ChangedAffinity,
        ChangedPolicy,
        CheckedConstraint,
        ConstraintInForce,
        PolicyAttachments,
        PolicyDetail,
        PolicyVersion,
        ServiceAffinityRow,
        ViolationRow,
    )

_VIOLATIONS: list[TableColumn[ViolationRow]] = [
    TableColumn("TASK", lambda row: f"{row['namespace']}/{row['name']}.{row['replica']}", shrinks=True),
    TableColumn("NODE", lambda row: row["node"], shrinks=True),
    TableColumn("WHY IT MAY NOT BE THERE", lambda row: row["why"], folds=True),
]
_FACT = 10


def policy_list(rows: Sequence[PolicyDetail], wide: bool = False) -> Drawing:
    if not rows:
        return Text("no policies; make one with dovetail policy set")
    columns: list[TableColumn[PolicyDetail]] = [
        TableColumn("POLICY", lambda row: row["name"]),
        TableColumn("VERSION", lambda row: row["version"], right=True),
        TableColumn("APPLIES TO", lambda row: reach(row["applies_to"]), shrinks=True),
        TableColumn("WORKLOADS", lambda row: row["workloads"], right=True),
        TableColumn(
            "NOW", lambda row: Text("adjusted" if any(one["because"] for one in row["in_force"]) else "", "yellow")
        ),
        TableColumn("DESCRIPTION", lambda row: row["description"], wide=True),
        TableColumn("SAYS", _says, folds=True),
    ]
    return Stack(Text(count(len(rows), "policy", "policies")), table(columns, rows, wide))


def one_policy(row: PolicyDetail, now: float) -> Drawing:
    """Line by line, then each constraint as it counts now."""
    facts = [
        ("Policy", f"{row['name']}, version {row['version']}, set {age(row['set_at'], now)} ago"),
        ("For", row["description"]),
        ("Applies to", reach(row["applies_to"])),
        ("Workloads", f"{row['workloads']} unfinished"),
        *_others(row),
    ]
    parts: list[Drawing] = [pairs(facts, _FACT)]
    for one in row["in_force"]:
        name = f"  ({one['name']})" if one["name"] else ""
        line = Text(f"{one['asked']}  {_one_line(one['expression'])}{name}")
        parts += [Text(""), line, pairs(_counting(one, now), _FACT)]
    return Stack(*parts)


def _others(row: PolicyDetail) -> Iterable[tuple[str, str]]:
    """What is not a constraint, as it was written."""
    import yaml

    for word in ("affinity", "spread", "conflicts"):
        for place, one in enumerate(row["definition"].get(word, ())):
            text = yaml.safe_dump(one, default_flow_style=True, sort_keys=False, allow_unicode=True, width=1000)
            yield word.capitalize() if not place else " ", text.removesuffix("...\n").strip()


def _counting(one: ConstraintInForce, now: float) -> Iterable[tuple[str, object]]:
    if one["because"]:
        yield "  now", Text(f"{_demand(one)}, for {age(one['since'], now)}", style="yellow")
        yield "  because", Text(one["because"], style="yellow")
    elif one["asked"] != "require":
        yield "  counts", _demand(one)
    for rule in one["adjust"]:
        until = f", until {_one_line(rule['until'])}" if rule["until"] else ""
        yield "  ● when" if rule["on"] else "  ○ when", f"{_one_line(rule['when'])}: {rule['then']}{until}"


def _demand(one: ConstraintInForce) -> str:
    if one["demand"] in ("off", "require"):
        return one["demand"]
    insisted = "" if one["priority"] is None else f", insisted on with priority {one['priority']}"
    return f"{one['demand']} with weight {one['weight']:g}{insisted}"


def one_version(row: PolicyVersion, now: float) -> Drawing:
    import yaml

    by = f" by {row['author']}" if row["author"] else ""
    what = "removed" if row["removed"] else "set"
    head = f"{row['name']}, version {row['version']}, {what} {moment(row['at'], now)}{by}"
    lines: list[Drawing] = [pairs([("Policy", head), ("Note", row["note"])], _FACT)]
    if row["definition"] is not None:
        lines += [Text(""), Text(yaml.safe_dump(row["definition"], sort_keys=False, allow_unicode=True).rstrip())]
    return Stack(*lines)


def version_list(rows: Sequence[PolicyVersion], now: float, wide: bool = False) -> Drawing:
    oldest = min(row["version"] for row in rows)

    def change(row: PolicyVersion) -> str:
        return "removed" if row["removed"] else "made" if row["version"] == oldest else ", ".join(row["changed"])

    columns: list[TableColumn[PolicyVersion]] = [
        TableColumn("VERSION", lambda row: row["version"], right=True),
        TableColumn("WHEN", lambda row: moment(row["at"], now)),
        TableColumn("BY", lambda row: row["author"] or "-", shrinks=True),
        TableColumn("CHANGED", change, shrinks=True),
        TableColumn("NOTE", lambda row: row["note"] or "-", shrinks=True),
    ]
    return Stack(Text(f"{rows[0]['name']}: {count(len(rows), 'version')}"), table(columns, rows, wide))


def changed_policies(rows: Sequence[ChangedPolicy], wide: bool = False) -> Drawing:
    parts: list[Drawing] = []
    for row in rows:
        if not row["changed"]:
            parts.append(Text(f"policy {row['name']} is like that already: version {row['version']}"))
        else:
            parts.append(Text(f"policy {row['name']}: version {row['version']}{_looked_at(row['reconsidered'])}"))
        parts += _against(row["violations"], row["violating"], wide, row["name"])
    return Stack(*parts)


def changed_affinity(row: ChangedAffinity, wide: bool = False) -> Drawing:
    is_new = "" if row["changed"] else " already"
    head = f"{row['namespace']}/{row['service']} {_rule(row)} {', '.join(row['nodes'])}{is_new}"
    return Stack(
        Text(f"{head}{_looked_at(row['reconsidered'])}"),
        *_against(row["violations"], row["violating"], wide, row["policy"]),
    )


def _looked_at(reconsidered: int) -> str:
    return f"; {count(reconsidered, 'waiting workload')} looked at again" if reconsidered else ""


def _against(rows: Sequence[ViolationRow], number: int, wide: bool, policy: str) -> list[Drawing]:
    if not number:
        return []
    head = f"{count(number, 'task runs', 'tasks run')} against it, and will go on running:"
    more = and_more(number - len(rows), "task", f"dovetail policy violations {policy}")
    return [Text(head, style="yellow"), table(_VIOLATIONS, rows, wide), *more]


def violation_list(rows: Sequence[ViolationRow], wide: bool = False) -> Drawing:
    if not rows:
        return Text("nothing runs against it")
    return Stack(Text(f"{count(len(rows), 'task runs', 'tasks run')} against it"), table(_VIOLATIONS, rows, wide))


def affinity_list(rows: Sequence[ServiceAffinityRow], wide: bool = False) -> Drawing:
    if not rows:
        return Text("no service has an affinity; give it one with dovetail affinity set")
    columns: list[TableColumn[ServiceAffinityRow]] = [
        TableColumn("SERVICE", lambda row: f"{row['namespace']}/{row['service']}"),
        TableColumn("RULE", _rule),
        TableColumn("NODES", lambda row: ", ".join(row["nodes"]), shrinks=True),
        TableColumn("WORKLOADS", lambda row: row["workloads"], right=True),
        TableColumn("POLICY", lambda row: row["policy"], wide=True),
    ]
    return Stack(Text(count(len(rows), "rule")), table(columns, rows, wide))


def _rule(row: ServiceAffinityRow) -> str:
    if row["kind"] == "affinity":
        return "must be on" if row["required"] else "prefers"
    return "must not be on" if row["required"] else "avoids"


def reach(attached: PolicyAttachments) -> str:
    """`namespaces db-*, web; service shop/cart`."""
    kinds = (
        ("namespace", attached["namespaces"]),
        ("service", attached["services"]),
        ("workload", attached["workloads"]),
    )
    parts = [f"{word}{'' if len(places) == 1 else 's'} {', '.join(places)}" for word, places in kinds if places]
    return "; ".join(parts) or "whoever names it"


def _says(row: PolicyDetail) -> str:
    said = [f"{one['demand']} {_one_line(one['expression'])}" for one in row["in_force"]]
    kinds = (("affinity", row["affinity"]), ("spread", row["spread"]), ("conflicts", row["conflicts"]))
    also = ", ".join(f"{word} ({number})" for word, number in kinds if number)
    return "; ".join([*said, also] if also else said)


def _one_line(text: str) -> str:
    return "".join(sign if sign.isprintable() else " " for sign in " ".join(text.split()))


def checked(found: CheckedConstraint) -> Drawing:
    """How many nodes satisfy an expression, and some that do not."""
    nodes = found["nodes"]
    number, of = nodes["satisfying"], nodes["of"]
    head = Text.assemble(("✓ good", "green"), f": satisfied by {number} of {count(of, 'node')}")
    if not nodes["failing"]:
        return head
    rows = [(row["node"], row["why"]) for row in nodes["failing"]]
    tail = and_more(of - number - len(rows), "node")
    return Stack(head, grid((Header("NODE"), Header("WHY NOT", folds=True)), rows), *tail)


def mistake(found: CheckedConstraint) -> Text:
    """The words, the text of the expression, and a caret under the place."""
    words, *lines = (found.get("caret") or found.get("error") or "").splitlines()
    drawn = Text.assemble(("✗ ", "red"), (words, "bold"))
    for line in lines:
        drawn.append(f"\n  {line}", style="bold red" if line.strip() == "^" else "")
    return drawn
