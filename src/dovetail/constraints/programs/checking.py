"""From tree to typed parts that can be computed: every name known, every type right, or an error at the exact place.

Guarantees: what passes cannot fail in evaluation except by what the language calls an error of a node. Types are CEL's;
integers and doubles can be compared with each other but not mixed in arithmetic. The tree is no deeper than `syntax`
accepts, so recursion is safe.
"""

from typing import NoReturn

from dovetail.constraints.error import ExpressionError
from dovetail.constraints.programs import comparison, functions, vocabulary
from dovetail.constraints.programs.calling import Calls, a, near
from dovetail.constraints.programs.evaluation_context import EvaluationContext
from dovetail.constraints.programs.values import (
    ANYTHING,
    BOOL,
    DOUBLE,
    INT,
    NUMBERS,
    STRING,
    Column,
    Items,
    Strings,
    Value,
    comparable,
    constant,
    list_of,
)
from dovetail.constraints.programs.vocabulary import READERS, VocabularyObject, VocabularyPart
from dovetail.constraints.syntax.tree import Call, Index, ListOf, Literal, Name, Select, Tree
from dovetail.model.text.strict import shown

_COMPARISONS = frozenset({"==", "!=", "<", "<=", ">", ">="})
_CONSTANTS = {bool: BOOL, int: INT, float: DOUBLE, str: STRING}


