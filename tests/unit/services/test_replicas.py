"""A replica as the workload that the engine places."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples

from dovetail.engine.settings import EngineSettings, Router
from dovetail.engine.state.terms import terms_of
from dovetail.model.services.health import HealthCheck
from dovetail.model.services.service import MAX_SERVICE_NAME, Service
from dovetail.model.workloads.workload import RestartPolicy, Workload, WorkloadKind
from dovetail.services.replicas import ReplicaName, port_of_check, ports_of, replica_workload


def service(**fields: Any) -> Service:
    return Service.model_validate({"name": "web", **fields})


@given(st.from_regex(r"[A-Za-z][a-z0-9]{0,8}(?:[._-][A-Za-z0-9]{1,5}){0,2}", fullmatch=True), st.integers(0, 10**6))
@examples(100)
def test_a_name_is_read_back_as_it_was_written(name: str, number: int) -> None:
    written = ReplicaName(name, number + 1, number)
    assert ReplicaName.read(str(written)) == written


@pytest.mark.parametrize("name", ["web", "web-r1", "web-1-0", "-r1-0", "web-r1-x", "web-r-0", "web-r1234567890-0"])
def test_other_names_are_no_names_of_replicas(name: str) -> None:
    assert ReplicaName.read(name) is None


def test_only_what_is_labelled_as_a_replica_is_one() -> None:
    made = replica_workload(service(), 2, 3, {})
    assert ReplicaName.of(made) == ReplicaName("web", 2, 3)
    other: list[dict[str, Any]] = [
        {"labels": {}},
        {"labels": made.labels | {"dovetail/revision": "1"}},
        {"restart": "on_failure"},
    ]
    for changed in other:
        assert ReplicaName.of(Workload.model_validate(made.model_dump(exclude_unset=True) | changed)) is None


def test_the_longest_name_has_room_for_every_revision_and_index() -> None:
    spec = service(name="w" * MAX_SERVICE_NAME)
    assert replica_workload(spec, 999_999, 9_999, {}).name.endswith("-r999999-9999")


def test_it_stays_up_and_has_the_fields_of_its_service() -> None:
    fields: dict[str, Any] = {
        "namespace": "team",
        "user": "ada",
        "priority": "high",
        "resources": {"cpu": 2},
        "limits": {"memory": "1GiB"},
        "node_selector": {"disk": "nvme"},
        "traffic": [{"to": "store", "mbps": 10}],
        "disruption": {"grace": "5s"},
        "queue": "default",
        "labels": {"app": "shop"},
    }
    made = replica_workload(service(**fields), 1, 0, {})
    assert made.restart is RestartPolicy.ALWAYS
    assert made.labels == {"app": "shop", "dovetail/service": "web", "dovetail/revision": "1"}
    expected = service(**fields)
    for name in fields.keys() - {"labels"}:
        assert getattr(made, name) == getattr(expected, name)


def test_a_service_with_an_image_is_made_of_containers() -> None:
    assert replica_workload(service(run={"image": "nginx"}), 1, 0, {}).kind is WorkloadKind.CONTAINER
    assert replica_workload(service(), 1, 0, {}).kind is WorkloadKind.JOB


def test_it_is_told_who_it_is_and_where_it_listens() -> None:
    spec = service(ports=[{"name": "http"}, {"name": "ad-min"}], run={"command": ["x"], "env": {"A": "1", "PORT": "9"}})
    made = replica_workload(spec, 3, 7, {"http": 20_001, "ad-min": 20_002})
    assert made.run.env == {
        "A": "1",
        "DOVETAIL_SERVICE": "web",
        "DOVETAIL_REVISION": "3",
        "DOVETAIL_INDEX": "7",
        "PORT": "20001",
        "PORT_HTTP": "20001",
        "PORT_AD_MIN": "20002",
    }
    assert ports_of(spec, made) == {"http": 20_001, "ad-min": 20_002}


def test_ports_of_another_definition_are_left_out() -> None:
    made = replica_workload(service(ports=[{"name": "http"}]), 1, 0, {"http": 20_001})
    assert ports_of(service(ports=[{"name": "web"}]), made) == {}


def test_replicas_of_one_revision_share_a_shape() -> None:
    spec = service(ports=[{"name": "http"}])
    one, other = (replica_workload(spec, 1, index, {"http": 20_000 + index}) for index in (0, 1))
    router = Router(EngineSettings())
    assert terms_of(router, one) == terms_of(router, other)


def test_spread_is_the_users_where_the_user_says_something() -> None:
    assert [one.over for one in replica_workload(service(), 1, 0, {}).spread] == ["host", "rack", "zone"]
    own = replica_workload(service(spread=[{"over": "zone", "max_skew": 1}]), 1, 0, {})
    assert [one.over for one in own.spread] == ["zone"]
    assert replica_workload(service(affinity=[{"near": "store", "within": "rack"}]), 1, 0, {}).spread == []


@pytest.mark.parametrize(("port", "number"), [(None, 1), ("http", 1), ("admin", 2), (8080, 8080)])
def test_a_check_asks_the_port_that_it_names(port: str | int | None, number: int) -> None:
    spec = service(ports=[{"name": "http"}, {"name": "admin"}])
    check = HealthCheck.model_validate({"tcp": {"port": port}})
    assert port_of_check(spec, check, {"http": 1, "admin": 2}) == number


def test_a_check_of_a_port_that_a_replica_has_not_asks_nobody() -> None:
    spec = service(ports=[{"name": "http"}])
    assert port_of_check(spec, HealthCheck.model_validate({"tcp": "http"}), {}) is None
