"""A cloud has agents, or it has not: the settings say which."""

from typing import Any

import pytest
from pydantic import ValidationError

from dovetail.backends.contract import Assignment, WorkloadRefusal
from dovetail.backends.ec2.settings import Ec2Settings
from dovetail.backends.machines.cloud_init.job_script import job_script, nonce_of, refuse_what_needs_more
from dovetail.backends.machines.cloud_init.settings import CloudInitSettings
from dovetail.model.task import TaskId
from dovetail.model.workloads.workload import Workload

JOIN = {"server": "https://dovetail.example.com"}


def test_either_join_or_cloud_init_is_given() -> None:
    given: dict[str, Any] = {"regions": ["us-east-1"]}
    assert Ec2Settings.model_validate({**given, "join": JOIN}).cloud_init is None
    found = Ec2Settings.model_validate({**given, "cloud_init": {}}).cloud_init
    assert found == CloudInitSettings(linger=900, starts_within=900, plain_env=False)
    with pytest.raises(ValidationError, match="give join, so that machines run work through an agent, or cloud_init"):
        Ec2Settings.model_validate(given)
    with pytest.raises(ValidationError, match="goes without join"):
        Ec2Settings.model_validate({**given, "join": JOIN, "cloud_init": {}})


def assignment(**fields: Any) -> Assignment:
    spec = Workload.model_validate({"name": "work", "run": {"command": ["echo", "it's", "\udcff"]}, **fields})
    return Assignment("1.0.1", TaskId(1, 0), "node-1", spec)


def test_the_same_attempt_on_the_same_machine_has_the_same_user_data() -> None:
    nonce = nonce_of(b"secret", "1.0.1", "token")
    assert job_script(assignment(), nonce, 60) == job_script(assignment(), nonce, 60)
    assert job_script(assignment(), nonce, 60).isascii()
    others = {nonce_of(b"secret", "1.0.2", "token"), nonce_of(b"secret", "1.0.1", "other"), nonce_of(b"", "1.0.1", "")}
    assert len({nonce, *others}) == 4
    compile(job_script(assignment(), nonce, 60), "user-data", "exec")


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"kind": "container", "run": {"image": "busybox"}}, "of kind container"),
        ({"run": {"image": "busybox", "command": ["true"]}}, "without images"),
        ({"service": "web"}, "part of service 'web'"),
        ({"replicas": 2, "gang": {"min": 2}}, "is a gang"),
        ({"run": {"command": ["cat"], "stdin": True}}, "nobody can attach"),
        ({"run": {"command": ["cat"], "env": {"A": "1", "B": "1", "C": "1", "D": "1"}}}, "sets A, B, C …;"),
        ({"run": {"command": ["echo", "x" * 16_000]}}, "bytes of user data, and the cloud takes 16384"),
    ],
)
def test_what_needs_more_than_cloud_init_is_refused_with_words(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(WorkloadRefusal, match=words):
        refuse_what_needs_more(assignment(**fields), "aws", CloudInitSettings(), 16 * 1024)
