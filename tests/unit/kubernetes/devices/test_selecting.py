"""Selectors of devices: the language as Kubernetes means it, and Google's implementation of CEL beside ours."""

import subprocess
import sys
from typing import Any

import pytest
from cel_expr_python import cel  # type: ignore[import-untyped]

from dovetail.kubernetes.devices import selecting
from dovetail.kubernetes.devices.device import DeviceId, DraDevice, SelectorError
from dovetail.kubernetes.devices.selecting import Selecting

DRIVER = "dra.example.com"
ATTRIBUTES = f'device.attributes["{DRIVER}"]'
CAPACITY = f'device.capacity["{DRIVER}"]'

GPU: dict[str, Any] = {
    "attributes": {
        "model": {"string": "A100-SXM4 80GB"},
        "index": {"int": 3},
        "healthy": {"bool": True},
        "version": {"version": "550.54.15"},
        "other.io/numa": {"int": 0},
        "names": {"strings": ["fish", "bird"]},
        "versions": {"versions": ["1.0.0", "2.0.0-rc.1"]},
        "sizes": {"ints": [1, 2, 3]},
    },
    "capacity": {"memory": {"value": "80Gi"}, "other.io/share": {"value": "1500m"}},
    "allowMultipleAllocations": True,
}


def device(body: dict[str, Any] | None = None, name: str = "gpu-0", driver: str = DRIVER) -> DraDevice:
    return DraDevice(DeviceId(driver, "pool", name), {} if body is None else body, {})


def matches(expression: str, body: dict[str, Any] | None = None) -> bool:
    return Selecting()(expression, device(body))


TRUE = (
    "true",
    f'device.driver == "{DRIVER}"',
    "device.allowMultipleAllocations",
    f'{ATTRIBUTES}.model == "A100-SXM4 80GB" && {ATTRIBUTES}["index"] > 0 && {ATTRIBUTES}.healthy',
    'device.attributes["other.io"].numa == 0',
    f'"{DRIVER}" in device.attributes && !("nothing.io" in device.attributes)',
    f'"model" in {ATTRIBUTES} && !("size" in {ATTRIBUTES})',
    f"has({ATTRIBUTES}.model) && !has({ATTRIBUTES}.size) && !has({ATTRIBUTES}.model.size)",
    'device.attributes["nothing.io"].size() == 0',
    '!("x" in device.capacity["nothing.io"]) || device.capacity["nothing.io"].x.isGreaterThan(quantity("1"))',
    f'device.attributes.exists_one(domain, domain == "{DRIVER}")',
    f'{CAPACITY}.exists_one(key, key == "memory")',
    f'cel.bind(dra, {ATTRIBUTES}, dra.healthy && dra.model.startsWith("A100"))',
    "cel.bind(unused, 1 / 0, true)",
    # Errors beside an operand that decides.
    f"{ATTRIBUTES}.nothing || {ATTRIBUTES}.healthy",
    f"!({ATTRIBUTES}.nothing && false)",
    "[1, 2, 3].exists(x, 6 / (x - 1) == 3)",
    "![1, 2, 3].all(x, 6 / (x - 1) == 7)",
    # Numbers.
    f"{ATTRIBUTES}.index == 3.0 && {ATTRIBUTES}.index < 3.5",
    f"-{ATTRIBUTES}.index / 2 == -1 && -{ATTRIBUTES}.index % 2 == -1",
    "1.0 / 0.0 > 5.0 && -1.0 / 0.0 < 5.0",
    'int("-7") == -7 && int(-7.9) == -7 && double("1.5") == 1.5 && string(7) == "7" && bool("true")',
    "dyn(true) != dyn(1) && dyn([1]) == dyn([1.0])",
    # Lists.
    f'{ATTRIBUTES}.names.includes("fish") && {ATTRIBUTES}.model.includes("A100-SXM4 80GB")',
    f'"fish" in {ATTRIBUTES}.names && {ATTRIBUTES}.names.size() == 2',
    f'{ATTRIBUTES}.versions.all(v, v.isGreaterThan(semver("0.0.1")))',
    f"{ATTRIBUTES}.sizes.map(x, x * 2) == [2, 4, 6] && {ATTRIBUTES}.sizes.map(x, x > 1, x * 2) == [4, 6]",
    f"{ATTRIBUTES}.sizes.filter(x, x > 1).size() == 2 && {ATTRIBUTES}.sizes[0] == 1",
    f"{ATTRIBUTES}.index in {ATTRIBUTES}.sizes && [1, 2] + [3] == {ATTRIBUTES}.sizes",
    # Strings.
    f'{ATTRIBUTES}.model.lowerAscii() == "a100-sxm4 80gb" && "äb".upperAscii() == "äB"',
    '"a,b,c".split(",", 2) == ["a", "b,c"] && "a,b".split(",", 0) == [] && "abc".split("", 2) == ["a", "bc"]',
    '"".split(",") == [""] && "".split("") == []',
    '"abc".replace("", "-") == "-a-b-c-" && "abab".replace("a", "x", 1) == "xbab"',
    '"hello".substring(1, 3) == "el" && "hello".substring(5) == "" && "hello".charAt(4) == "o"',
    '"hello".indexOf("l") == 2 && "hello".indexOf("l", 3) == 3 && "hello".indexOf("l", 9) == -1',
    '"hello".lastIndexOf("l") == 3 && ["a", "b"].join("-") == "a-b" && "\\u00a0 x\\n".trim() == "x"',
    f'{ATTRIBUTES}.model.matches("^A100.*80GB$") && matches("asymmetric", "[^a]?sym")',
    '"abc 123 456".find("[0-9]+") == "123" && "abc".find("[0-9]+") == ""',
    '"abc 123 456".findAll("[0-9]*") == ["", "", "", "", "123", "456"] && "1 2".findAll("[0-9]", 1) == ["1"]',
    'size("äö") == 2 && "abc".contains("b") && "abc".endsWith("c")',
    # Quantities.
    f'{CAPACITY}.memory.isGreaterThan(quantity("40Gi")) && {CAPACITY}.memory.compareTo(quantity("80Gi")) == 0',
    f'{CAPACITY}.memory == quantity("85899345920") && {CAPACITY}.memory.asInteger() == 85899345920',
    'device.capacity["other.io"].share.asApproximateFloat() == 1.5 && !device.capacity["other.io"].share.isInteger()',
    'quantity("50k").add(20).sub(quantity("100k")).sub(-50000) == quantity("20") && sign(quantity("-1")) == -1',
    'quantity("20Ti").isInteger() && !quantity("200Ti").isInteger() && !quantity("1000m").isInteger()',
    '!quantity("1500m").add(quantity("500m")).isInteger() && quantity("20Ti").add(5).asInteger() == 21990232555525',
    'quantity("Mi") == quantity("0") && !isQuantity("Pi") && quantity("99Ei") == quantity("9223372036854775807")',
    'isQuantity("1.3Gi") && !isQuantity("200K") && !isQuantity("1,3G") && !isQuantity("")',
    # Versions.
    f'{ATTRIBUTES}.version.isLessThan(semver("v551", true)) && {ATTRIBUTES}.version.major() == 550',
    f"{ATTRIBUTES}.version.minor() == 54 && {ATTRIBUTES}.version.patch() == 15",
    f'{ATTRIBUTES}.version == semver("550.54.15+build") && "550.54.15" != {ATTRIBUTES}.version',
    'isSemver("1.2.3-0a.x+01.b") && !isSemver("1.2") && !isSemver("v1.0.0") && !isSemver("1.2.3-01")',
    'isSemver("v01.01.01", true) && isSemver("1", true) && !isSemver("1.2-rc", true)',
)


