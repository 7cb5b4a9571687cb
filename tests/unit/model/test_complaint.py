"""Complaints: Pydantic's errors in words, at the place where the user wrote the mistake, without echoing secrets."""

from enum import StrEnum
from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, Field, RootModel, ValidationError, model_validator

from dovetail.model.node import Node
from dovetail.model.text.complaint import MAX_COMPLAINTS, Complaint, Invalid, field_name
from dovetail.model.text.reading import read_one
from dovetail.model.text.strict import AtField, Name, Strict
from dovetail.model.text.validation_errors import complaints_of
from dovetail.model.workloads.workload import Workload


def problems_of(model: type[BaseModel], data: object) -> list[Complaint]:
    with pytest.raises(ValidationError) as raised:
        model.model_validate(data)
    return complaints_of(raised.value, model)


def said(model: type[BaseModel], data: object) -> list[str]:
    return [str(complaint) for complaint in problems_of(model, data)]


def test_a_complaint_reads_as_file_line_field_and_message() -> None:
    assert (
        str(Complaint("jobs.yaml", 7, "resources.memory", "unknown unit"))
        == "jobs.yaml:7: resources.memory: unknown unit"
    )
    assert str(Complaint("jobs.yaml", None, "", "holds no workload")) == "jobs.yaml: holds no workload"
    assert str(Complaint("", None, "name", "is required")) == "name: is required"
    assert Complaint("f", 1, "kind", "no", ("job",)).to_dict() == {
        "source": "f", "line": 1, "field": "kind", "message": "no", "accepted": ["job"],
    }  # fmt: skip


def test_lines_of_detail_stand_indented_under_a_complaint() -> None:
    complaint = Complaint("jobs.yaml", 7, "constraints[0].require", "column 3: no", detail="a &&\n   ^")
    assert str(complaint) == "jobs.yaml:7: constraints[0].require: column 3: no\n    a &&\n       ^"
    assert complaint.to_dict()["detail"] == "a &&\n   ^"


def test_a_path_reads_like_code() -> None:
    assert field_name(("tolerations", 0, "effect")) == "tolerations[0].effect"
    assert field_name(("labels", "a.b/c")) == "labels['a.b/c']"
    assert field_name((2, "name")) == "[2].name"
    assert field_name(("labels", "x\ny" * 1000)).count("\n") == 0
    assert len(field_name(("labels", "x" * 5000))) < 90


def test_an_unknown_field_gets_the_nearest_known_one_and_all_of_that_place() -> None:
    (complaint,) = problems_of(Workload, {"name": "a", "tolerations": [{"operator": "Exists", "efect": "x"}]})
    assert complaint.field == "tolerations[0].efect"
    assert complaint.message == (
        "unknown field 'efect'. Did you mean 'effect'? Known fields: key, operator, value, effect, toleration_seconds"
    )
    assert complaint.accepted == ("key", "operator", "value", "effect", "toleration_seconds")


def test_an_unknown_field_deep_inside_optional_parts_is_found() -> None:
    (words,) = said(Workload, {"name": "a", "run": {"simulate": {"exitcode": 1}}})
    expected = "unknown field 'exitcode'. Did you mean 'exit_code'? Known fields: run_time, exit_code"
    assert words == f"run.simulate.exitcode: {expected}"


def test_a_field_in_the_wrong_place_is_told_where_it_belongs() -> None:
    (words,) = said(Workload, {"name": "a", "env": {"A": "5"}})
    assert words.startswith("env: unknown field 'env'. It belongs below run. Known fields: name, namespace")


def test_two_names_of_one_field_cannot_both_be_given() -> None:
    (words,) = said(Workload, {"name": "a", "profile": "x", "strategy": "y"})
    assert words == "strategy: 'profile' and 'strategy' mean the same; write only one of them"


