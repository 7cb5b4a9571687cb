"""No public class name occurs twice in src/dovetail: a name that a reader looks up leads to one definition.

Classes inside other classes (`Settings` of a plugin) are known by the outer name and do not count. Names that still
occur twice are listed in `duplicate_class_names.txt`. That list only shrinks: a name on it that is unique again fails
this test too.
"""

import ast
from collections import defaultdict
from pathlib import Path

SOURCES = Path(__file__).parents[2] / "src"
ALLOWED = Path(__file__).parent / "duplicate_class_names.txt"


def public_classes() -> dict[str, list[str]]:
    """The modules that define each public class name."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for path in sorted((SOURCES / "dovetail").rglob("*.py")):
        module = ".".join(path.relative_to(SOURCES).with_suffix("").parts)
        for name in class_names(ast.parse(path.read_text())):
            found[name].append(module)
    return found


def class_names(tree: ast.Module) -> set[str]:
    """Public classes at the top of a module; both branches of a condition define the same one."""
    nodes = list(tree.body)
    names = set()
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.If | ast.Try):
            nodes += [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.stmt)]
    return {name for name in names if not name.startswith("_")}


def test_no_public_class_name_is_defined_twice() -> None:
    allowed = {line for line in ALLOWED.read_text().splitlines() if line and not line.startswith("#")}
    twice = {name: modules for name, modules in public_classes().items() if len(modules) > 1}
    new = [f"{name}: {', '.join(modules)}" for name, modules in sorted(twice.items()) if name not in allowed]
    assert not new, "these class names are taken; choose another:\n" + "\n".join(new)
    done = sorted(allowed - twice.keys())
    assert not done, f"these are unique now; remove them from {ALLOWED.name}:\n" + "\n".join(done)


def test_classes_at_the_top_of_a_module_count_and_inner_or_private_ones_do_not() -> None:
    text = "class A:\n    class Settings: ...\nclass _B: ...\nif True:\n    class C: ...\nelse:\n    class C: ...\n"
    assert class_names(ast.parse(text)) == {"A", "C"}