@pytest.mark.parametrize("expression", TRUE)
def test_a_selector_is_true_of_a_device(expression: str) -> None:
    assert matches(expression, GPU) is True
    assert matches(f"!({expression})", GPU) is False


def test_prereleases_come_before_their_release_numbers_before_words_and_short_before_long() -> None:
    suffixes = ("-alpha", "-alpha.1", "-alpha.beta", "-beta", "-beta.2", "-beta.11", "-rc.1", "")
    order = [f"1.0.0{suffix}" for suffix in suffixes]
    for at, lower in enumerate(order):
        for higher in order[at + 1 :]:
            assert matches(f'semver("{lower}").isLessThan(semver("{higher}"))')
            assert matches(f'semver("{higher}").compareTo(semver("{lower}")) == 1')


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ('device.attributes["no-such-domain"].noSuchAttr', "no such key: noSuchAttr"),
        (f'{ATTRIBUTES}["noSuchAttr"].isGreaterThan(quantity("0"))', "no such key: noSuchAttr"),
        (f"has({ATTRIBUTES}.names.size)", "no such overload: has() of list"),
        (f"{ATTRIBUTES}.index", "neither true nor false, but a int"),
        ("1 / 0 == 1", "division by zero"),
        ("9223372036854775807 + 1 > 0", "integer overflow"),
        (f"{ATTRIBUTES}.index + 1.0 > 2.0", "no such overload: + of int and double"),
        (f"{ATTRIBUTES}.model < 3", "no such overload: < of string and int"),
        (f"{ATTRIBUTES}.model && true", "no such overload: && of string"),
        (f"{ATTRIBUTES}.index ? true : false", "no such overload: ?: of int"),
        (f'{ATTRIBUTES}.version == "550.54.15"', "no such overload: == of semver and string"),
        (f'{CAPACITY}.memory.isGreaterThan(semver("1.0.0"))', "isGreaterThan() of quantity and semver"),
        (f'{ATTRIBUTES}.model * 2 == "twice"', "no such overload: * of string and int"),
        (f"{ATTRIBUTES}.sizes[-1] == 3", "index out of bounds: -1"),
        (f"{ATTRIBUTES}.index.exists(x, x > 0)", "got int, expected a list or a map"),
        (f"{ATTRIBUTES}.sizes.filter(x, x).size() == 3", "no such overload: filter() of int"),
        (f"{ATTRIBUTES}.sizes.exists_one(x, x / (x - 1) == 2)", "division by zero"),
        ("cel.bind(d, 1 / 0, d == 1)", "division by zero"),
        ('"hello".substring(3, 1) == ""', "index out of range"),
        ('"hello".matches("(")', "the pattern '(' is wrong"),
        ('quantity("Three").isInteger()', "'Three' is not a quantity"),
        ('quantity("0.5").asInteger() == 0', "cannot convert value to integer"),
        ('semver("200K").major() == 1', "'200K' is not a semantic version"),
        ('int("7.5") == 7', "'7.5' is not a whole number"),
    ],
)
def test_what_has_no_value_is_an_error_that_says_why(expression: str, words: str) -> None:
    with pytest.raises(SelectorError) as caught:
        matches(expression, GPU)
    assert words in str(caught.value)
    assert "device gpu-0 of pool pool" in str(caught.value)


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("?!", "cannot begin with ?"),
        ("true &&", "expected a value after &&"),
        ("nothing == 1 || true", "there is no nothing; there is device"),
        ("device.nothing == 1 || true", "device has no nothing"),
        (f"{ATTRIBUTES}.model.shout() || true", ".shout() is not understood"),
        (f'{ATTRIBUTES}.model.split() == "x" || true', "split() takes 1 or 2 arguments"),
        ("[1].exists(i, v, v == 1) || true", "exists() takes a variable and an expression"),
        ("1u == 1u || true", "1u is unsigned"),
        ('{"a": 1}.a == 1 || true', "maps cannot be written here"),
        ("type(1) == int || true", "type() is not understood"),
    ],
)
def test_what_is_not_understood_is_refused_even_beside_what_decides(expression: str, words: str) -> None:
    with pytest.raises(SelectorError) as caught:
        matches(expression)
    assert "cannot be read" in str(caught.value)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    "expression",
    [
        "[1,2,3,4,5,6,7,8,9,10].all(x, " * 6 + "true" + ")" * 6,
        '"a"' + '.replace("a", "aaaaaaaaaa")' * 20 + ' == "a"',
        "cel.bind(a, [1], " + "cel.bind(a, a + a, " * 30 + "true" + ")" * 31,
        "cel.bind(a, [1], " + "cel.bind(a, [a, a], " * 30 + "a == a" + ")" * 31,
    ],
)
def test_an_expression_that_would_take_for_ever_is_given_up_whatever_stands_beside_it(expression: str) -> None:
    with pytest.raises(SelectorError, match=r"more than \d+ steps|longer than \d+"):
        matches(f"({expression}) || true")


