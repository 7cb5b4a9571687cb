"""Macros over lists that are written out, unrolled: `["a", "b"].exists(z, p(z))` becomes `p("a") || p("b")`.

Guarantees: a tree without macros and their variables, with the meaning CEL gives them, errors included; no larger than
`MAX_PARTS`. Lists that are not written out are refused by name: their length differs from node to node.
"""

from dataclasses import replace
from typing import NoReturn

from dovetail.constraints.error import ExpressionError
from dovetail.constraints.syntax.tree import Call, ListOf, Literal, Name, Tree, joined, map_children, size_of

MAX_ITEMS = 100
MAX_PARTS = 2000
MACROS = frozenset({"all", "exists", "exists_one", "filter", "map"})


def unroll(text: str, tree: Tree) -> Tree:
    return _Unrolling(text).rewritten(tree)


class _Unrolling:
    def __init__(self, text: str) -> None:
        self._text = text
        self._made = 0

    def _refuse(self, tree: Call, message: str) -> NoReturn:
        raise ExpressionError(self._text, tree.span.start, message)

    def rewritten(self, tree: Tree) -> Tree:
        match tree:
            case Call("size", (Call("filter", args, True) as inner,)):
                return self._count([self._yes_or_no(one) for one in self._each(inner, args)], tree)
            case Call(name, args, True) if name in MACROS:
                return self._macro(tree, name, args)
            case Call("&&" | "||", args):
                return joined(tree.name, tuple([self.rewritten(arg) for arg in args]), tree.span)
        return map_children(tree, self.rewritten)

    def _macro(self, tree: Call, name: str, args: tuple[Tree, ...]) -> Tree:
        if name == "filter":
            self._refuse(tree, "filter() is only for counting: size(list.filter(x, …))")
        bodies = self._each(tree, args)
        if name == "map":
            return ListOf(tuple(bodies), tree.span)
        if name == "exists_one":
            return Call("==", (self._count([self._yes_or_no(one) for one in bodies], tree), Literal(1)), span=tree.span)
        if not bodies:
            return Literal(name == "all", tree.span)
        if len(bodies) == 1:  # one alone still has to be true or false
            bodies = [*bodies, Literal(name == "all", tree.span)]
        return joined("&&" if name == "all" else "||", tuple(bodies), tree.span)

    def _each(self, macro: Call, args: tuple[Tree, ...]) -> list[Tree]:
        """The body, once for each item."""
        name = macro.name
        if len(args) != 3 or not isinstance(args[1], Name):
            self._refuse(macro, f"{name}() takes a variable and a condition, as in [1, 2].{name}(x, x > 1)")
        items = self.rewritten(args[0])
        if not isinstance(items, ListOf):
            self._refuse(macro, f'{name}() goes over a list that is written out, such as ["a", "b"]')
        if len(items.items) > MAX_ITEMS:
            self._refuse(macro, f"{name}() goes over {len(items.items)} items; at most {MAX_ITEMS} are accepted")
        self._made += len(items.items) * size_of(args[2])
        if self._made > MAX_PARTS:
            self._refuse(macro, f"{name}() over so many items makes the expression too large")
        variable = args[1].name
        return [self.rewritten(_substituted(args[2], variable, item)) for item in items.items]

    def _yes_or_no(self, body: Tree) -> Tree:
        return Call("?:", (body, Literal(1), Literal(0)), span=body.span)

    def _count(self, ones: list[Tree], tree: Call) -> Tree:
        """A sum as shallow as can be, so that long lists do not nest deeply."""
        while len(ones) > 1:
            pairs = [ones[at : at + 2] for at in range(0, len(ones), 2)]
            ones = [Call("+", tuple(pair), span=tree.span) if len(pair) == 2 else pair[0] for pair in pairs]
        return ones[0] if ones else Literal(0, tree.span)


def _substituted(tree: Tree, variable: str, item: Tree) -> Tree:
    """The tree with the item for the variable; an inner macro's variable of the same name hides it."""
    match tree:
        case Name(name):
            return replace(item, span=tree.span) if name == variable else tree
        case Call(name, (of, Name(inner) as bound, body), True) if name in MACROS:
            kept = body if inner == variable else _substituted(body, variable, item)
            return replace(tree, args=(_substituted(of, variable, item), bound, kept))
    return map_children(tree, lambda child: _substituted(child, variable, item))
