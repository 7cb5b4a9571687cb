"""Expressions as structures, and the text that says the same; both ways where a structure can say it.

    {left: node.labels.zone, operator: in, right: [a, b]}          node.labels.zone in ["a", "b"]
    {left: free.memory, operator: ge, right: 64GiB}                node.free.memory >= GiB(64)
    {logical_operator: or, sub_expressions: [{…}, {…}]}            … || …

Guarantees: a structure of any depth is read or refused without recursion running away; what is missing is named by its
place. Labels are texts: `right: 3` with `eq` means "3", and with `lt`, `le`, `gt`, `ge` the label is read as a number.
Left to others: whether the expression makes sense as a whole (`program`).
"""

import math
import re
from typing import Any

from dovetail.constraints.error import ExpressionError
from dovetail.constraints.programs.checking import Checker
from dovetail.constraints.programs.evaluation_context import AMOUNTS, UTILISATION
from dovetail.constraints.programs.functions import quantity, show_double
from dovetail.constraints.programs.values import DOUBLE, INT, STRING, Type
from dovetail.constraints.programs.vocabulary import Notes, VocabularyPart, is_reading, node
from dovetail.constraints.syntax.parser import parse
from dovetail.constraints.syntax.scanning import MAX_DEPTH, MAX_TOKENS
from dovetail.constraints.syntax.tree import (
    NODE_LABELS,
    Call,
    Index,
    ListOf,
    Literal,
    Name,
    Select,
    Tree,
    joined,
    label_of,
)
from dovetail.constraints.syntax.writer import IDENTIFIER, write
from dovetail.model.resources import CPU, DISK, MEMORY
from dovetail.model.text.strict import shown
from dovetail.model.workloads.constraint import Comparison, Expression, Structured

_OPERATORS = {
    Comparison.EQ: "==",
    Comparison.NEQ: "!=",
    Comparison.LT: "<",
    Comparison.LE: "<=",
    Comparison.GT: ">",
    Comparison.GE: ">=",
}
_NAMES = {operator: name.value for name, operator in _OPERATORS.items()}
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}
_ORDERS = frozenset({"<", "<=", ">", ">="})
_KEY = r"[A-Za-z0-9](?:[A-Za-z0-9._/-]*[A-Za-z0-9])?"
_LABEL = re.compile(rf"(?:node\.)?labels\.({_KEY})", re.ASCII)
_EXTENDED = re.compile(rf"(?:node\.)?({'|'.join((*AMOUNTS, UTILISATION))})\.({_KEY}/{_KEY})", re.ASCII)
_UNIT = re.compile(r"([0-9]{1,15})(KiB|MiB|GiB|TiB)", re.ASCII)
_FIELDS = frozenset(node(Notes()).fields)


def text_of(expression: Expression) -> str:
    """The expression as text. Raises ExpressionError for a structure that does not say anything."""
    if isinstance(expression, str):
        return expression
    _check_size(expression)
    return write(_tree(expression, ""))


def structure_of(text: str) -> dict[str, Any] | None:
    """The expression as a structure; None where it says more than a structure can. Raises ExpressionError."""
    return _structure(parse(text))


# --- from structure to text ----------------------------------------------------------------------------------------


def _wrong(path: str, message: str) -> ExpressionError:
    return ExpressionError("", 0, f"{path}: {message}" if path else message)


def _check_size(expression: Structured) -> None:
    depth, count, level = 0, 0, [expression]
    while level:
        depth, count = depth + 1, count + len(level)
        if depth > MAX_DEPTH:
            raise _wrong("", f"sub_expressions are nested deeper than {MAX_DEPTH} levels; write it flatter")
        if count > MAX_TOKENS:
            raise _wrong("", f"has more than {MAX_TOKENS} sub_expressions; split it into several")
        level = [sub for one in level for sub in one.sub_expressions]