@pytest.mark.parametrize(
    ("attribute", "words"),
    [
        ({"version": "1.2"}, "attribute odd: '1.2' is not a semantic version"),
        ({"matrix": [[1]]}, "attribute odd has matrix"),
        ({}, "attribute odd has nothing"),
    ],
)
def test_a_device_with_an_attribute_that_cannot_be_read_satisfies_nothing(attribute: Any, words: str) -> None:
    with pytest.raises(SelectorError, match=words):
        matches("true", {"attributes": {"odd": attribute}})


def test_false_and_empty_attributes_are_values() -> None:
    body = {"attributes": {"off": {"bool": False}, "none": {"int": 0}, "blank": {"string": ""}, "few": {"ints": []}}}
    assert matches(
        f'!{ATTRIBUTES}.off && {ATTRIBUTES}.none == 0 && {ATTRIBUTES}.blank == "" && {ATTRIBUTES}.few == []', body
    )


def test_a_kept_answer_is_forgotten_with_any_change_that_a_selector_can_see() -> None:
    ask = Selecting()
    whole = f'{ATTRIBUTES}.n == 1 && {CAPACITY}.m == quantity("1") && !device.allowMultipleAllocations'
    body = {"attributes": {"n": {"int": 1}}, "capacity": {"m": {"value": "1"}}}
    for _ in range(2):
        assert ask(whole, device(body))
        assert not ask(whole, device({**body, "attributes": {"n": {"int": 2}}}))
        assert not ask(whole, device({**body, "capacity": {"m": {"value": "2"}}}))
        assert not ask(whole, device({**body, "allowMultipleAllocations": True}))
        assert not ask(f'device.driver == "{DRIVER}"', device(body, driver="other.io"))