def test_a_choice_lists_the_accepted_words() -> None:
    (complaint,) = problems_of(Workload, {"name": "a", "kind": "jobs"})
    assert (
        str(complaint) == "kind: 'jobs' is not accepted. Did you mean 'job'? Write one of: container, vm, job, function"
    )
    assert complaint.accepted == ("container", "vm", "job", "function")


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({}, "name: is required"),
        ({"name": None}, "name: is empty; write text, or leave the field out"),
        ({"name": 3}, "name: is a number where text is expected; put it in quotes: '3'"),
        ({"name": True}, "name: is true or false where text is expected; put it in quotes: 'true'"),
        ({"name": ["a"]}, "name: a list is not accepted; write text"),
        ({"name": "a", "tolerations": {}}, "tolerations: a mapping is not accepted; write a list"),
        ({"name": "a", "labels": "x"}, "labels: 'x' is not accepted; write a mapping of names to values"),
        ({"name": "a", "labels": {"a b": "x"}}, "labels['a b']: 'a b' is not a label key"),
        ({"name": "a", "labels": {"a": "x\n"}}, "labels.a: 'x\\n' holds characters that cannot be printed"),
        ({"name": "a", "labels": {"a": "x" * 300}}, "labels.a: is 300 characters long; at most 253 are accepted"),
        ({"name": "a", "run": []}, "run: a list is not accepted; write a mapping of fields such as command, image"),
        ({"name": "a", "run": {"image": ""}}, "run.image: is 0 characters long; at least 1 are needed"),
        ({"name": "a", "replicas": 0}, "replicas: 0 is too small; the least is 1"),
        ({"name": "a", "retries": 1000}, "retries: 1000 is too large; the most is 100"),
        ({"name": "a", "replicas": 10**400}, "replicas: a number of more than 45 digits is too large"),
        ({"name": "a", "run": {"simulate": {"exit_code": "x"}}}, "run.simulate.exit_code: 'x' is not a quantity;"),
        ({"name": "a", "affinity": [{}] * 101}, "affinity: has 101; at most 100 are accepted"),
        ({"name": "a", "resources": {"memory": "64GIGS"}}, "resources.memory: unknown unit 'GIGS' in '64GIGS'; write"),
        ({"name": "a", "resources": {"cpu": "lots", "gpus": 1}}, "resources.gpus: unknown resource 'gpus'. Did"),
        ({"name": "a", "resources": {"slots": 1, "a.b/c": "x"}}, "resources.slots: unknown resource 'slots'."),
        ({"name": "a", "resources": {"slots": 1, "a.b/c": "x"}}, "resources['a.b/c']: 'x' is not a quantity"),
        ({"name": "a", "limits": {"cpu": -1}}, "limits.cpu: -1 is negative; write a number of cores"),
        ({"name": "../../etc/passwd"}, "name: '../../etc/passwd' is not a name; start with a letter"),
        ({"name": ""}, "name: '' is not a name"),
        ({"name": "a", "deadline": {"run_for": "soon"}}, "deadline.run_for: 'soon' is not a duration; write"),
        ({"name": "a", 5: "x"}, "[5]: a field's name is text"),
        ([], "a list is not accepted; write a mapping of fields such as name, namespace"),
        (None, "is empty; write a mapping of fields such as name, namespace"),
    ],
)  # fmt: skip
def test_each_kind_of_error_has_its_sentence(data: object, words: str) -> None:
    found = said(Workload, data)
    assert any(line.startswith(words) for line in found), found


def test_input_is_never_echoed_at_length() -> None:
    huge = "x" * 5_000_000
    data = {
        "name": huge, "kind": huge, "replicas": huge, huge: 1, "labels": {huge: huge, "a": huge},
        "resources": {"memory": huge}, "run": huge, "tolerations": [{"effect": huge, huge: 1}],
    }  # fmt: skip
    found = problems_of(Workload, data)
    assert len(found) >= 8
    assert all(len(str(complaint)) < 600 for complaint in found)  # one lists all fields of a workload
    assert all("x" * 61 not in str(complaint) for complaint in found)


@pytest.mark.parametrize(
    "env",
    [
        {"TOKEN": ["31415926"]}, {"TOKEN": None}, {"TOKEN=31415926": "x"}, {"TOKEN 31415926": 5},
        "TOKEN=31415926", ["TOKEN=31415926"], 31415926, {"A": {"B": 31415926}},
    ],
)  # fmt: skip
def test_what_stands_under_env_is_never_echoed(env: object) -> None:
    found = problems_of(Workload, {"name": "a", "run": {"env": env}})
    assert found
    assert all("31415926" not in str(complaint) for complaint in found)
    assert all(complaint.field.startswith("run.env") for complaint in found)


def test_an_own_error_that_echoes_a_secret_is_not_passed_on() -> None:
    class Login(Strict):
        token: int

        @model_validator(mode="after")
        def _refuse(self) -> "Login":
            raise AtField(("token",), f"{self.token} is weak")

    (complaint,) = problems_of(Login, {"token": 31415926})
    assert (complaint.field, complaint.message) == ("token", "is not accepted")


