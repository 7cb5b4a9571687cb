"""A text that does not match a pattern is answered in words, never with the pattern."""

from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError
from tools.reference import SETTINGS_PAGES

from dovetail.model.text.validation_errors import complaints_of
from dovetail.model.text.wording import PATTERNS
from dovetail.model.workloads.run import Run
from dovetail.model.workloads.workload import Workload


def patterns_in(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        if isinstance(schema.get("pattern"), str):
            yield schema["pattern"]
        yield from schema.get("patternProperties") or ()
    for inner in schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ():
        yield from patterns_in(inner)


@pytest.mark.parametrize("model", [Workload, *SETTINGS_PAGES.values()], ids=lambda model: model.__name__)
def test_every_pattern_of_a_workload_and_of_a_setting_has_words(model: type[BaseModel]) -> None:
    missing = set(patterns_in(model.model_json_schema())) - PATTERNS.keys()
    assert not missing, f"add to PATTERNS what to write instead: {missing}"


def test_the_name_of_a_variable_says_what_it_may_hold() -> None:
    with pytest.raises(ValidationError) as refused:
        Run.model_validate({"env": {"": "1"}})
    (complaint,) = complaints_of(refused.value, Run)
    assert "is not the name of a variable; write letters, digits and '_'" in complaint.message
