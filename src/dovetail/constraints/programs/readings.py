"""What an expression reads: the parts of a tree that are read from the cluster and not computed."""

from dovetail.constraints.programs.calling import READERS
from dovetail.constraints.syntax.tree import Call, Index, ListOf, Literal, Name, Select, Tree, children_of

_LABELS = Select(Name("node"), "labels")


def readings(tree: Tree) -> list[Tree]:
    """As large as can be (`node.free.memory`, `distance(…)`), each once, in the order written."""
    found: dict[Tree, None] = {}
    waiting = [tree]
    while waiting:
        one = waiting.pop()
        if is_reading(one):
            found[one] = None
        else:
            waiting.extend(reversed(children_of(one)))
    return list(found)


def is_reading(tree: Tree) -> bool:
    match tree:
        case Select(of) | Index(of, Literal()):
            return not isinstance(of, ListOf) and (isinstance(of, Name) or is_reading(of) or _is_thing(of))
        case Call("distance"):
            return True
        case Call("size", (of,)) | Call("in", (Literal(), of)):
            return of == _LABELS
    return False


def _is_thing(tree: Tree) -> bool:
    return isinstance(tree, Call) and tree.name in READERS and not tree.method
