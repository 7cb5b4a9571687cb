"""Manifests that keep the rules are read, from YAML and from JSON alike, and come back from the store as they were."""

import json
from contextlib import suppress

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, TypeAdapter
from tests.examples import examples
from tests.fuzz.formats import FORMATS
from tests.fuzz.manifests import Manifest, Manifests, nodes, policies, reservations, services, topologies, workloads
from tests.fuzz.requests import BODIES
from tests.unit.api.server import settings_in

from dovetail.api.app import create_app
from dovetail.api.protocol.reading import JSON, YAML, read_model, read_services, read_workloads
from dovetail.control.plane import ControlPlane
from dovetail.model.network.topology import Topology
from dovetail.model.node import Node
from dovetail.model.policy import Policy
from dovetail.model.record import spec_text
from dovetail.model.reservation import Reservation
from dovetail.model.services.health import UrlPath
from dovetail.model.services.service import Service
from dovetail.model.text.complaint import Invalid
from dovetail.model.text.moment import MomentField
from dovetail.model.text.quantity import Bandwidth, Bytes, Cores, Duration, GpuAmount, Latency
from dovetail.model.text.strict import Host, Name, NodeName
from dovetail.model.workloads.affinity import Level
from dovetail.model.workloads.array_indices import ArrayText
from dovetail.model.workloads.selection import LabelKey, LabelValue
from dovetail.model.workloads.workload import QueuePath, Workload
from dovetail.services.replicas import ports_of, replica_workload

MOST = 2**20
ANY = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False) | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)


class _Quoting(yaml.SafeDumper):
    """PyYAML writes `0E0` as it stands, which is a number in YAML 1.2: text is in quotes here."""


_Quoting.add_representer(str, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, style='"'))


def in_yaml(manifest: object) -> str:
    written: str = yaml.dump(manifest, Dumper=_Quoting, allow_unicode=True)
    return written


@given(workloads)
@examples(150)
def test_a_workload_is_the_same_from_yaml_from_json_and_from_the_store(manifest: Manifest) -> None:
    from_json = read_workloads(json.dumps(manifest).encode(), JSON, MOST, 1)
    from_yaml = read_workloads(in_yaml(manifest).encode(), YAML, MOST, 1)
    assert from_json == from_yaml
    assert [Workload.model_validate_json(spec_text(one)) for one in from_json] == from_json


@pytest.mark.parametrize(
    ("model", "manifests"),
    [(Node, nodes), (Policy, policies), (Reservation, reservations), (Topology, topologies)],
    ids=lambda one: getattr(one, "__name__", ""),
)
@given(data=st.data())
@examples(60)
def test_other_manifests_that_keep_the_rules_are_read(
    model: type[BaseModel], manifests: Manifests, data: st.DataObject
) -> None:
    manifest = data.draw(manifests)
    defaults: dict[str, object] = {"name": "p"} if model is Policy else {}
    found = read_model(json.dumps(manifest).encode(), JSON, MOST, model, defaults)
    assert read_model(in_yaml(manifest).encode(), YAML, MOST, model, defaults) == found


@given(workloads, st.data())
@examples(150)
def test_a_field_with_any_other_value_is_read_or_refused(manifest: Manifest, data: st.DataObject) -> None:
    spoil(manifest, data)
    for media_type, written in ((JSON, json.dumps(manifest)), (YAML, in_yaml(manifest))):
        with suppress(Invalid):
            found = read_workloads(written.encode(), media_type, MOST, 1)
            assert [Workload.model_validate_json(spec_text(one)) for one in found] == found


@given(services)
@examples(100)
def test_a_service_is_the_same_from_yaml_from_json_and_from_the_store_and_its_replicas_are_workloads(
    manifest: Manifest,
) -> None:
    from_json = read_services(json.dumps(manifest).encode(), JSON, MOST, 1)
    from_yaml = read_services(in_yaml(manifest).encode(), YAML, MOST, 1)
    assert from_json == from_yaml
    assert_stored_and_made(from_json)


@given(services, st.data())
@examples(150)
def test_a_field_of_a_service_with_any_other_value_is_read_or_refused(manifest: Manifest, data: st.DataObject) -> None:
    spoil(manifest, data)
    for media_type, written in ((JSON, json.dumps(manifest)), (YAML, in_yaml(manifest))):
        with suppress(Invalid):
            assert_stored_and_made(read_services(written.encode(), media_type, MOST, 1))


def assert_stored_and_made(found: list[Service]) -> None:
    for one in found:
        assert Service.model_validate_json(one.model_dump_json(exclude_unset=True)) == one
        ports = {port.name: port.port or 20_000 + at for at, port in enumerate(one.ports)}
        replica = replica_workload(one, 999_999_999, 9_999, ports)
        assert ports_of(one, replica) == ports
        assert read_workloads(spec_text(replica).encode(), JSON, MOST, 1) == [replica]


def spoil(manifest: Manifest, data: st.DataObject) -> None:
    """A path into the manifest is drawn, and what is there is replaced by anything."""
    place: object = manifest
    while isinstance(place, dict | list) and place:
        key = data.draw(st.sampled_from(sorted(place) if isinstance(place, dict) else range(len(place))))
        inner = place[key]
        if not isinstance(inner, dict | list) or not inner or data.draw(st.booleans()):
            place[key] = data.draw(ANY)
            break
        place = inner


TYPES = {
    "name": Name,
    "node-name": NodeName,
    "host": Host,
    "label-key": LabelKey,
    "label-value": LabelValue,
    "level": Level,
    "queue-path": QueuePath,
    "array-indices": ArrayText,
    "cores": Cores,
    "gpus": GpuAmount,
    "bytes": Bytes,
    "bandwidth": Bandwidth,
    "latency": Latency,
    "time-span": Duration,
    "moment": MomentField,
    "url-path": UrlPath,
}


@pytest.mark.parametrize("name", TYPES)
@given(data=st.data())
@examples(30)
def test_texts_in_a_format_are_accepted_by_its_type(name: str, data: st.DataObject) -> None:
    TypeAdapter(TYPES[name]).validate_python(data.draw(FORMATS[name]))


def formats_in(schema: object) -> set[str]:
    found: set[str] = set()
    if isinstance(schema, dict):
        if isinstance(schema.get("format"), str):
            found.add(schema["format"])
        found = found.union(*map(formats_in, schema.values()))
    elif isinstance(schema, list):
        found = found.union(*map(formats_in, schema))
    return found


def test_every_format_and_every_body_belongs_to_the_api(tmp_path_factory: pytest.TempPathFactory) -> None:
    described = create_app(ControlPlane(settings_in(tmp_path_factory.mktemp("data")))).openapi()
    assert formats_in(described) == FORMATS.keys()
    routes = {f"{method.upper()} {path}" for path, methods in described["paths"].items() for method in methods}
    assert {route.replace(" ", " /api/v1", 1) for route in BODIES} <= routes
