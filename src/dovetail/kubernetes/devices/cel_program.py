"""A CEL expression as a function that can be asked again and again, with the meaning that Kubernetes gives it.

The text is read by the parser of cel-python, as constraints are; the tree becomes nested closures. Its own evaluator is
too generous for deciding who gets what: it formats with `"%d" % 3`, takes the last item of a list at -1, lets
`true && "x"` be `"x"` and `has()` hide any error, where CEL has an error each time.
Guarantees: a name, function or form of expression that is not known is refused when the expression is read
(`ExpressionError`), whatever stands beside it; what has no value raises `CelError`; errors beside a decisive operand of
`&&`, `||`, `all` and `exists` do not matter, in any order. Left to others: what `device` is.
"""

from collections.abc import Callable, Mapping
from typing import Any

from dovetail.constraints.error import ExpressionError
from dovetail.constraints.syntax.parser import parse_as_written
from dovetail.constraints.syntax.tree import Call, Index, ListOf, Literal, Name, Select, Tree
from dovetail.kubernetes.devices.cel_functions import FUNCTIONS, METHODS, call
from dovetail.kubernetes.devices.cel_values import (
    CelBudget,
    CelError,
    compared,
    computed,
    equal,
    includes,
    kind_of,
    minus,
    no_overload,
    within,
)

Frame = dict[str, Any]  # values by name; under "", which is no name, the work that is left
Step = Callable[[Frame], Any]
Scope = frozenset[str]

_WORK = ""


class Open(dict[str, Any]):
    """A map in which a missing key is an empty map; `in` tells the two apart."""

    def __missing__(self, key: str) -> Any:
        return {}


def program(text: str, fields: Mapping[str, frozenset[str]]) -> Callable[[Mapping[str, Any]], Any]:
    """`fields`: the variables, and what fields each of them has. Raises ExpressionError."""
    step = _Compiling(text, fields).step(parse_as_written(text), frozenset())

    def run(variables: Mapping[str, Any]) -> Any:
        return step({**variables, _WORK: CelBudget()})

    return run


class _Compiling:
    def __init__(self, text: str, fields: Mapping[str, frozenset[str]]) -> None:
        self._text = text
        self._fields = fields

    def step(self, tree: Tree, scope: Scope) -> Step:
        match tree:
            case Literal(value):
                return self._literal(tree, value)
            case Name(name):
                return self._name(tree, name, scope)
            case Select(of, name, test):
                self._known_field(tree, of, name, scope)
                return (_has if test else _selected)(self.step(of, scope), name)
            case Index(of, key):
                return _indexed(self.step(of, scope), self.step(key, scope))
            case ListOf(items):
                each = [self.step(item, scope) for item in items]
                return lambda frame: [one(frame) for one in each]
            case Call(name, (Name("cel"), Name(variable), value, body), True) if name == "bind" and "cel" not in scope:
                return _bound(variable, self.step(value, scope), self.step(body, scope | {variable}))
            case Call(name, args, True) if name in _MACROS:
                return self._macro(tree, name, args, scope)
            case Call(name, args, method):
                return self._call(tree, name, [self.step(arg, scope) for arg in args], method)

    def _refuse(self, tree: Tree, message: str) -> ExpressionError:
        return ExpressionError(self._text, tree.span.start, message)

    def _literal(self, tree: Literal, value: Any) -> Step:
        written = self._text[tree.span.start : tree.span.end]
        if type(value) in (int, float) and written[-1:] in ("u", "U"):
            raise self._refuse(tree, f"{written} is unsigned, which is not understood here; leave out the u")
        return lambda _: value

    def _name(self, tree: Name, name: str, scope: Scope) -> Step:
        if name not in scope and name not in self._fields:
            known = ", ".join(sorted(scope | self._fields.keys()))
            raise self._refuse(tree, f"there is no {name}; there is {known}")

        def step(frame: Frame) -> Any:
            value = frame[name]
            if isinstance(value, CelError):
                raise value
            return value

        return step

    def _known_field(self, tree: Select, of: Tree, name: str, scope: Scope) -> None:
        if not isinstance(of, Name) or of.name in scope or of.name not in self._fields:
            return
        fields = self._fields[of.name]
        if name not in fields:
            raise self._refuse(tree, f"{of.name} has no {name}; it has {', '.join(sorted(fields))}")

    def _macro(self, tree: Call, name: str, args: tuple[Tree, ...], scope: Scope) -> Step:
        allowed = (3, 4) if name == "map" else (3,)
        variable = args[1] if len(args) in allowed else None
        if not isinstance(variable, Name):
            raise self._refuse(tree, f"{name}() takes a variable and an expression, as in list.{name}(x, x > 1)")
        over = self.step(args[0], scope)
        bodies = [self.step(arg, scope | {variable.name}) for arg in args[2:]]
        return _MACROS[name](over, variable.name, *bodies)

    def _call(self, tree: Call, name: str, args: list[Step], method: bool) -> Step:
        if not method and name in _OPERATORS:
            return _OPERATORS[name](name, args)
        if method and name == "includes" and len(args) == 2:
            return lambda frame: includes(args[0](frame), args[1](frame), frame[_WORK])
        overloads = (METHODS if method else FUNCTIONS).get(name)
        if overloads is None:
            raise self._refuse(tree, f"{'.' if method else ''}{name}() is not understood in selectors of devices here")
        if all(len(kinds) != len(args) for kinds in overloads):
            counts = sorted({len(kinds) - method for kinds in overloads})
            raise self._refuse(tree, f"{name}() takes {' or '.join(map(str, counts))} arguments")
        return lambda frame: call(name, overloads, [arg(frame) for arg in args])


