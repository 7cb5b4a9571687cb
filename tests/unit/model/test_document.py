"""Documents: YAML 1.2 scalars, a line for every field, and a sentence for everything YAML can get wrong."""

import math

import pytest
import yaml

from dovetail.model.text.complaint import Invalid
from dovetail.model.text.document import Document, decode, read_documents


@pytest.fixture(params=["C parser", "Python parser"])
def _either_parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "C parser" and not yaml.__with_libyaml__:
        pytest.skip("PyYAML was built without libyaml")
    monkeypatch.setattr(yaml, "__with_libyaml__", request.param == "C parser")


def data_of(text: str | bytes) -> object:
    (document,) = read_documents(text, "f.yaml")
    return document.data


def refusal(text: str | bytes) -> str:
    with pytest.raises(Invalid) as raised:
        read_documents(text, "f.yaml")
    (complaint,) = raised.value.complaints
    assert "\n" not in str(complaint)
    return str(complaint)


@pytest.mark.parametrize(
    "word", ["no", "on", "yes", "off", "y", "NO", "12:30:45", "2024-01-01", "1_000", "0b11", "1e", "."]
)
def test_words_of_yaml_1_1_stay_text(word: str) -> None:
    assert data_of(f"a: {word}") == {"a": word}


def test_scalars_follow_the_core_schema() -> None:
    read = data_of("[true, False, null, ~, '5', 5, -3, 0x1F, 0o17, 1.5, 1e3, .5, +.inf, -.INF, !!str 5, ! 6, hello]")
    expected = [True, False, None, None, "5", 5, -3, 31, 15, 1.5, 1000.0, 0.5, math.inf, -math.inf, "5", "6", "hello"]
    assert read == expected
    assert isinstance(data_of("a: .nan"), dict)


@pytest.mark.parametrize("written", ["1.10", "007", "0x1F", "+5", "1e3", ".nan", "1e999", "0.50"])
def test_a_number_remembers_how_it_was_written(written: str) -> None:
    read = data_of(f"[{written}]")
    assert isinstance(read, list)
    number = read[0]
    assert isinstance(number, int | float)
    assert str(number) == f"{number}" == repr(number) == written


def test_a_number_of_thousands_of_digits_stays_text() -> None:
    assert data_of("a: " + "9" * 5000) == {"a": "9" * 5000}


def test_json_is_a_subset() -> None:
    text = '{"a":"b","c":-1,"d":null,\n\t"e":[1,2],"f":{"g":true},"h":"\\ud83d\\ude00","i":"\\\\ud83d\\/"}'
    expected = {"a": "b", "c": -1, "d": None, "e": [1, 2], "f": {"g": True}, "h": "😀", "i": "\\ud83d/"}
    assert data_of(text) == expected


def test_keys_are_text_whatever_they_look_like() -> None:
    assert data_of("1: a\ntrue: b\n1.50: c\n~: d") == {"1": "a", "true": "b", "1.50": "c", "~": "d"}


def test_every_field_knows_its_line() -> None:
    (document,) = read_documents("# comment\nname: a\nlist:\n  - x\n  - y: 1\n    z: 2\nflow: {p: 1,\n  q: 2}\n", "f")
    places = {("name",): 2, ("list",): 3, ("list", 0): 4, ("list", 1): 5, ("list", 1, "z"): 6, ("flow", "q"): 8}
    assert {path: document.line_of(path) for path in places} == places


def test_a_missing_field_has_the_line_of_what_is_around_it() -> None:
    (document,) = read_documents("a:\n  b:\n    c: 1\n", "f")
    assert document.line_of(("a", "b", "missing", 3)) == 2
    assert document.line_of(("missing",)) == 1
    assert Document({}, "f").line_of(("a",)) is None


def test_a_file_may_hold_many_documents_and_empty_ones_do_not_count() -> None:
    documents = read_documents("---\n---\na: 1\n---\n# nothing\n---\nb: 2\n...\n", "f")
    assert [document.data for document in documents] == [{"a": 1}, {"b": 2}]
    assert [document.line_of(()) for document in documents] == [3, 7]