def test_a_kept_error_names_the_device_that_is_asked_about_now() -> None:
    ask = Selecting()
    for name in ("gpu-0", "gpu-1", "gpu-0"):
        with pytest.raises(SelectorError, match=f"on device {name} of pool"):
            ask(f"{ATTRIBUTES}.nothing", device(GPU, name))


def test_no_more_answers_are_kept_than_there_is_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selecting, "ANSWERS_KEPT", 4)
    ask = Selecting()
    for number in (*range(10), *range(10)):
        assert ask(f"{ATTRIBUTES}.n == {number}", device({"attributes": {"n": {"int": number}}}))
        assert len(ask._answers) <= 4


def test_nothing_heavy_is_loaded_before_the_first_selector() -> None:
    code = (
        "import sys, dovetail.kubernetes.devices.selecting\n"
        "print([name for name in ('lark', 'celpy', 're2') if name in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


# What is the same in every CEL, with parts that are there and parts that are not.
LISTS = ("d.list", "[1, 2]")
OPERANDS = (*LISTS, "d.i", "d.j", "d.s", "d.b", "d.gone", "d", "2", "-7", "3.0", '"ab"', "true", "null")
RELATIONS = ("{} == {}", "{} != {}", "{} < {}", "{} >= {}", "{} in {}", "{} && {}", "{} || {}")
SUMS = ("{} + {} == 2", "{} - {} == -9", "{} * {} == 4", "{} / {} == 0", "{} % {} == -1", "{} + {} == [1, 2, 1, 2]")
SHAPES = (
    "{}.exists(x, x == 2)",
    "{}.all(x, x > 0)",
    "{}.exists_one(x, x == 2)",
    "{}.map(x, x) == [1, 2]",
    "{}.filter(x, x > 1) == [2]",
    "size({}) == 2",
    "{}[0] == 1",
    '{}["i"] == 2',
    "!{}",
    "-{} == -2",
    "{} ? true : 1 / 0 == 1",
    '{}.startsWith("a")',
    '{}.endsWith("b")',
    '{}.contains("a")',
    '{}.matches("^a")',
)
BODIES: tuple[dict[str, Any], ...] = (
    {"i": {"int": 2}, "j": {"int": -7}, "s": {"string": "ab"}, "b": {"bool": True}, "list": {"ints": [1, 2]}},
    {"i": {"int": 0}, "j": {"int": 2**63 - 1}, "s": {"string": ""}, "b": {"bool": False}, "list": {"strings": ["ab"]}},
    {"i": {"int": 3}, "s": {"string": "i"}, "list": {"bools": []}},
)


def _theirs(compiled: Any, activation: Any) -> bool | None:
    value = compiled.eval(activation)
    return value.value() if value.type() == cel.Type.BOOL else None


def _ours(expression: str, body: dict[str, Any]) -> bool | None:
    try:
        return matches(expression, {"attributes": body})
    except SelectorError:
        return None


def test_the_standard_part_of_the_language_means_what_google_s_implementation_says() -> None:
    environment = cel.NewEnv(variables={"d": cel.Type.DYN})
    texts = [form.format(left, right) for form in RELATIONS + SUMS for left in OPERANDS for right in OPERANDS]
    texts += [shape.format(operand) for shape in SHAPES for operand in OPERANDS]
    texts += ["has(d.i)", "has(d.gone)", "has(d.gone.i)", "has(d.list.i)"]
    # Theirs in C++ has an error where something that can be no key is looked for in a map; the one in Go, which
    # Kubernetes uses, says that it is not there.
    texts = [text for text in texts if text not in [f"{one} in d" for one in (*LISTS, "d", "null")]]
    answers: dict[bool | None, int] = {True: 0, False: 0, None: 0}
    for body in BODIES:
        plain = {name: next(iter(one.values())) for name, one in body.items()}
        activation = environment.Activation({"d": plain})
        for text in texts:
            compiled = environment.compile(text, disable_check=True)  # they refuse some comparisons that we accept
            ours = _ours(f"cel.bind(d, {ATTRIBUTES}, {text})", body)
            assert ours == _theirs(compiled, activation), f"{text} of {plain}"
            answers[ours] += 1
    # The comparison means something only if all three happen often.
    assert min(answers.values()) > sum(answers.values()) / 20, answers