def _tree(expression: Structured, path: str) -> Tree:
    parts: list[Tree] = []
    compared = [name for name in ("left", "operator", "right") if getattr(expression, name) is not None]
    if compared:
        parts.append(_comparison(expression, path))
    for place, sub in enumerate(expression.sub_expressions):
        inner = f"sub_expressions[{place}]"
        parts.append(_tree(sub, f"{path}.{inner}" if path else inner))
    if not parts:
        raise _wrong(path, "says nothing; give left, operator and right, or sub_expressions")
    joins = (expression.logical_operator or "").lower()
    if joins == "not":
        if len(parts) > 1:
            raise _wrong(path, "logical_operator not takes one expression; join several with and or or inside it")
        return Call("!", (parts[0],))
    if len(parts) == 1:
        return parts[0]
    if not joins:
        raise _wrong(path, f"logical_operator is missing; say how the {len(parts)} parts are joined: and, or")
    return joined("&&" if joins == "and" else "||", tuple(parts))


def _comparison(expression: Structured, path: str) -> Tree:
    if expression.left is None:
        raise _wrong(path, "left is missing; say what is compared, such as node.labels.zone or free.memory")
    if expression.operator is None:
        raise _wrong(path, f"operator is missing; give one of {', '.join(Comparison)}")
    left = _left(expression.left, path)
    if expression.operator is Comparison.EXISTS:
        return _exists(expression, left, path)
    if expression.right is None:
        raise _wrong(path, f"right is missing; say what {expression.left} is compared with")
    try:
        kind = Checker(expression.left).value(left).type
        if expression.operator in (Comparison.IN, Comparison.NOT_IN):
            if not isinstance(expression.right, list):
                raise ValueError(f"right must be a list for {expression.operator}, got {shown(expression.right)}")
            items = ListOf(tuple([_right(left, kind, item) for item in expression.right]))
            found = Call("in", (left, items))
            return found if expression.operator is Comparison.IN else Call("!", (found,))
        operator = _OPERATORS[expression.operator]
        if kind == STRING and operator in _ORDERS and type(expression.right) in (int, float):
            read = "int" if isinstance(expression.right, int) else "double"
            return Call(operator, (Call(read, (left,)), Literal(expression.right)))
        return Call(operator, (left, _right(left, kind, expression.right)))
    except ExpressionError as error:
        raise _wrong(path, f"left {shown(expression.left)}: {error.message}") from None
    except ValueError as error:
        raise _wrong(path, str(error)) from None


def _exists(expression: Structured, left: Tree, path: str) -> Tree:
    key = label_of(left)
    if key is None:
        raise _wrong(path, f"exists asks for labels, such as node.labels.spot; {shown(expression.left)} is none")
    if expression.right is not None:
        raise _wrong(path, "exists takes no right")
    return Select(NODE_LABELS, key, test=True) if IDENTIFIER.fullmatch(key) else Call("in", (Literal(key), NODE_LABELS))


def _left(text: str, path: str) -> Tree:
    """What is compared. The key of a label goes to the end, dots and slashes included."""
    if found := _LABEL.fullmatch(text):
        return _label(found[1])
    if found := _EXTENDED.fullmatch(text):
        return Index(Select(Name("node"), found[1]), Literal(found[2]))
    first = re.match(r"[A-Za-z_]+", text)
    short = first is not None and first[0] in _FIELDS
    try:
        return parse(f"node.{text}" if short else text)
    except ExpressionError as error:
        raise _wrong(path, f"left {shown(text)}: {error.message}") from None


def _right(left: Tree, kind: Type, value: Any) -> Tree:
    """The value as a literal of the type of what it is compared with. Raises ValueError."""
    if kind == STRING:
        if isinstance(value, bool):
            return Literal("true" if value else "false")
        if isinstance(value, int | float):
            return Literal(str(value) if isinstance(value, int) else show_double(value))
    if isinstance(value, str) and kind in (INT, DOUBLE):
        return _amount(resource_of(left), value)
    if isinstance(value, bool | int | float | str):
        if isinstance(value, float) and not math.isfinite(value):
            raise ValueError(f"right {shown(value)} is not a finite number")
        if isinstance(value, int) and value.bit_length() > 63:
            raise ValueError(f"right {shown(value)} does not fit into 64 bits")
        return Literal(value)
    raise ValueError(f"right must be a text, a number, true or false, got {shown(value)}")