def test_the_items_of_a_list_are_documents_with_their_own_lines() -> None:
    (document,) = read_documents("- a: 1\n- b: 2\n  c: 3\n", "f")
    first, second = document.items()
    assert (first.data, first.at, second.data, second.at) == ({"a": 1}, (0,), {"b": 2, "c": 3}, (1,))
    assert (first.line_of(("a",)), second.line_of(("c",)), second.line_of(("missing",))) == (1, 3, 2)


def test_anchors_aliases_and_merge_keys_work() -> None:
    text = "base: &b {x: 1, y: 2}\nother: &o {y: 3, z: 4}\nuse:\n  y: 9\n  <<: [*b, *o]\nsame: *b\n'<<': text\n"
    read = data_of(text)
    assert isinstance(read, dict)
    assert read["use"] == {"x": 1, "y": 9, "z": 4}
    assert read["same"] == {"x": 1, "y": 2}
    assert read["<<"] == "text"
    assert data_of("&k name: &v 5\nb: [*k, *v]\n") == {"name": 5, "b": ["name", 5]}


def test_anchors_end_with_their_document() -> None:
    assert "'*a' refers to an anchor that is not defined" in refusal("x: &a 1\n---\ny: *a\n")


@pytest.mark.usefixtures("_either_parser")
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a:\n\tb: 1\n", "f.yaml:2: a tab cannot indent YAML; use spaces (column 1)"),
        ("a: 1\n\tb: 2\n", "f.yaml:2: a tab cannot indent YAML; use spaces (column 1)"),
        ("a: 1\nb: 'x\nc: 1\n", "f.yaml:2: the quote opened in column 4 is never closed"),
        ('a: "x\nb: 1\n', "f.yaml:1: the quote opened in column 4 is never closed"),
        ("a: 'x\n---\nb: 1\n", "f.yaml:1: the quote opened in column 4 is never closed"),
        ("a: [1, 2\nb: 3\n", "f.yaml:2: a ',' is missing, or the '[' opened in line 1 is not closed"),
        ("a: {b: 1\nc: 3\n", "f.yaml:2: a ',' is missing, or the '{' opened in line 1 is not closed"),
        ("a: b: c\n", "f.yaml:1: a second ': ' in one line; put text that contains ': ' in quotes"),
        ("a: 1\n  b: 2\n", "f.yaml:2: a field cannot start here; check the indentation"),
        ("a:\n  b: 1\n c: 2\n", "f.yaml:3: the indentation does not fit the lines before"),
        ("a: 1\n- b\n", "f.yaml:2: a list item ('- ') cannot stand among the fields of a mapping"),
        ("a: 'b' c\n", "f.yaml:1: this cannot follow what stands before it in the line"),
        (": x\n", "f.yaml:1: a field has no name before its ':'"),
        ("{: x}\n", "f.yaml:1: a field has no name before its ':'"),
        ("- a\nb: 1\n", "f.yaml:2: this is neither an item ('- ') of the list above"),
        ("a: - b\n", "f.yaml:1: a list item ('- ') cannot start here"),
        ("a: 1\nfoo\nb: 2\n", "f.yaml:2: expected 'field: value'; the ':' is missing"),
        ("a: @x\n", "f.yaml:1: a value cannot start with '@'; put it in quotes (column 4)"),
        ("a: `x`\n", "f.yaml:1: a value cannot start with '`'; put it in quotes (column 4)"),
        ("a: ]\n", "f.yaml:1: a value is missing before this character"),
        ("a: [1,, 2]\n", "f.yaml:1: a value is missing before this character; put text that starts with it in quotes"),
        ("a: *\n", "f.yaml:1: '*' refers to an anchor and needs its name"),
        ("a: & b\n", "f.yaml:1: '&' names an anchor and needs a name"),
        ("a: *foo\n", "f.yaml:1: '*foo' refers to an anchor that is not defined before it"),
        ("a: {{ x }}\n", "f.yaml:1: a list or mapping cannot be a field's name"),
        ("a: &x b\n*x : 1\n", "f.yaml:2: a reference cannot be a field's name"),
        ('a: "\\q"\n', "f.yaml:1: unknown '\\' escape in double quotes"),
        ('a: "\\ud83d"\n', "f.yaml:1: "),
        ('a: "\\U99999999"\n', "escape"),
        ("a: |x\n", "f.yaml:1: after '|' or '>' the text begins on the next line"),
        ("%YAML 3.0\n---\na: 1\n", "f.yaml:1: this version of YAML is not supported"),
        ("a: 1\n...\nfoo: 1\n...\n]", "f.yaml:3: text after the end of a document; separate documents with a line"),
        ("a: 1\nb: 2\na: 3\n", "f.yaml:3: 'a' was already given in line 1; a field is written once"),
        ("a: &x\n  b: *x\n", "f.yaml:2: '*x' is inside the value it refers to; references cannot go in circles"),
        ("a: &x [1, [*x]]\n", "f.yaml:1: '*x' is inside the value it refers to"),
        ("<<: 3\n", "f.yaml:1: '<<' merges mappings"),
        ("<<: []\n", "f.yaml:1: '<<' merges mappings"),
        ("a: &a {b: 1}\nc:\n  <<: *a\n  <<: *a\n", "f.yaml:4: '<<' is used twice in one mapping"),
        ("a: !!python/object/apply:os.system [ls]\n", "f.yaml:1: the tag '!!python/object/apply:os.system' is not"),
        ("a: !!timestamp 2024-01-01\n", "f.yaml:1: the tag '!!timestamp' is not allowed"),
        ("a: !mine x\n", "f.yaml:1: the tag '!mine' is not allowed; write plain values"),
        ("a: !foo!bar 1\n", "f.yaml:1: tags (words that start with '!') are not allowed"),
        ("a: b\nc: x\0y\n", "f.yaml:2: character U+0000 cannot stand in a text file; remove it (column 5)"),
        ("a: \x1b[31m\n", "f.yaml:1: character U+001B cannot stand in a text file"),
        ("a: \ud800\n", "f.yaml:1: character U+D800 cannot stand in a text file"),
        ("[" * 101, "f.yaml:1: is nested deeper than 100 levels"),
        ("- " * 101 + "x", "f.yaml:1: is nested deeper than 100 levels"),
        ("\n{a: " + "{a: " * 100_000, "f.yaml:2: is nested deeper than 100 levels"),
    ],
)
def test_a_mistake_gets_its_line_and_a_sentence(text: str, words: str) -> None:
    assert words in refusal(text)


