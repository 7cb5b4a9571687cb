"""Policies as a list and one by one, their versions and violations; and the node affinity of services."""

from collections.abc import Iterable, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from dovetail.cli.render.parts.spans import age, moment
from dovetail.cli.render.parts.table import Header, count, table
from dovetail.responses.policies import (
    ChangedAffinity,
    ChangedPolicy,
    ConstraintInForce,
    PolicyAttachments,
    PolicyDetail,
    PolicyVersion,
    ServiceAffinityRow,
    ViolationRow,
)

_POLICIES = (
    Header("POLICY"),
    Header("VERSION", right=True),
    Header("SAYS", shrinks=True),
    Header("APPLIES TO", shrinks=True),
    Header("WORKLOADS", right=True),
    Header("NOW"),
    Header("DESCRIPTION", wide=True),
)
_VERSIONS = (
    Header("VERSION", right=True),
    Header("WHEN"),
    Header("BY", shrinks=True),
    Header("CHANGED", shrinks=True),
    Header("NOTE", shrinks=True),
)
_VIOLATIONS = (
    Header("TASK", shrinks=True),
    Header("NODE", shrinks=True),
    Header("WHY IT MAY NOT BE THERE", folds=True),
)
_AFFINITIES = (
    Header("SERVICE"),
    Header("RULE"),
    Header("NODES", shrinks=True),
    Header("WORKLOADS", right=True),
    Header("POLICY", wide=True),
)
_FACT = 10


def policy_list(rows: Sequence[PolicyDetail], wide: bool = False) -> RenderableType:
    if not rows:
        return Text("no policies; make one with dovetail policy set")
    lines = [
        [
            row["name"],
            row["version"],
            _says(row),
            reach(row["applies_to"]) or "whoever names it",
            row["workloads"],
            Text("adjusted", style="yellow") if any(one["because"] for one in row["in_force"]) else "",
            row["description"],
        ]
        for row in rows
    ]
    return Group(Text(count(len(rows), "policy", "policies")), table(_POLICIES, lines, wide))


def one_policy(row: PolicyDetail, now: float) -> RenderableType:
    """Line by line, then each constraint as it counts now."""
    facts = [
        ("Policy", f"{row['name']}, version {row['version']}, set {age(row['set_at'], now)} ago"),
        ("For", row["description"]),
        ("Applies to", reach(row["applies_to"]) or "whoever names it"),
        ("Workloads", f"{row['workloads']} unfinished"),
        *_others(row),
    ]
    parts: list[RenderableType] = [_facts(facts)]
    for one in row["in_force"]:
        name = f"  ({one['name']})" if one["name"] else ""
        parts += [Text(""), Text(f"{one['asked']}  {_one_line(one['expression'])}{name}"), _facts(_counting(one, now))]
    return Group(*parts)


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


def one_version(row: PolicyVersion, now: float) -> RenderableType:
    import yaml

    by = f" by {row['author']}" if row["author"] else ""
    what = "removed" if row["removed"] else "set"
    head = f"{row['name']}, version {row['version']}, {what} {moment(row['at'], now)}{by}"
    lines: list[RenderableType] = [_facts([("Policy", head), ("Note", row["note"])])]
    if row["definition"] is not None:
        lines += [Text(""), Text(yaml.safe_dump(row["definition"], sort_keys=False, allow_unicode=True).rstrip())]
    return Group(*lines)


def version_list(rows: Sequence[PolicyVersion], now: float, wide: bool = False) -> RenderableType:
    oldest = min(row["version"] for row in rows)
    lines = [
        [
            row["version"],
            moment(row["at"], now),
            row["author"] or "-",
            "removed" if row["removed"] else "made" if row["version"] == oldest else ", ".join(row["changed"]),
            row["note"] or "-",
        ]
        for row in rows
    ]
    return Group(Text(f"{rows[0]['name']}: {count(len(rows), 'version')}"), table(_VERSIONS, lines, wide))


