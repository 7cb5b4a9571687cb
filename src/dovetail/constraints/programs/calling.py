"""Type-checks functions in an expression: arithmetic, methods, conversions, and functions that read the cluster.

The second half of the checker; `checking` has the rest, and the recursion over the tree.
"""

from collections.abc import Callable, Collection
from typing import NoReturn

from dovetail.constraints.error import ExpressionError
from dovetail.constraints.programs import comparison, functions, vocabulary
from dovetail.constraints.programs.evaluation_context import EvaluationContext
from dovetail.constraints.programs.values import BOOL, DOUBLE, INT, NUMBERS, STRING, Strings, Type, Value, decide
from dovetail.constraints.programs.vocabulary import READERS, Notes, VocabularyObject, VocabularyPart
from dovetail.constraints.syntax.tree import Call, Literal, Tree
from dovetail.model.text.strict import closest, shown


class Calls:
    """For one expression. `any` checks a part of it, `value` a part that must be a value."""

    def __init__(self, text: str, *, of_cluster: bool = False) -> None:
        self.text = text
        self.notes = Notes()
        self.of_cluster = of_cluster

    def any(self, tree: Tree) -> VocabularyPart | VocabularyObject:
        raise NotImplementedError

    def value(self, tree: Tree) -> VocabularyPart:
        raise NotImplementedError

    def refuse(self, tree: Tree, message: str) -> NoReturn:
        raise ExpressionError(self.text, tree.span.start, message)

    def _refuse_name(self, tree: Call, message: str) -> NoReturn:
        """At the name of a function, which in a method stands behind what it is called on."""
        after = tree.args[0].span.end if tree.method else tree.span.start
        raise ExpressionError(self.text, max(after, self.text.find(tree.name, after)), message)

    def arithmetic(self, tree: Call) -> VocabularyPart:
        parts = [self.value(arg) for arg in tree.args]
        kinds = tuple(part.type for part in parts)
        found = functions.OPERATORS.get((tree.name, kinds))
        if found is None:
            self._refuse_arithmetic(tree, kinds)
        return _applied(found, parts)

    def _refuse_arithmetic(self, tree: Call, kinds: tuple[Type, ...]) -> NoReturn:
        name = tree.name
        if name == "%" and set(kinds) <= NUMBERS:
            self.refuse(tree.args[kinds.index(DOUBLE)], "% is for ints; write int(…) around the double")
        if set(kinds) == NUMBERS:
            arg = tree.args[kinds.index(INT)]
            said = f"write {arg.value!r}.0" if isinstance(arg, Literal) else "write double(…) around it"
            self.refuse(arg, f"{name} does not mix an int with a double; {said}")
        wrong = tree.args[-1] if len(kinds) == 1 or kinds[0] in NUMBERS | {STRING} else tree.args[0]
        self.refuse(wrong, f"{name} does not go with {' and '.join(a(kind) for kind in kinds)}")

    def method(self, tree: Call) -> VocabularyPart:
        of = self.any(tree.args[0])
        if isinstance(of, VocabularyObject) and tree.name != "size":
            self._refuse_name(tree, f"{of.name} has no function {shown(tree.name)}")
        if tree.name == "size":
            return self._size(tree)
        if tree.name == "matches":
            return self._matches(tree)
        if tree.name not in functions.KNOWN_METHODS:
            hint = near(tree.name, functions.KNOWN_METHODS) or near(tree.name, functions.KNOWN_FUNCTIONS)
            self._refuse_name(tree, f"unknown function {shown(tree.name)}.{hint}".rstrip("."))
        return self._overload(tree, functions.METHODS)

    def function(self, tree: Call) -> VocabularyPart:
        name = tree.name
        if name == "size":
            return self._size(tree)
        if name == "matches":
            return self._matches(tree)
        if name in functions.QUANTITIES:
            return self._quantity(tree)
        if name not in functions.KNOWN_FUNCTIONS:
            hint = f" It follows a text: x.{name}(…)" if name in functions.KNOWN_METHODS else ""
            known = functions.KNOWN_FUNCTIONS | READERS
            self.refuse(tree, f"unknown function {shown(name)}.{hint or near(name, known)}".rstrip("."))
        return self._overload(tree, functions.FUNCTIONS)

    def _overload(self, tree: Call, table: dict[tuple[str, tuple[Type, ...]], functions.Overload]) -> VocabularyPart:
        parts = [self.value(arg) for arg in tree.args]
        found = table.get((tree.name, tuple(part.type for part in parts)))
        if found is None:
            self._refuse_arguments(
                tree, [part.type for part in parts], [way for name, way in table if name == tree.name]
            )
        return _applied(found, parts)

    def _refuse_arguments(self, tree: Call, kinds: list[Type], ways: list[tuple[Type, ...]]) -> NoReturn:
        wanted, given = len(ways[0]), len(kinds)
        if given != wanted:
            count = wanted - 1 if tree.method else wanted
            self._refuse_name(tree, f"{tree.name}() takes {count or 'no'} argument{'s' * (count > 1)}")
        place = next(i for i, kind in enumerate(kinds) if all(kind != way[i] for way in ways))
        accepted = " or ".join(dict.fromkeys(a(way[place]) for way in ways))
        self.refuse(tree.args[place], f"{tree.name}() takes {accepted}, but this is {a(kinds[place])}")

    def _size(self, tree: Call) -> VocabularyPart:
        if len(tree.args) != 1:
            self.refuse(tree, "size() takes one text or list")
        of = self.any(tree.args[0])
        if isinstance(of, VocabularyObject):
            if of.size is None:
                self.refuse(tree, f"{of.name} has no size")
            return of.size()
        if of.type.of is not None:
            return VocabularyPart(INT, lambda scene: comparison.count(of.run(scene)))
        return self._overload(tree, functions.METHODS if tree.method else functions.FUNCTIONS)

    def _matches(self, tree: Call) -> VocabularyPart:
        if len(tree.args) != 2:
            self.refuse(tree, "matches() takes a text and a pattern")
        text, expression = self.value(tree.args[0]), tree.args[1]
        if text.type != STRING:
            self.refuse(tree.args[0], f"matches() is for texts, but this is {a(text.type)}")
        if not isinstance(expression, Literal) or not isinstance(expression.value, str):
            self.refuse(expression, "the pattern of matches() must be a text that is written out")
        try:
            test = functions.pattern(expression.value)
        except ValueError as error:
            self.refuse(expression, f"this pattern cannot be read: {error}")

        def run(scene: EvaluationContext) -> Value:
            strings = text.run(scene)
            assert isinstance(strings, Strings)
            return decide(strings, test)

        return VocabularyPart(BOOL, run)

    def _quantity(self, tree: Call) -> VocabularyPart:
        written = self._texts(tree, 1, 'as in quantity("64GiB") or cores("500m")')[0]
        try:
            gives, value = functions.quantity(tree.name, written)
        except ValueError as error:
            self.refuse(tree.args[0], str(error))
        return VocabularyPart(gives, lambda _: value)

    # --- what reads the cluster ------------------------------------------------------------------------------

    def reader(self, tree: Call) -> VocabularyPart | VocabularyObject:
        if tree.name == "domain":
            if self.of_cluster:
                level, name = self._texts(tree, 2, 'as in domain("zone", "a")')
                return vocabulary.domain(self.notes, level, name)
            return vocabulary.domain(self.notes, *self._texts(tree, 1, 'as in domain("leaf")'))
        if self.of_cluster:
            self.refuse(tree, f"{tree.name}() is about a node; a condition about the whole cluster has none")
        if tree.name == "workload":
            return vocabulary.other_workload(self._texts(tree, 1, 'as in workload("db")')[0], self.notes)
        return self._distance(tree)

    def _distance(self, tree: Call) -> VocabularyPart:
        if len(tree.args) == 1 and isinstance(tree.args[0], Call):
            of = self.any(tree.args[0])
            if isinstance(of, VocabularyObject) and of.workload is not None:
                name = of.workload
                vocabulary.note_workload(name, self.notes)
                return vocabulary.distance(lambda scene: scene.distance_to_workload(name), self.notes)
        (node,) = self._texts(tree, 1, 'as in distance(workload("db")) or distance("node-7")')
        return vocabulary.distance(lambda scene: scene.distance_to_node(node), self.notes)

    def _texts(self, tree: Call, count: int, example: str) -> list[str]:
        """The arguments, all of them texts that are written out."""
        found = [arg.value for arg in tree.args if isinstance(arg, Literal) and isinstance(arg.value, str)]
        if len(found) != count or len(tree.args) != count or not all(found):
            number = "two texts" if count == 2 else "one text"
            self.refuse(tree, f"{tree.name}() takes {number} in quotes, {example}")
        return found


def _applied(overload: functions.Overload, parts: list[VocabularyPart]) -> VocabularyPart:
    runs: list[Callable[[EvaluationContext], Value]] = [part.run for part in parts]
    return VocabularyPart(overload.gives, lambda scene: overload.run(*[run(scene) for run in runs]))


def a(kind: Type) -> str:
    word = str(kind)
    return f"{'an' if word[0] in 'aei' else 'a'} {word}"


def near(word: str, known: Collection[str]) -> str:
    """' Did you mean …?' or nothing; wrong capitals are the most frequent mistake."""
    same = [one for one in known if one.lower() == word.lower()]
    return f" Did you mean {same[0]!r}?" if same else closest(word, known)