def test_a_hundred_levels_are_read() -> None:
    assert data_of("[" * 100 + "]" * 100) is not None


def test_references_cannot_stand_for_a_billion_values() -> None:
    rows = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    rows += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 12)]
    assert "holds more than 1000000 values once its references are followed" in refusal("\n".join(rows))


def test_references_cannot_nest_deeper_than_values_can() -> None:
    rows = ["- &a0 [x]", *(f"- &a{i} [[[[[[[[[[*a{i - 1}]]]]]]]]]]" for i in range(1, 20))]
    assert "is nested deeper than 100 levels" in refusal("\n".join(rows))


def test_a_text_that_is_too_long_is_not_parsed() -> None:
    with pytest.raises(Invalid, match=r"^f: is 11 characters long; at most 10 are read. Split it"):
        read_documents("a: [[[[[[[[", "f", max_bytes=10)
    with pytest.raises(Invalid, match=r"^f: is 8388609 bytes long; at most 8388608 are read"):
        read_documents(b"\xff" * (8 * 2**20 + 1), "f")


def test_a_file_that_is_not_utf_8_says_so() -> None:
    assert refusal(b"a: b\nc: \xe9\n") == "f.yaml:2: byte 0xe9 is not UTF-8; save the file as UTF-8"
    assert refusal("a: b".encode("utf-16")) == "f.yaml: is UTF-16; save it as UTF-8"
    assert data_of(b"\xef\xbb\xbfa: \xc3\xa9") == {"a": "é"}
    assert decode(b"\xef\xbb\xbfx", "f") == "x"
    assert data_of("\ufeffa: b") == {"a": "b"}


@pytest.mark.parametrize("text", ["", "\n\n", "# only a comment\n", "---\n", "---\n...\n", "null", "~"])
def test_an_empty_file_holds_no_document(text: str) -> None:
    assert read_documents(text, "f") == []
