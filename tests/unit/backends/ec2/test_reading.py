"""Answers of AWS that no stand-in gives, in the form that its API documents."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import ValidationError

from dovetail.backends.ec2.instances import NOTICE_S, machine_of, with_notices
from dovetail.backends.ec2.prices import read_products
from dovetail.backends.ec2.quotas import quota_name
from dovetail.backends.ec2.settings import Ec2Settings
from dovetail.backends.machines.provider import MachineState
from dovetail.backends.settings_file_only import settings_file_fields

NOW = datetime(2026, 11, 17, 12, tzinfo=UTC)


def instance(state: str = "running", **more: Any) -> dict[str, Any]:
    return {"InstanceId": "i-1", "State": {"Name": state}, "LaunchTime": NOW, "InstanceType": "m5.large", **more}


def test_a_spot_instance_that_is_marked_for_termination_ends_two_minutes_later() -> None:
    status = {"Code": "marked-for-termination", "UpdateTime": NOW, "Message": "…"}
    request = {"InstanceId": "i-1", "State": "active", "Status": status}
    (marked,) = with_notices([machine_of(instance())], [request])
    assert marked.ends_at == NOW.timestamp() + NOTICE_S
    assert "takes the instance back" in marked.reason


def test_a_request_that_is_fulfilled_or_of_another_instance_marks_nothing() -> None:
    fulfilled = {"InstanceId": "i-1", "Status": {"Code": "fulfilled", "UpdateTime": NOW}}
    other = {"InstanceId": "i-2", "Status": {"Code": "marked-for-termination", "UpdateTime": NOW}}
    waiting = {"Status": {"Code": "pending-evaluation"}}
    (same,) = with_notices([machine_of(instance())], [fulfilled, other, waiting])
    assert same.ends_at is None


def test_an_instance_that_was_taken_back_says_so() -> None:
    reason = {"Code": "Server.SpotInstanceTermination", "Message": "Server.SpotInstanceTermination: …"}
    ended = machine_of(instance("terminated", StateReason=reason))
    assert (ended.state, ended.reason) == (MachineState.ENDED, "spot interruption: AWS has taken the instance back")
    assert machine_of(instance("stopped")).state is MachineState.STOPPED
    assert machine_of(instance("shutting-down")).state is MachineState.ENDING


def test_the_price_list_gives_prices_by_type() -> None:
    terms = {
        "OnDemand": {"A.B": {"priceDimensions": {"A.B.C": {"unit": "Hrs", "pricePerUnit": {"USD": "0.0960000000"}}}}}
    }
    product = {"product": {"attributes": {"instanceType": "m5.large", "regionCode": "us-east-1"}}, "terms": terms}
    free = json.loads(json.dumps(product).replace("0.0960000000", "0.0000000000").replace("m5.large", "m5.reserved"))
    assert dict(read_products([json.dumps(product), json.dumps(free), "{}"])) == {"m5.large": 0.096}


@pytest.mark.parametrize(
    ("name", "group"),
    [
        ("m7i.large", "standard"),
        ("t3.micro", "standard"),
        ("g6.xlarge", "g-and-vt"),
        ("p5.48xlarge", "p"),
        ("p6-b200.48xlarge", "p"),
        ("x2idn.16xlarge", "x"),
        ("inf2.xlarge", "inf"),
        ("trn1.2xlarge", "trn"),
    ],
)
def test_a_type_counts_against_the_quota_of_its_family(name: str, group: str) -> None:
    assert quota_name("eu-west-1", name, spot=True) == f"eu-west-1/{group}/spot"


def settings(**fields: Any) -> Ec2Settings:
    return Ec2Settings.model_validate({"regions": ["us-east-1"], "join": {"server": "http://a:1"}, **fields})


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"access_key": "A"}, "secret_key"),
        ({"session_token": "t"}, "belongs to an access key"),
        ({"images": {"eu-west-1": "ami-12345678"}}, "none of the regions"),
        ({"tags": {"dovetail-owner": "me"}}, "our own marks"),
        ({"types": ["m5.{ab}"]}, "types"),
        ({"image": "debian"}, "image"),
        ({"regions": []}, "regions"),
    ],
)
def test_settings_that_cannot_work_are_refused(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        settings(**fields)


def test_addresses_and_files_of_the_server_stand_in_its_settings_file_only() -> None:
    given = settings(endpoint_url="http://evil:1", profile="root", ca_bundle="/etc/shadow")
    assert set(settings_file_fields(given)) == {"endpoint_url", "profile", "ca_bundle"}


def test_secrets_are_not_shown() -> None:
    assert "sesame" not in repr(settings(access_key="A", secret_key="sesame"))
