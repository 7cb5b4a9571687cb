"""No public class name occurs twice in src/dovetail: a name that a reader looks up leads to one definition.

Classes inside other classes (`Settings` of a plugin) are known by the outer name and do not count.
"""

import ast
from collections import defaultdict
from pathlib import Path

SOURCES = Path(__file__).parents[2] / "src"


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
    twice = [f"{name}: {', '.join(modules)}" for name, modules in sorted(public_classes().items()) if len(modules) > 1]
    assert not twice, "these class names are taken; choose another:\n" + "\n".join(twice)


def test_classes_at_the_top_of_a_module_count_and_inner_or_private_ones_do_not() -> None:
    text = "class A:\n    class Settings: ...\nclass _B: ...\nif True:\n    class C: ...\nelse:\n    class C: ...\n"
    assert class_names(ast.parse(text)) == {"A", "C"}
