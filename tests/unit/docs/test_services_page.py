"""What docs/services.md says beside its commands is so."""

from pathlib import Path

from dovetail.engine.events.tasks import CALM_RUN_S, CRASHES_OF_A_LOOP
from dovetail.model.services.service import Update
from dovetail.queueing.settings import BackoffSettings
from dovetail.services.changes import IN_PLACE
from dovetail.services.reconcile import CRASHES_THAT_FAIL_AN_UPDATE

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "services.md").read_text()


def test_the_definition_on_the_page_is_that_of_the_example() -> None:
    lines = (ROOT / "examples" / "web.yaml").read_text().splitlines(keepends=True)
    definition = "".join(line for line in lines if not line.startswith("#"))
    assert f"```yaml\n{definition}```" in PAGE


def test_the_fields_that_change_in_place_are_named() -> None:
    assert {"replicas", "health", "update", "autoscale"} == IN_PLACE
    assert "`replicas`, `health`, `update` and `autoscale` change in place" in PAGE


def test_numbers_are_those_of_the_code() -> None:
    assert CRASHES_THAT_FAIL_AN_UPDATE == CRASHES_OF_A_LOOP == 3
    assert "has crashed three times" in PAGE
    assert "After three short runs" in PAGE
    assert Update().healthy_within == BackoffSettings().most == 300
    assert "`update.healthy_within` (5 minutes)" in PAGE
    assert "up to five minutes" in PAGE
    assert CALM_RUN_S == 600
    assert "A run of ten minutes" in PAGE