def test_a_validator_of_the_whole_can_point_at_one_field() -> None:
    class Range(Strict):
        low: int
        high: int

        @model_validator(mode="after")
        def _ordered(self) -> "Range":
            if self.low > self.high:
                raise AtField(("high",), "is below low")
            return self

    with pytest.raises(Invalid) as raised:
        read_one(Range, "low: 5\nhigh: 3\n", "range.yaml")
    assert str(raised.value) == "range.yaml:2: high: is below low"


class Colour(StrEnum):
    RED = "red"


class Square(Strict):
    shape: Literal["square"]
    side: int


class Circle(Strict):
    shape: Literal["circle"]
    radius: Annotated[float, Field(gt=0, lt=10, allow_inf_nan=False)]


class Drawing(Strict):
    tagged: list[Annotated[Square | Circle, Field(discriminator="shape")]] = []
    either: int | Colour | None = None
    models: dict[str, Square | Circle] = {}


class Gallery(RootModel[list[Drawing]]):
    pass


def test_the_members_of_a_union_are_not_part_of_the_field() -> None:
    data = {"tagged": [{"shape": "circle", "radius": 50, "colour": 1}], "either": "blue"}
    found = problems_of(Drawing, data)
    assert {complaint.field for complaint in found} == {"tagged[0].radius", "tagged[0].colour", "either"}
    assert "unknown field 'colour'. Known fields: shape, radius" in [complaint.message for complaint in found]
    assert "50 is too large; it must be less than 10" in [complaint.message for complaint in found]


def test_an_undiscriminated_union_of_models_names_the_field_once() -> None:
    found = problems_of(Drawing, {"models": {"a": {"shape": "circle", "radius": 0, "sides": 1}}})
    assert {complaint.field for complaint in found} <= {
        "models.a.radius", "models.a.sides", "models.a.side", "models.a.shape",
    }  # fmt: skip


def test_a_root_model_is_walked_through() -> None:
    (complaint,) = problems_of(Gallery, [{"tagd": []}])
    assert (
        str(complaint) == "[0].tagd: unknown field 'tagd'. Did you mean 'tagged'? Known fields: tagged, either, models"
    )


def test_without_a_model_errors_still_have_words() -> None:
    with pytest.raises(ValidationError) as raised:
        Node.model_validate({"name": "a", "taint": 1})
    (complaint,) = complaints_of(raised.value)
    assert str(complaint) == "taint: unknown field 'taint'."


def test_a_kind_of_error_nobody_thought_of_gets_pydantics_words() -> None:
    class Odd(Strict):
        url: Annotated[float, Field(multiple_of=2)]

    assert said(Odd, {"url": 3}) == ["url: input should be a multiple of 2"]


def test_complaints_end_at_a_hundred_and_the_exception_lists_twenty() -> None:
    found = problems_of(Workload, {"name": "a", "labels": {f"a {n}": "x" for n in range(5000)}})
    assert len(found) == MAX_COMPLAINTS
    lines = str(Invalid(found)).split("\n")
    assert len(lines) == 21
    assert lines[-1] == "… and 80 more; correct these first"


class Amounts(Strict):
    whole: int | None = None
    some: list[Annotated[float, Field(ge=0)]] = []
    of_each: dict[str, int] = {}
    port: Name | Annotated[int, Field(ge=1)] | None = None
    anything: bool | int | str | None = None


@pytest.mark.parametrize(
    ("data", "field"),
    [
        ({"whole": True}, "whole"),
        ({"some": [0.5, True]}, "some[1]"),
        ({"of_each": {"a": False}}, "of_each.a"),
        ({"port": True}, "port"),
    ],
)
def test_true_is_not_the_number_one(data: object, field: str) -> None:
    complaints = problems_of(Amounts, data)
    assert {complaint.field for complaint in complaints} == {field}
    assert any("number" in complaint.message for complaint in complaints)


def test_numbers_in_quotes_are_numbers_and_booleans_stay_where_they_belong() -> None:
    found = Amounts.model_validate({"whole": "5", "some": ["0.5", 1], "port": 80, "anything": True})
    assert found == Amounts(whole=5, some=[0.5, 1.0], port=80, anything=True)
    assert found.anything is True
