"""Every file in `examples` is used as the comment at its top says: its commands are run, on the server it names."""

import re
from itertools import takewhile
from pathlib import Path

import pytest
from tests.e2e.docs.page import Block
from tests.e2e.docs.runner import ROOT, PageRunner

from dovetail.client import Client

EXAMPLES = sorted((ROOT / "examples").glob("*.yaml"))

pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("pages")]


def commands_at_the_top(file: Path) -> list[str]:
    top = takewhile(lambda line: line.startswith("#"), file.read_text().splitlines())
    found = [command.strip() for line in top for command in re.findall(r"dovetail [^`&\n]+", line)]
    # An hour of a simulated day says as much here, and costs a twentieth.
    return [f"{command} --until 1h" if command.startswith("dovetail simulate") else command for command in found]


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_an_example_does_what_the_comment_at_its_top_says(file: Path, tmp_path: Path) -> None:
    commands = commands_at_the_top(file)
    assert any(f"examples/{file.name}" in command for command in commands)
    with PageRunner(tmp_path) as runner:
        runner.run(Block(f"examples/{file.name}", 1, "sh", "\n".join(commands) + "\n"))


@pytest.mark.parametrize(("work", "server"), [("services", "lab"), ("workloads", "lab"), ("hello", "lab")])
def test_all_work_of_an_example_runs_on_the_cluster_it_was_made_for(work: str, server: str, tmp_path: Path) -> None:
    text = (ROOT / "examples" / f"{work}.yaml").read_text()
    with PageRunner(tmp_path) as runner:
        runner.run(Block(work, 1, "sh", f"dovetail serve --config examples/{server}.yaml\n"))
        runner.run(Block(work, 1, "yaml", text))


def test_the_pipeline_begins_with_its_first_job_and_the_others_wait_for_each_other(tmp_path: Path) -> None:
    with PageRunner(tmp_path) as runner:
        serve, submit = "dovetail serve --config examples/queues.yaml", "dovetail submit -f examples/batch-jobs.yaml"
        runner.run(Block("batch-jobs", 1, "sh", f"{serve}\n{submit}\n"))
        with Client(runner.url) as client:
            waiting = {row["name"]: row["waits_for"] for row in client.queue()}
        assert {name: words.split()[2] for name, words in waiting.items()} == {
            "train": "prepare",
            "evaluate": "train",
            "report": "evaluate",
        }
