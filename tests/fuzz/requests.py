"""What Schemathesis sends: bodies that keep the rules between fields, and no question that waits on purpose."""

from collections import defaultdict, deque
from typing import TYPE_CHECKING, Any
from zlib import crc32

from hypothesis import strategies as st
from tests.fuzz.formats import FORMATS, byte_amounts, cores, expressions, names, node_names
from tests.fuzz.manifests import (
    SHORT_COMMANDS,
    nodes,
    plain_workloads,
    policies,
    reservations,
    scopes,
    services,
    simulated_backends,
    topologies,
    workloads,
)

if TYPE_CHECKING:
    from schemathesis import Case
    from schemathesis.core.transport import Response
    from schemathesis.hooks import HookContext

Bodies = st.SearchStrategy[Any]

_several = st.lists(workloads, min_size=1, max_size=3, unique_by=lambda one: one["name"])
_node_rules = st.builds(
    lambda some, required: {"nodes": some, "required": required},
    st.lists(node_names, min_size=1, max_size=2),
    st.booleans(),
)
_submissions = plain_workloads | workloads | _several | _several.map(lambda some: {"workloads": some})

#: By route; what is not here is generated from its schema.
BODIES: dict[str, Bodies] = {
    "POST /workloads": _submissions,
    "POST /plan": _submissions,
    "POST /capacity": workloads,
    "POST /workloads/cancel": st.builds(
        lambda match, force: {"match": match, "force": force}, st.sampled_from(("w-1*", "x-*")), st.booleans()
    ),
    "POST /workloads/{ref}/exec": st.builds(
        lambda command, text: {"command": command, "stdin": text}, st.sampled_from(SHORT_COMMANDS), names
    ),
    "POST /nodes": nodes,
    "POST /nodes/{name}/heartbeat": st.fixed_dictionaries(
        {}, optional={"used": st.fixed_dictionaries({"cpu": cores, "memory": byte_amounts}), "tasks": st.just([])}
    ),
    "POST /failures": st.builds(lambda name: {"node": name}, node_names)
    | st.builds(lambda name: {"level": "zone", "name": name}, names),
    "PUT /backends/{name}": simulated_backends,
    "PUT /topology": topologies,
    "PUT /distances": st.builds(
        lambda far: {"items": [{"from": "n1", "to": "n2", "distance": far}]}, st.integers(0, 100)
    ),
    "POST /reservations": reservations,
    "PUT /policies/{name}": policies,
    "POST /policies/{name}/attachments": scopes,
    "DELETE /policies/{name}/attachments": scopes,
    "PUT /services/{service}/affinity": _node_rules,
    "PUT /services/{service}/antiaffinity": _node_rules,
    "POST /services": services | services.map(lambda one: {"services": [one]}),
    "POST /constraints/check": expressions.map(lambda text: {"expression": text}),
}
PREFIX = "/api/v1"
_SIDES = ("/services/{service}/affinity", "/services/{service}/antiaffinity")
_CHOSEN = ("/backends/{name}", "/policies/{name}", *_SIDES)
_LATEST = 12
_UNKNOWN = 8  # one in so many asks for what may not exist
#: By the path of a POST: what kind of thing it makes, and which field of the answer names it.
_MADE = {
    "/workloads": ("workloads", "id"),
    "/nodes": ("nodes", "name"),
    "/services": ("services", "name"),
    "/reservations": ("reservations", "id"),
    "/tokens/join": ("tokens", "id"),
    "/workloads/{ref}/exec": ("exec", "id"),
    "/workloads/{ref}/attach": ("exec", "id"),
}


def _kind(path: str, parameter: str) -> str:
    """What a path parameter names."""
    if parameter in ("node", "version"):
        return f"{parameter}s"
    first = path.split("/")[1]
    return "workloads" if first == "names" else first


def register_formats() -> None:
    import schemathesis  # takes half a second, which tests of the strategies need not wait for

    for name, texts in FORMATS.items():
        schemathesis.openapi.format(name, texts)


def better_bodies(context: "HookContext", strategy: Bodies) -> Bodies:
    """For the hook `before_generate_body` of valid requests."""
    assert context.operation is not None
    return BODIES.get(context.operation.label.replace(PREFIX, "", 1), strategy)


class KnownThings:
    """What the latest requests made: most requests that follow no link ask for one of these."""

    def __init__(self) -> None:
        self._values: defaultdict[str, deque[Any]]
        self.start_over({})

    def start_over(self, values: dict[str, list[Any]]) -> None:
        """With these, by kind."""
        self._values = defaultdict(lambda: deque(maxlen=_LATEST))
        self._values |= {kind: deque(known, _LATEST) for kind, known in values.items()}

    def learn(self, case: "Case[Any]", response: "Response") -> None:
        path = case.operation.path.removeprefix(PREFIX)
        if response.status_code >= 300:
            return
        if case.operation.method == "delete" and path.endswith("}") and case.path_parameters:
            name, value = next(iter(case.path_parameters.items()))
            known = self._values[_kind(path, name)]
            if path != "/workloads/{ref}" and value in known:
                known.remove(value)
        elif case.operation.method == "put" and path in _CHOSEN:
            self._values[_kind(path, "")].append(next(iter(case.path_parameters.values())))
        elif case.operation.method == "post" and path in _MADE:
            kind, field = _MADE[path]
            body = response.json()
            self._values[kind] += [
                one[field] for one in body.get("accepted", body.get("services", [body])) if field in one
            ]

    def choose(self, context: "HookContext", path_parameters: dict[str, Any]) -> dict[str, Any]:
        """For the hook `map_path_parameters`. What was generated decides which it is, so that a seed repeats it."""
        assert context.operation is not None
        path = context.operation.path.removeprefix(PREFIX)
        for name, value in (path_parameters or {}).items():
            number = crc32(repr(value).encode())
            known = self._values[_kind(path, name)]
            if context.operation.method == "put" and path in _CHOSEN:
                path_parameters[name] = f"own-{number % 9}"
            elif known and number % _UNKNOWN:
                path_parameters[name] = known[number // _UNKNOWN % len(known)]
        return path_parameters


def without_waiting(_: "HookContext", query: dict[str, Any]) -> dict[str, Any]:
    """For the hook `map_query` of hostile requests: an answer that is slow on purpose tells nothing about hangs, and
    one that lists what is wrong (`complaints`) is a 200."""
    return _without(query, "follow", "wait", "complaints")


def without_filters(context: "HookContext", query: dict[str, Any]) -> dict[str, Any]:
    """The same for valid requests: hardly any namespace, replica or cursor that is made up has what the path names."""
    assert context.operation is not None
    if "{" not in context.operation.path and context.operation.path != f"{PREFIX}/distances":
        return _without(query, "follow", "wait", "cursor")
    return _without(query, "follow", "wait", "cursor", "namespace", "replica", "attempt", "from", "to")


def _without(query: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in query.items() if name not in names} if query else query