class Checker(Calls):
    """One expression, about nodes or (`of_cluster`) about the whole cluster. `notes` fills during the check."""

    def condition(self, tree: Tree) -> VocabularyPart:
        """The whole expression, which must be a bool."""
        part = self.value(tree)
        if part.type != BOOL:
            self.refuse(tree, f"the expression must be true or false, but this is {a(part.type)}{_compare(part)}")
        return part

    def value(self, tree: Tree) -> VocabularyPart:
        found = self.any(tree)
        if isinstance(found, VocabularyObject):
            known = ", ".join(found.fields) or "a key in brackets"
            self.refuse(tree, f"{found.name} is not a value; go on with one of its fields: {known}")
        return found

    def any(self, tree: Tree) -> VocabularyPart | VocabularyObject:
        match tree:
            case Literal():
                return self._literal(tree)
            case Name():
                return self._name(tree)
            case Select():
                return self._select(tree)
            case Index():
                return self._index(tree)
            case ListOf():
                return self._list(tree)
            case Call():
                return self._call(tree)

    # --- values that are written out -------------------------------------------------------------------------

    def _literal(self, tree: Literal) -> VocabularyPart:
        value = tree.value
        if value is None or isinstance(value, bytes):
            self.refuse(tree, "null has no use here; whether a node has a label is asked by has(node.labels.x)")
        fixed = constant(value)
        return VocabularyPart(_CONSTANTS[type(value)], lambda _: fixed)

    def _list(self, tree: ListOf) -> VocabularyPart:
        parts = [self.value(item) for item in tree.items]
        kinds = list(dict.fromkeys(part.type for part in parts))
        if len(kinds) > 1 and not set(kinds) <= NUMBERS:
            other = next(i for i, part in enumerate(parts) if part.type != parts[0].type)
            self.refuse(tree.items[other], f"this list begins with {a(kinds[0])}, and this is {a(parts[other].type)}")
        if kinds and kinds[0].of is not None:
            self.refuse(tree, "lists in lists have no use here")
        runs = [part.run for part in parts]
        return VocabularyPart(
            list_of(kinds[0] if kinds else ANYTHING), lambda scene: Items(tuple([run(scene) for run in runs]))
        )

    # --- names and fields ------------------------------------------------------------------------------------

    def _name(self, tree: Name) -> VocabularyObject:
        if tree.name == "node" and not self.of_cluster:
            return vocabulary.node(self.notes)
        if tree.name == "cluster" and self.of_cluster:
            return vocabulary.whole_cluster(self.notes)
        raise ExpressionError(self.text, tree.span.start, self._unknown(tree.name))

    def _unknown(self, name: str) -> str:
        if name == "node":
            return "a condition about the whole cluster has no node; use cluster or domain(level, name)"
        if name == "cluster":
            return "cluster is for conditions of rules; about nodes use node or domain(level)"
        if name in READERS or name in functions.KNOWN_FUNCTIONS:
            return f"{name} is a function; write {name}(…)"
        hint = near(name, ("cluster",) if self.of_cluster else ("node",))
        return f"unknown name {shown(name)}.{hint or f' A text is written in quotes, a label node.labels.{name[:60]}'}"

    def _select(self, tree: Select) -> VocabularyPart | VocabularyObject:
        of = self.any(tree.of)
        if isinstance(of, VocabularyPart):
            self._refuse_at_name(tree, f"{a(of.type)} has no field {shown(tree.name)}")
        if tree.test:
            if of.has_key is None:
                self.refuse(tree, f"has() is for labels, as in has(node.labels.spot); {of.name} has fixed fields")
            return of.has_key(tree.name)
        made = of.fields.get(tree.name)
        if made is not None:
            return made()
        part = of.by_key(tree.name) if of.by_key is not None else None
        if part is None:
            hint = near(tree.name, of.fields)
            self._refuse_at_name(
                tree, f"{of.name} has no field {shown(tree.name)}.{hint or ' Known: ' + ', '.join(of.fields)}"
            )
        return part

    def _refuse_at_name(self, tree: Select, message: str) -> NoReturn:
        raise ExpressionError(self.text, max(tree.span.start, tree.span.end - len(tree.name)), message)

    def _index(self, tree: Index) -> VocabularyPart:
        of = self.any(tree.of)
        if isinstance(of, VocabularyPart):
            return self._item(tree, of)
        if of.by_key is None:
            self.refuse(tree, f"{of.name} has fields, not keys: {', '.join(of.fields)}")
        if not isinstance(tree.key, Literal) or not isinstance(tree.key.value, str):
            key = self.value(tree.key)
            wrong = "must be written out" if key.type == STRING else f"must be a text, not {a(key.type)}"
            self.refuse(tree.key, f"the key of {of.name} {wrong}, as in {of.name}[…] with a text in quotes")
        part = of.by_key(tree.key.value)
        if part is None:
            hint = near(tree.key.value, of.fields)
            self.refuse(
                tree.key,
                f"{shown(tree.key.value)} is no resource.{hint} An extended one is written vendor.com/name",
            )
        return part

    def _item(self, tree: Index, of: VocabularyPart) -> VocabularyPart:
        if of.type.of is None:
            self.refuse(tree.key, f"{a(of.type)} has no items")
        if not isinstance(tree.of, ListOf) or not isinstance(tree.key, Literal) or type(tree.key.value) is not int:
            self.refuse(tree.key, "only a list that is written out has numbered items, and the number must be, too")
        if not 0 <= tree.key.value < len(tree.of.items):
            self.refuse(tree.key, f"the list has {len(tree.of.items)} items; the first is [0]")
        return self.value(tree.of.items[tree.key.value])

    # --- operators and functions -----------------------------------------------------------------------------

    def _call(self, tree: Call) -> VocabularyPart | VocabularyObject:
        name = tree.name
        if tree.method:
            return self.method(tree)
        if name in ("&&", "||", "!"):
            return self._logic(tree)
        if name == "?:":
            return self._choice(tree)
        if name in _COMPARISONS:
            return self._comparison(tree)
        if name == "in":
            return self._membership(tree)
        if name in functions.ARITHMETIC:
            return self.arithmetic(tree)
        if name in READERS:
            return self.reader(tree)
        return self.function(tree)

    def _logic(self, tree: Call) -> VocabularyPart:
        runs = []
        for arg in tree.args:
            part = self.value(arg)
            if part.type != BOOL:
                self.refuse(arg, f"{tree.name} joins conditions, but this is {a(part.type)}{_compare(part)}")
            runs.append(part.run)
        if tree.name == "!":
            return VocabularyPart(BOOL, lambda scene: comparison.opposite(_column(runs[0](scene))))
        join = comparison.all_of if tree.name == "&&" else comparison.any_of
        return VocabularyPart(BOOL, lambda scene: join([_column(run(scene)) for run in runs]))

    def _choice(self, tree: Call) -> VocabularyPart:
        condition, yes, no = [self.value(arg) for arg in tree.args]
        if condition.type != BOOL:
            self.refuse(tree.args[0], f"before ? stands a condition, but this is {a(condition.type)}")
        if yes.type != no.type:
            self.refuse(tree.args[2], f"one branch is {a(yes.type)} and the other {a(no.type)}; make them alike")
        if yes.type.of is not None:
            self.refuse(tree.args[1], "a choice between lists has no use here")

        def run(scene: EvaluationContext) -> Value:
            one, other = yes.run(scene), no.run(scene)
            assert isinstance(one, Column | Strings)
            assert isinstance(other, Column | Strings)
            return comparison.choice(_column(condition.run(scene)), one, other)

        return VocabularyPart(yes.type, run)

    def _comparison(self, tree: Call) -> VocabularyPart:
        left, right = [self.value(arg) for arg in tree.args]
        if not comparable(left.type, right.type):
            self.refuse(tree.args[1], f"{a(left.type)} cannot be compared with {a(right.type)}{_quotes(left, right)}")
        if tree.name not in ("==", "!=") and left.type.of is not None:
            self.refuse(tree, f"lists have no order; {tree.name} does not compare them")
        return VocabularyPart(BOOL, lambda scene: comparison.compare(tree.name, left.run(scene), right.run(scene)))

    def _membership(self, tree: Call) -> VocabularyPart:
        left, right = tree.args
        of = self.any(right)
        if isinstance(of, VocabularyObject):
            if of.has_key is None:
                self.refuse(right, f"{of.name} is no list; after in stands a list or node.labels")
            if not isinstance(left, Literal) or not isinstance(left.value, str):
                self.refuse(left, f"the key of {of.name} must be a text that is written out")
            return of.has_key(left.value)
        wanted = self.value(left)
        if of.type.of is None:
            self.refuse(right, f"after in stands a list, but this is {a(of.type)}")
        if not comparable(wanted.type, of.type.of) or wanted.type.of is not None:
            self.refuse(left, f"{a(wanted.type)} cannot be in {a(of.type)}")
        return VocabularyPart(BOOL, lambda scene: comparison.member(wanted.run(scene), of.run(scene)))


def _column(value: Value) -> Column:
    assert isinstance(value, Column), "checked before"
    return value


def _compare(part: VocabularyPart) -> str:
    return "; compare it with something" if part.type in (INT, DOUBLE, STRING) else ""


def _quotes(left: VocabularyPart, right: VocabularyPart) -> str:
    kinds = {left.type, right.type}
    if STRING in kinds and kinds & NUMBERS:
        return "; write the number in quotes, or int(…) around the text"
    return ""
