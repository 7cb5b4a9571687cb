"""Reading and writing expressions."""
# ruff: noqa: E501 (a text and what is said of it stand in one line)

import pytest

from dovetail.constraints.error import ExpressionError
from dovetail.constraints.syntax.parser import parse, warm_up
from dovetail.constraints.syntax.tree import Call, Literal, Name, Select, Span
from dovetail.constraints.syntax.writer import write


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ('node.labels["zone"]in["a","b"]&&!has(node.labels.spot)', 'node.labels["zone"] in ["a", "b"] && !has(node.labels.spot)'),
        ("(((a)))", "a"),
        ("a && (b && c)", "a && b && c"),
        ("(a || b) && c", "(a || b) && c"),
        ("a || (b && c)", "a || b && c"),
        ("a - (b - c) - d", "a - (b - c) - d"),
        ("(a ? b : c) ? d : e ? f : g", "(a ? b : c) ? d : e ? f : g"),
        ("!(a == b)", "!(a == b)"),
        ("- 5 + --5 - -0x1F", "-5 + 5 - -31"),
        ("-(-x)", "-(-x)"),
        ("1 -1", "1 - 1"),
        ("64u == 1.5e-3 || .5 < 1e3", "64 == 0.0015 || 0.5 < 1000.0"),
        (r"""'it\'s' + r"\d" + "\u00e4\x41\101" + '''a"b'''""", r'"it\'s" + "\\d" + "äAA" + "a\"b"'.replace(r"\'", "'")),
        ("true // to the end\n && false", "true && false"),
        ("node.labels.not == falsey", "node.labels.not == falsey"),
        ("x.f(1)[2].g()", "x.f(1)[2].g()"),
        ("(-5).f()", "(-5).f()"),
    ],
)  # fmt: skip
def test_an_expression_is_written_with_the_fewest_brackets(text: str, written: str) -> None:
    assert write(parse(text)) == written
    assert parse(written) == parse(text)


@pytest.mark.parametrize(
    ("text", "unrolled"),
    [
        ('["a", "b"].exists(z, z == x)', '"a" == x || "b" == x'),
        ("[1, 2].all(v, v > x) && y", "1 > x && 2 > x && y"),
        ("[].exists(v, v)", "false"),
        ("[].all(v, v)", "true"),
        ("[1, 2].exists_one(v, v > 1)", "(1 > 1 ? 1 : 0) + (2 > 1 ? 1 : 0) == 1"),
        ("size([1, 2].filter(v, v > 1))", "(1 > 1 ? 1 : 0) + (2 > 1 ? 1 : 0)"),
        ("x in [1, 2].map(v, v * 2)", "x in [1 * 2, 2 * 2]"),
        ("[1].all(a, [2].all(a, a > x))", "2 > x && true && true"),
    ],
)
def test_macros_over_written_lists_are_unrolled(text: str, unrolled: str) -> None:
    assert write(parse(text)) == unrolled


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the expression is empty; write a condition such as node.free.cpu >= 2"),
        ("a ==", "column 5: expected a value after =="),
        ("a == == b", "column 6: expected a value after ==, got =="),
        ("== 3", "column 1: an expression cannot begin with =="),
        ("a b", "column 3: expected an operator such as && or == before b"),
        ("a.", "column 3: expected a name after the dot"),
        ("a ? b", "column 6: the expression ends too early"),
        ("(a", "column 1: ( is not closed"),
        ("a)", "column 2: ) closes nothing; nothing was opened before it"),
        ("(a]", "column 3: ] does not close ( at column 1; close that first"),
        ('a == "b', 'column 6: this string is not closed; end it with "'),
        ("a = b", "column 3: = compares nothing; write =="),
        ("a and b", "column 3: and is written && here"),
        ("not a", "column 1: not is written ! here"),
        ("a & b", "column 3: write && for and"),
        ("a == #", "column 6: '#' has no meaning here"),
        ('{"a": 1}', "column 1: maps cannot be written here; compare with &&, || and in"),
        (".x", "column 1: a name cannot begin with a dot"),
        ('b"x"', "column 1: bytes have no use here; write a text without the b"),
        (r'a == "\q"', r"column 7: \q means nothing in a string; for a backslash write \\"),
        ("a < 9223372036854775808", "column 5: 9223372036854775808 does not fit into 64 bits; for a double write 9223372036854775808.0"),
        ("a < 1e999", "column 5: 1e999 is larger than any double"),
        ("has(x)", "column 1: has() takes one field, such as has(node.labels.spot)"),
        ('has(x["a"])', 'column 1: has() takes a field such as node.labels.spot; or write "spot" in node.labels'),
        ("x.exists(y, y)", 'column 1: exists() goes over a list that is written out, such as ["a", "b"]'),
        ("[1].exists(2, true)", "column 1: exists() takes a variable and a condition, as in [1, 2].exists(x, x > 1)"),
        ("[1].filter(x, true) == 3", "column 1: filter() is only for counting: size(list.filter(x, …))"),
        ("a ||\n  b ==", "line 2, column 7: expected a value after =="),
        ("a == '\ud800'", "column 7: this is half a character; send the whole of it"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_named_at_its_place(text: str, message: str) -> None:
    with pytest.raises(ExpressionError) as error:
        parse(text)
    assert str(error.value) == message


def test_the_caret_stands_under_the_place() -> None:
    with pytest.raises(ExpressionError) as error:
        parse("a &&\nnode.free.cpu = 3\n&& b")
    assert error.value.at == 19
    assert error.value.caret.splitlines() == [
        "line 2, column 15: = compares nothing; write ==",
        "node.free.cpu = 3",
        "              ^",
    ]


def test_a_long_line_is_cut_around_the_place() -> None:
    text = " && ".join(["node.free.cpu > 1.0"] * 20) + " = 3"
    with pytest.raises(ExpressionError) as error:
        parse(text)
    _, line, caret = error.value.caret.splitlines()
    assert len(line) < 80
    assert line[caret.index("^")] == "="


def test_positions_are_those_of_the_text_and_do_not_count_in_comparisons() -> None:
    tree = parse('  true == (a.b > "x")')
    assert isinstance(tree, Call)
    assert tree.args[0] == Literal(True)
    assert tree.args[0].span == Span(2, 6)
    assert tree.args[1].span == Span(11, 20)
    assert tree.args[1] == Call(">", (Select(Name("a"), "b"), Literal("x")))


def test_warming_up_may_be_done_again() -> None:
    warm_up()
    warm_up()