def _looked_up(of: Any, key: Any) -> Any:
    if not isinstance(of, dict) or not isinstance(key, str):
        raise no_overload("looking up", kind_of(key), kind_of(of))
    try:
        return of[key]
    except KeyError:
        raise CelError(f"no such key: {key}") from None


def _selected(of: Step, name: str) -> Step:
    return lambda frame: _looked_up(of(frame), name)


def _has(of: Step, name: str) -> Step:
    def step(frame: Frame) -> bool:
        value = of(frame)
        if isinstance(value, list):
            raise no_overload("has()", kind_of(value))
        # Of a plain value Kubernetes says that it has no such field, where CEL by the book has an error.
        return isinstance(value, Open) or (isinstance(value, dict) and name in value)

    return step


def _indexed(of: Step, key: Step) -> Step:
    def step(frame: Frame) -> Any:
        value, at = of(frame), key(frame)
        if not isinstance(value, list):
            return _looked_up(value, at)
        if kind_of(at) != "int":
            raise no_overload("looking up", kind_of(at), "list")
        if not 0 <= at < len(value):
            raise CelError(f"index out of bounds: {at} in a list of {len(value)}")
        return value[at]

    return step


def _bound(variable: str, value: Step, body: Step) -> Step:
    def step(frame: Frame) -> Any:
        try:
            found = value(frame)
        except CelError as error:  # matters only where the variable is used
            found = error
        return body({**frame, variable: found})

    return step


def _truth(value: Any, of: str) -> bool:
    if not isinstance(value, bool):
        raise no_overload(of, kind_of(value))
    return value


def _decided(name: str, decisive: bool, each: Callable[[Frame], Any]) -> Step:
    """The decisive value if any step gives it, else the first error, else the opposite."""

    def step(frame: Frame) -> bool:
        failed: CelError | None = None
        for one, inside in each(frame):
            try:
                if _truth(one(inside), name) is decisive:
                    return decisive
            except CelError as error:
                failed = failed or error
        if failed is not None:
            raise failed
        return not decisive

    return step


def _joined(name: str, args: list[Step]) -> Step:
    return _decided(name, name == "||", lambda frame: ((arg, frame) for arg in args))


def _frames(over: Step, variable: str, frame: Frame) -> Any:
    """The frame once for each item of a list or key of a map."""
    value = over(frame)
    if not isinstance(value, list | dict):
        raise CelError(f"got {kind_of(value)}, expected a list or a map to go over")
    for item in value:
        frame[_WORK].spend()
        yield {**frame, variable: item}


def _all(over: Step, variable: str, body: Step) -> Step:
    return _decided("all()", False, lambda frame: ((body, inside) for inside in _frames(over, variable, frame)))


def _exists(over: Step, variable: str, body: Step) -> Step:
    return _decided("exists()", True, lambda frame: ((body, inside) for inside in _frames(over, variable, frame)))


def _exists_one(over: Step, variable: str, body: Step) -> Step:
    return lambda frame: sum([_truth(body(one), "exists_one()") for one in _frames(over, variable, frame)]) == 1


def _filter(over: Step, variable: str, body: Step) -> Step:
    return lambda frame: [one[variable] for one in _frames(over, variable, frame) if _truth(body(one), "filter()")]


def _map(over: Step, variable: str, first: Step, second: Step | None = None) -> Step:
    if second is None:
        return lambda frame: [first(one) for one in _frames(over, variable, frame)]
    return lambda frame: [second(one) for one in _frames(over, variable, frame) if _truth(first(one), "map()")]


_MACROS: dict[str, Callable[..., Step]] = {
    "all": _all,
    "exists": _exists,
    "exists_one": _exists_one,
    "filter": _filter,
    "map": _map,
}


def _chosen(name: str, args: list[Step]) -> Step:
    condition, then, otherwise = args
    return lambda frame: (then if _truth(condition(frame), name) else otherwise)(frame)


def _negated(name: str, args: list[Step]) -> Step:
    return lambda frame: not _truth(args[0](frame), name)


def _same(name: str, args: list[Step]) -> Step:
    wanted = name == "=="
    return lambda frame: equal(args[0](frame), args[1](frame), frame[_WORK]) is wanted


def _in(name: str, args: list[Step]) -> Step:  # noqa: ARG001 (operators look alike)
    return lambda frame: within(args[0](frame), args[1](frame), frame[_WORK])


def _comparison(name: str, args: list[Step]) -> Step:
    return lambda frame: compared(name, args[0](frame), args[1](frame))


def _arithmetic(name: str, args: list[Step]) -> Step:
    if len(args) == 1:
        return lambda frame: minus(args[0](frame))
    return lambda frame: computed(name, args[0](frame), args[1](frame))


_OPERATORS: dict[str, Callable[[str, list[Step]], Step]] = {
    "?:": _chosen,
    "&&": _joined,
    "||": _joined,
    "!": _negated,
    "==": _same,
    "!=": _same,
    "in": _in,
    **dict.fromkeys(("<", "<=", ">", ">="), _comparison),
    **dict.fromkeys(("+", "-", "*", "/", "%"), _arithmetic),
}