def resource_of(tree: Tree) -> str | None:
    """Of `….free.memory` and the like."""
    match tree:
        case Select(Select(_, what), resource) | Index(Select(_, what), Literal(str(resource))) if what in AMOUNTS:
            return resource
    return None


def _amount(resource: str | None, text: str) -> Tree:
    """A quantity with its unit."""
    if resource in (MEMORY, DISK):
        if found := _UNIT.fullmatch(text):
            return Call(found[2], (Literal(int(found[1])),))
        quantity("quantity", text)
        return Call("quantity", (Literal(text),))
    if resource == CPU:
        quantity("cores", text)
        return Call("cores", (Literal(text),))
    raise ValueError(f"right must be a number here, got {shown(text)}")


# --- from text to structure ----------------------------------------------------------------------------------------


def _structure(tree: Tree) -> dict[str, Any] | None:
    match tree:
        case Call("&&" | "||" as name, args):
            subs = [_structure(arg) for arg in args]
            if None in subs:
                return None
            return {"logical_operator": "and" if name == "&&" else "or", "sub_expressions": subs}
        case Call("!", (Call("in", (left, ListOf(items))),)):
            return _compared(left, Comparison.NOT_IN, [_plain(left, item) for item in items])
        case Call("!", (inner,)):
            sub = _structure(inner)
            return None if sub is None else {"logical_operator": "not", "sub_expressions": [sub]}
        case Select(of, key, True) | Call("in", (Literal(str(key)), of)) if of == NODE_LABELS:
            return {"left": _path(_label(key)), "operator": Comparison.EXISTS.value}
        case Call("in", (left, ListOf(items))):
            return _compared(left, Comparison.IN, [_plain(left, item) for item in items])
        case Call(name, (left, right)) if name in _NAMES:
            if not is_reading(left) and not _is_number_of_label(left):
                left, right, name = right, left, _MIRRORED[name]
            return _compared_with(left, name, right)
    return None


def _compared_with(left: Tree, name: str, right: Tree) -> dict[str, Any] | None:
    operator = Comparison(_NAMES[name])
    match left:
        case Call("int" | "double" as read, (inner,)) if _is_number_of_label(left):
            wanted = int if read == "int" else float
            if name in _ORDERS and isinstance(right, Literal) and type(right.value) is wanted:
                return {"left": _path(inner), "operator": operator.value, "right": right.value}
            return None
    return _compared(left, operator, _plain(left, right))


def _compared(left: Tree, operator: Comparison, right: Any) -> dict[str, Any] | None:
    missing = right is None or (isinstance(right, list) and None in right)
    if missing or not is_reading(left):
        return None
    return {"left": _path(left), "operator": operator.value, "right": right}


def _plain(left: Tree, right: Tree) -> Any:
    """The value as a structure has it; None where it has none."""
    try:
        part: VocabularyPart = Checker("").value(left)
    except ExpressionError:
        return None
    match right:
        case Literal(value):
            accepted = str if part.type == STRING else (int, float)
            return value if isinstance(value, accepted) and not isinstance(value, bool) else None
        case Call("KiB" | "MiB" | "GiB" | "TiB" as unit, (Literal(int(count)),)):
            fits = resource_of(left) in (MEMORY, DISK) and 0 <= count < 10**15
            return f"{count}{unit}" if fits else None
        case Call("quantity", (Literal(str(text)),)):
            return text if resource_of(left) in (MEMORY, DISK) else None
        case Call("cores", (Literal(str(text)),)):
            return text if resource_of(left) == CPU else None
    return None


def _is_number_of_label(tree: Tree) -> bool:
    match tree:
        case Call("int" | "double", (inner,)):
            return label_of(inner) is not None
    return False


def _label(key: str) -> Tree:
    return Select(NODE_LABELS, key) if IDENTIFIER.fullmatch(key) else Index(NODE_LABELS, Literal(key))


def _path(tree: Tree) -> str:
    """As `_left` reads it."""
    key = label_of(tree)
    return f"node.labels.{key}" if key is not None and re.fullmatch(_KEY, key, re.ASCII) else write(tree)
