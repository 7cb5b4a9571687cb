"""Submitting by form and by editor, which are views of one text; and the whole way with the keyboard alone."""

from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from tests.e2e.server_process import ServerProcess
from tests.patience import wait_for
from tests.servers.browser import page_of

from dovetail.client import Client

pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("web")]
HOSTILE = "<img src=x onerror=alert(1)>"
TRICKY = {
    "texts": ["yes", "no", "null", "1", "1.5", "1e3", "0x10", "", " a ", "a: b", "a #b", "- a", "@x", "%y", "&z", "*w"],
    "more": [
        "'",
        '"',
        "\\",
        "a\nb",
        "\u2028",
        "{a}",
        "[b]",
        "a,b",
        "~",
        "!t",
        "|",
        ">",
        "?",
        "=",
        "12:30",
        "2001-01-01",
    ],
    "nested": [{"a": [{"b": 1}, {"c": [True, None, 2.5]}]}, {"empty": {}, "none": []}],
    "key with: colon": {"yes": "512GiB", "on": "20m", "8": "echo hello"},
    "command": ["python", "-c", HOSTILE],
}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    nodes = {"prefix": "n", "count": 2, "capacity": {"cpu": 8, "memory": "32GB"}}
    settings = {"backends": {"sim": {"kind": "simulated", "forever": True, "groups": [nodes]}}}
    with ServerProcess(tmp_path_factory.mktemp("data"), settings) as server, Client(server.url) as found:
        yield found


def editor(page: Any) -> Any:
    return page.get_by_label("Definition as YAML")


def test_the_form_and_the_editor_are_one_text(chromium: Any, client: Client) -> None:
    with page_of(chromium, client, "/submit") as (page, _):
        page.get_by_text("hello would go to").wait_for()
        page.get_by_label("Name", exact=True).fill("train")
        page.get_by_label("Tasks").fill("2")
        page.get_by_label("Start together").check()
        page.get_by_label("Command").fill(f"python train.py '{HOSTILE}'")
        page.get_by_label("GPUs").fill("")
        page.get_by_label("CPU cores").fill("3")
        page.get_by_label("Priority").select_option("high")
        page.get_by_text("All 2 tasks of train would be placed").wait_for()
        written = yaml.safe_load(editor(page).input_value())
        assert written == {
            "name": "train",
            "run": {"command": ["python", "train.py", HOSTILE]},
            "resources": {"cpu": 3, "memory": "1GiB"},
            "replicas": 2,
            "gang": {"min": 2},
            "priority": "high",
        }
        editor(page).fill(editor(page).input_value().replace("name: train", "name: other # a remark"))
        page.wait_for_function("() => document.getElementById('field-name').value === 'other'")
        page.get_by_label("Tasks").fill("1")
        assert "# a remark" in editor(page).input_value(), "what the form does not know stays"
        assert yaml.safe_load(editor(page).input_value())["gang"] == {"min": 1}
        page.reload()  # it is not lost
        page.get_by_text("other would go to").wait_for()
        page.get_by_role("button", name="Submit", exact=True).click()
        page.get_by_role("heading", name="default/other").wait_for()
    spec = client.workload("other")["spec"]
    assert spec["run"] == {"command": ["python", "train.py", HOSTILE]}
    assert spec["priority"] == "high"


def test_what_is_wrong_stands_at_its_line(chromium: Any, client: Client) -> None:
    with page_of(chromium, client, "/submit", width=390, dark=True) as (page, _):
        editor(page).fill("name: x\nresources:\n  cpu: 1\n  cpx: 3\n")
        page.get_by_role("alert").get_by_text("line 4: resources.cpx: unknown resource 'cpx'").wait_for()
        assert page.locator(".numbers .wrong").inner_text() == "4"
        assert page.get_by_role("button", name="Submit", exact=True).is_disabled()
        page.get_by_role("alert").get_by_role("button").press("Enter")
        assert page.evaluate("document.activeElement.selectionStart") == len("name: x\nresources:\n  cpu: 1\n")
        editor(page).fill(f"name: {HOSTILE}\n")
        page.get_by_role("alert").get_by_text("line 1: name").wait_for()
        assert page.locator("main img").count() == 0
        assert page.evaluate("document.documentElement.scrollWidth") == 390


def test_field_names_and_values_are_completed(chromium: Any, client: Client) -> None:
    with page_of(chromium, client, "/submit") as (page, _):
        editor(page).fill("")
        editor(page).press_sequentially("name: x\nresour")
        page.get_by_role("option", name="resources").wait_for()
        page.keyboard.press("Enter")
        editor(page).press_sequentially("mem")
        page.get_by_role("option", name="memory").wait_for()
        page.keyboard.press("Enter")
        page.keyboard.type("2GiB\n")
        page.keyboard.press("Backspace")
        editor(page).press_sequentially("priority: ba")
        page.get_by_role("region", name="Definition").get_by_role("option", name="batch").wait_for()
        page.keyboard.press("Tab")
        assert editor(page).input_value() == "name: x\nresources:\n  memory: 2GiB\npriority: batch"
        page.keyboard.press("Control+z")
        assert editor(page).input_value() != "name: x\nresources:\n  memory: 2GiB\npriority: batch"


