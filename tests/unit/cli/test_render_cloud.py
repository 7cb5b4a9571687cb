"""Launched machines on a terminal: prices, instances and lost ones, in 80 columns."""

from tests.unit.cli.answers import drawn

from dovetail.cli.render.cloud import instance_list, price_list, reaped
from dovetail.responses.cloud import CloudInstanceRow, CloudOfferRow

NOW = 1_800_000_000.0
OFFER = CloudOfferRow(
    backend="aws",
    name="aws-g5.xlarge-us-east-1a",
    instance_type="g5.xlarge",
    region="us-east-1",
    zone="us-east-1a",
    cpu=4.0,
    memory=16 * 2**30,
    gpus=1,
    gpu_model="A10G",
    price_per_hour=1.006,
    currency="USD",
    spot=False,
    offered=True,
    why_not="",
)
MACHINE = CloudInstanceRow(
    backend="aws",
    id="i-0123456789abcdef0",
    node="aws-m5.large-us-east-1a-1",
    state="running",
    type="m5.large",
    address="10.0.0.7",
    launched_at=NOW - 7200,
    ends_at=None,
    reason="",
    known=True,
    spot=False,
    price_per_hour=0.096,
    currency="USD",
    cost=0.192,
    tasks=[{"namespace": "default", "name": "train", "replica": 3, "state": "running"}],
)
LOST: CloudInstanceRow = {**MACHINE, "node": "", "known": False, "price_per_hour": None, "cost": None, "tasks": []}


def test_prices_fit_and_a_reason_stands_once_below_them() -> None:
    refused: CloudOfferRow = {**OFFER, "offered": False, "why_not": "stock-out: none left"}
    other: CloudOfferRow = {**refused, "name": "aws-g5.xlarge-us-east-1b", "zone": "us-east-1b", "spot": True}
    lines = drawn(price_list([OFFER, refused, other], 0)).splitlines()
    assert lines[0].split() == ["TYPE", "ZONE", "CPU", "MEMORY", "GPUS", "PRICE/H", "SORT", "OFFERED"]
    assert lines[1].split()[-3:] == ["on", "demand", "yes"]
    assert lines[3].split()[-2:] == ["spot", "no"]
    said = " ".join(lines[5:])
    assert said == "not offered: aws-g5.xlarge-us-east-1a, aws-g5.xlarge-us-east-1b: stock-out: none left"
    assert all(len(line) <= 80 for line in lines)


def test_a_list_that_is_cut_says_how_to_see_the_rest() -> None:
    assert "and 4 more offers; --limit 0 lists them" in drawn(price_list([OFFER] * 5, 1))
    assert "nothing can be launched" in drawn(price_list([], 30))


def test_instances_say_what_they_cost_and_what_runs_there() -> None:
    text = drawn(instance_list({"items": [MACHINE], "problems": []}, NOW))
    assert "USD/H" in text
    assert "0.0960" in text
    assert "0.1920" in text
    assert "train.3" in text
    taken: CloudInstanceRow = {**MACHINE, "ends_at": NOW + 100, "reason": "spot interruption", "tasks": []}
    lines = drawn(instance_list({"items": [taken], "problems": []}, NOW)).splitlines()
    assert lines[1].split()[:3] == ["i-0123456789abcdef0", "aws-m5.large-us-east-1a-1", "leaving"]
    assert lines[-1].strip() == "nothing; spot interruption"


def test_a_backend_that_cannot_be_asked_is_named() -> None:
    text = drawn(instance_list({"items": [], "problems": [{"backend": "aws", "problem": "no answer"}]}, NOW))
    assert text.strip() == "aws could not be asked: no answer"
    assert drawn(instance_list({"items": [], "problems": []}, NOW)).strip() == "no machine runs for us"


def test_what_was_reaped_and_what_would_be() -> None:
    tried = drawn(reaped({"dry_run": True, "items": [LOST], "problems": []}, NOW))
    assert "1 machine that nobody knows of; without --dry-run they are ended" in tried
    assert "1 machine that nobody knows of ended" in drawn(
        reaped({"dry_run": False, "items": [LOST], "problems": []}, NOW)
    )
