"""What makes no sense is refused when it is submitted, at the exact place."""
# ruff: noqa: E501 (a text and what is said of it stand in one line)

import pytest

from dovetail.constraints.error import ExpressionError
from dovetail.constraints.programs.program import compile_cluster, compile_node


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("node.free.memory", "column 1: the expression must be true or false, but this is an int; compare it with something"),
        ("[true]", "column 1: the expression must be true or false, but this is a list of bool"),
        ("zone == 'a'", "column 1: unknown name 'zone'. A text is written in quotes, a label node.labels.zone"),
        ("nod.name == 'a'", "column 1: unknown name 'nod'. Did you mean 'node'?"),
        ("node.lables.zone == 'a'", "column 6: node has no field 'lables'. Did you mean 'labels'?"),
        ("node.free.ram > 1", "column 11: node.free has no field 'ram'. Known: cpu, memory, disk, gpu, slots"),
        ("node.free['ram'] > 1", "column 11: 'ram' is no resource. An extended one is written vendor.com/name"),
        ("node.name.size == 1", "column 11: a string has no field 'size'"),
        ("node.free > 1", "column 1: node.free is not a value; go on with one of its fields: cpu, memory, disk, gpu, slots"),
        ("gib(1) > 0", "column 1: unknown function 'gib'. Did you mean 'GiB'?"),
        ("node.name.startswith('a')", "column 11: unknown function 'startswith'. Did you mean 'startsWith'?"),
        ("startsWith(node.name, 'a')", "column 1: unknown function 'startsWith'. It follows a text: x.startsWith(…)"),
        ("node.name.startsWith(1)", "column 22: startsWith() takes a string, but this is an int"),
        ("node.name.startsWith()", "column 11: startsWith() takes 1 argument"),
        ("GiB('a') > 1", "column 5: GiB() takes an int or a double, but this is a string"),
        ("int(true) > 1", "column 5: int() takes an int or a double or a string, but this is a bool"),
        ("node.free.cpu + 1 > 2.0", "column 17: + does not mix an int with a double; write 1.0"),
        ("node.free.cpu * node.tasks > 2.0", "column 17: * does not mix an int with a double; write double(…) around it"),
        ("node.free.cpu % 2 == 1", "column 1: % is for ints; write int(…) around the double"),
        ("node.name - 'a' == 'b'", "column 13: - does not go with a string and a string"),
        ("-node.name == 'b'", "column 2: - does not go with a string"),
        ("node.free.cpu > 'a'", "column 17: a double cannot be compared with a string; write the number in quotes, or int(…) around the text"),
        ("node.labels.gen > 3", "column 19: a string cannot be compared with an int; write the number in quotes, or int(…) around the text"),
        ("[1] < [2]", "column 1: lists have no order; < does not compare them"),
        ("node.name in 'abc'", "column 14: after in stands a list, but this is a string"),
        ("1 in ['a']", "column 1: an int cannot be in a list of string"),
        ("node.name in [1, 'a']", "column 18: this list begins with an int, and this is a string"),
        ("node.name in node.labels", "column 1: the key of node.labels must be a text that is written out"),
        ("node.labels[node.name] == 'a'", "column 13: the key of node.labels must be written out, as in node.labels[…] with a text in quotes"),
        ("'a' in node.free", "column 8: node.free is no list; after in stands a list or node.labels"),
        ("node.taints[0] == 'a'", "column 13: only a list that is written out has numbered items, and the number must be, too"),
        ("[1, 2][2] == 1", "column 8: the list has 2 items; the first is [0]"),
        ("node.name && true", "column 1: && joins conditions, but this is a string; compare it with something"),
        ("!node.name", "column 2: ! joins conditions, but this is a string; compare it with something"),
        ("node.name ? true : false", "column 1: before ? stands a condition, but this is a string"),
        ("(true ? 1 : 'a') == 1", "column 13: one branch is an int and the other a string; make them alike"),
        ("node.labels.x == null", "column 18: null has no use here; whether a node has a label is asked by has(node.labels.x)"),
        ("has(node.free.cpu)", "column 1: has() is for labels, as in has(node.labels.spot); node.free has fixed fields"),
        ("node.name.matches('(')", "column 19: this pattern cannot be read: missing ): ("),
        ("node.name.matches(node.backend)", "column 19: the pattern of matches() must be a text that is written out"),
        ("quantity('64GX') > 1", "column 10: unknown unit 'GX' in '64GX'; write bytes with a unit such as 512MiB, 64GiB, 10GB or 1048576"),
        ("domain(node.name).nodes > 1", "column 1: domain() takes one text in quotes, as in domain(\"leaf\")"),
        ("domain('zone', 'a').nodes > 1", "column 1: domain() takes one text in quotes, as in domain(\"leaf\")"),
        ("distance(workload('db').tasks) < 5", "column 1: distance() takes one text in quotes, as in distance(workload(\"db\")) or distance(\"node-7\")"),
        ("cluster.nodes > 1", "column 1: cluster is for conditions of rules; about nodes use node or domain(level)"),
        ("workload == 1", "column 1: workload is a function; write workload(…)"),
    ],
)  # fmt: skip
def test_an_expression_about_nodes_is_refused_at_the_place(text: str, message: str) -> None:
    with pytest.raises(ExpressionError) as error:
        compile_node(text)
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("node.tasks > 1", "column 1: a condition about the whole cluster has no node; use cluster or domain(level, name)"),
        ("workload('db').tasks > 1", "column 1: workload() is about a node; a condition about the whole cluster has none"),
        ("domain('zone').nodes > 1", "column 1: domain() takes two texts in quotes, as in domain(\"zone\", \"a\")"),
        ("clustr.nodes > 1", "column 1: unknown name 'clustr'. Did you mean 'cluster'?"),
    ],
)  # fmt: skip
def test_a_condition_about_the_cluster_is_refused_at_the_place(text: str, message: str) -> None:
    with pytest.raises(ExpressionError) as error:
        compile_cluster(text)
    assert str(error.value) == message


def test_compiling_again_gives_the_same_program() -> None:
    assert compile_node("node.tasks > 1") is compile_node("node.tasks > 1")


def test_a_pattern_is_matched_as_written_inside_a_macro() -> None:
    assert compile_node('["^a", "^b"].exists(p, node.name.matches(p))').parts