def changed_policies(rows: Sequence[ChangedPolicy], wide: bool = False) -> RenderableType:
    parts: list[RenderableType] = []
    for row in rows:
        if not row["changed"]:
            parts.append(Text(f"policy {row['name']} is like that already: version {row['version']}"))
        else:
            parts.append(Text(f"policy {row['name']}: version {row['version']}{_looked_at(row['reconsidered'])}"))
        parts += _against(row["violations"], row["violating"], wide)
    return Group(*parts)


def changed_affinity(row: ChangedAffinity, wide: bool = False) -> RenderableType:
    is_new = "" if row["changed"] else " already"
    head = f"{row['namespace']}/{row['service']} {_rule(row)} {', '.join(row['nodes'])}{is_new}"
    return Group(Text(f"{head}{_looked_at(row['reconsidered'])}"), *_against(row["violations"], row["violating"], wide))


def _looked_at(reconsidered: int) -> str:
    return f"; {count(reconsidered, 'waiting workload')} looked at again" if reconsidered else ""


def _against(rows: Sequence[ViolationRow], number: int, wide: bool) -> list[RenderableType]:
    if not number:
        return []
    head = f"{count(number, 'task runs', 'tasks run')} against it, and will go on running:"
    more = [Text(f"and {number - len(rows)} more", style="dim")] if number > len(rows) else []
    return [Text(head, style="yellow"), _violations(rows, wide), *more]


def violation_list(rows: Sequence[ViolationRow], wide: bool = False) -> RenderableType:
    if not rows:
        return Text("nothing runs against it")
    return Group(Text(f"{count(len(rows), 'task runs', 'tasks run')} against it"), _violations(rows, wide))


def _violations(rows: Sequence[ViolationRow], wide: bool) -> RenderableType:
    lines = [[f"{row['namespace']}/{row['name']}.{row['replica']}", row["node"], row["why"]] for row in rows]
    return table(_VIOLATIONS, lines, wide)


def affinity_list(rows: Sequence[ServiceAffinityRow], wide: bool = False) -> RenderableType:
    if not rows:
        return Text("no service has an affinity; give it one with dovetail affinity set")
    lines = [
        [f"{row['namespace']}/{row['service']}", _rule(row), ", ".join(row["nodes"]), row["workloads"], row["policy"]]
        for row in rows
    ]
    return Group(Text(count(len(rows), "rule")), table(_AFFINITIES, lines, wide))


def _rule(row: ServiceAffinityRow) -> str:
    if row["kind"] == "affinity":
        return "must be on" if row["required"] else "prefers"
    return "must not be on" if row["required"] else "avoids"


def reach(attached: PolicyAttachments) -> str:
    """`namespaces db-*, service shop/cart`."""
    parts = [
        f"{word if len(places) == 1 else word + 's'} {', '.join(places)}"
        for word, places in (
            ("namespace", attached["namespaces"]),
            ("service", attached["services"]),
            ("workload", attached["workloads"]),
        )
        if places
    ]
    return "; ".join(parts)


def _says(row: PolicyDetail) -> str:
    said = [f"{one['demand']} {_one_line(one['expression'])}" for one in row["in_force"]]
    return "; ".join([*said, *filter(None, [_also(row)])])


def _also(row: PolicyDetail) -> str:
    kinds = (("affinity", row["affinity"]), ("spread", row["spread"]), ("conflicts", row["conflicts"]))
    return ", ".join(f"{word} ({number})" for word, number in kinds if number)


def _facts(facts: Iterable[tuple[str, object]]) -> RenderableType:
    """Names and values; values may take several lines, empty ones are left out."""
    rows = [(Text(f"{name:<{_FACT}}", style="dim"), value) for name, value in facts if value]
    return table((Header(), Header(folds=True)), rows)


def _one_line(text: str) -> str:
    return "".join(sign if sign.isprintable() else " " for sign in " ".join(text.split()))