def test_what_was_typed_outlives_a_lost_connection(chromium: Any, client: Client) -> None:
    client.submit({"name": "template", "labels": {"a": "b"}})
    with page_of(chromium, client, "/submit?from=default/template") as (page, _):
        page.get_by_text("template would go to").wait_for()
        assert yaml.safe_load(editor(page).input_value())["labels"] == {"a": "b"}
        editor(page).fill("name: typed\n")
        page.get_by_role("button", name="live").click()  # hold still, and go on: the page is loaded again
        page.get_by_role("button", name="paused").click()
        page.get_by_role("button", name="live").wait_for()
        page.get_by_text("typed would go to").wait_for()
        with page.expect_response("**/api/v1/plan*"):
            page.get_by_label("Tasks").fill("2")
        assert yaml.safe_load(editor(page).input_value()) == {"name": "typed", "replicas": 2}


def test_a_suggestion_of_the_plan_is_taken_over(chromium: Any, client: Client) -> None:
    with page_of(chromium, client, "/submit") as (page, _):
        editor(page).fill("name: wide\nresources:\n  cpu: 40 # too many\n")
        page.get_by_text("wide would wait").wait_for()
        page.get_by_role("button", name="Use").first.click()
        page.get_by_text("wide would go to").wait_for()
        [plan] = client.plan({"name": "wide", "resources": {"cpu": 40}})
        patch = plan["suggestions"][0]["patch"]
        assert patch is not None
        assert yaml.safe_load(editor(page).input_value())["resources"] == patch["resources"]


@pytest.mark.parametrize("field", ["Namespace", "Queue", "Memory"])
def test_control_enter_submits_from_every_field_with_what_was_typed_there(
    chromium: Any, client: Client, field: str
) -> None:
    name, typed = f"from-{field.lower()}", {"Namespace": "team", "Queue": "default", "Memory": "1GiB"}[field]
    with page_of(chromium, client, "/submit") as (page, _):
        page.get_by_label("Name", exact=True).fill(name)
        page.get_by_text(f"{name} would go to").wait_for()
        tab_to(page, field)
        page.keyboard.press("Control+a")
        page.keyboard.type(typed)
        page.keyboard.press("Control+Enter")
        where = "team" if field == "Namespace" else "default"
        page.get_by_role("heading", name=f"{where}/{name}").wait_for()
    spec = client.workload(name, where)["spec"]
    given = {"Namespace": spec.get("namespace"), "Queue": spec.get("queue"), "Memory": spec["resources"].get("memory")}
    assert given[field] == typed


def test_the_whole_way_with_the_keyboard_alone(chromium: Any, client: Client) -> None:
    """Submit, why does it wait, accept a suggestion, it runs."""
    with page_of(chromium, client, "/submit") as (page, _):
        keys = page.keyboard
        tab_to(page, "Name")
        keys.press("Control+a")
        keys.type("by-hand")
        tab_to(page, "CPU cores")
        keys.press("Control+a")
        keys.type("40")
        page.get_by_text("by-hand would wait").wait_for()
        keys.press("Control+Enter")
        page.get_by_role("heading", name="default/by-hand").wait_for()
        page.get_by_text("by-hand waits").wait_for()
        tab_to(page, "Plan this")
        keys.press("Enter")
        page.get_by_text("by-hand would go to").wait_for()
        tab_to(page, "Submit this")
        keys.press("Enter")
        page.get_by_role("dialog").wait_for()
        tab_to(page, "Submit this")
        keys.press("Enter")
        page.get_by_text("by-hand is running").wait_for()
    wait_for(lambda: client.workload("by-hand")["state"] == "running")


def tab_to(page: Any, name: str) -> None:
    """Where the focus comes to with the Tab key, by the name that it has for readers of screens."""
    label = "(e => e.getAttribute('aria-label') ?? e.labels?.[0]?.innerText ?? e.innerText)(document.activeElement)"
    for _ in range(80):
        page.keyboard.press("Tab")
        if page.evaluate(label).strip() == name:
            return
    raise AssertionError(f"the Tab key never comes to {name!r}")


def test_definitions_are_written_as_yaml_that_means_the_same(chromium: Any, client: Client) -> None:
    with page_of(chromium, client, "/submit") as (page, _):
        written = page.evaluate(
            "async spec => (await import(MODULE)).yaml(spec)".replace("MODULE", module(page)), TRICKY
        )
    assert yaml.safe_load(written) == TRICKY


FIELDS: list[tuple[str, list[str], str | None, str]] = [
    ("", ["name"], "a", "name: a\n"),
    ("name: a\n", ["resources", "cpu"], "2", "name: a\nresources:\n  cpu: 2\n"),
    ("a:\n    b: 1 # one\nname: a\n", ["a", "b"], "2", "a:\n    b: 2 # one\nname: a\n"),
    ("resources:\n  cpu: 1\nname: a\n", ["resources", "cpu"], None, "name: a\n"),
    ("resources: {cpu: 1}\n", ["resources", "cpu"], "2", "resources: {cpu: 1}\n"),
    ("run:\n  command:\n    - a\n", ["run", "command"], "[b]", "run:\n  command:\n    - a\n"),
    ("# first\n\na:\n  b: 1\n\n# last\nc: 2\n", ["a", "d"], "3", "# first\n\na:\n  b: 1\n  d: 3\n\n# last\nc: 2\n"),
]


def test_a_field_is_written_and_all_other_lines_stay(chromium: Any, client: Client) -> None:
    with page_of(chromium, client, "/submit") as (page, _):
        fields = module(page).replace("yaml.js", "yaml-fields.js")
        call = f"async ([text, path, value]) => (await import({fields})).withField(text, path, value)"
        for text, path, value, wanted in FIELDS:
            assert page.evaluate(call, [text, path, value]) == wanted


def module(page: Any) -> str:
    """Where `core/yaml.js` lies on this server, as a literal."""
    shell = page.locator("script[type=module]").get_attribute("src")
    return repr(shell.replace("app.js", "core/yaml.js"))
