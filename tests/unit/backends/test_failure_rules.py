"""Each backend reads from the words of its system whose fault a failure is. The words here were said by real ones."""

import pytest

from dovetail.backends.docker.failures import FAILURES as DOCKER
from dovetail.backends.failure_rules import FailureRule, FailureRules
from dovetail.backends.kubernetes.failures import FAILURES as KUBERNETES
from dovetail.backends.local.failures import FAILURES as LOCAL
from dovetail.model.failure_cause import FailureCause

WORKLOAD, NODE, BACKEND, UNKNOWN = (
    FailureCause.WORKLOAD,
    FailureCause.NODE,
    FailureCause.BACKEND,
    FailureCause.UNKNOWN,
)
_RUNC = "failed to create shim task: OCI runtime create failed: runc create failed: unable to start container process"


@pytest.mark.parametrize(
    ("words", "cause", "advice"),
    [
        ("No such image: no/such:1", WORKLOAD, "run.image"),
        ("invalid reference format: repository name must be lowercase", WORKLOAD, "run.image"),
        ("cannot pull image a/b:1: pull access denied for a/b, repository does not exist", WORKLOAD, "run.image"),
        ("cannot pull image a/b:1: dial tcp: lookup registri.example: no such host", WORKLOAD, "run.image"),
        ("cannot pull image a/b:1: dial tcp 127.0.0.1:1: connect: connection refused", BACKEND, "registry"),
        ("cannot pull image a/b:1: toomanyrequests: You have reached your pull rate limit", BACKEND, "registry"),
        (f'{_RUNC}: exec: "nonesuch": executable file not found in $PATH: unknown', WORKLOAD, "run.command"),
        (f'{_RUNC}: exec: "/x": stat /x: no such file or directory: unknown', WORKLOAD, "run.command"),
        (f'{_RUNC}: exec: "/etc": permission denied: unknown', WORKLOAD, "run.command"),
        ('invalid mount config for type "bind": bind source path does not exist: /no/such', WORKLOAD, "run.volumes"),
        ('create a b: "a b" includes invalid characters for a local volume name', WORKLOAD, "run.volumes"),
        ("the working directory 'a/b' is invalid, it needs to be an absolute path", WORKLOAD, "run.workdir"),
        ("lstat /var/lib/docker/overlay2/9a6a/merged/bin/sh/x: not a directory", WORKLOAD, "run.workdir"),
        ("Minimum memory limit allowed is 6MB", WORKLOAD, "limits.memory"),
        ("out of memory (its limit is 64 MiB): killed with exit status 137", WORKLOAD, "limits.memory"),
        ("out of memory: killed with exit status 137", UNKNOWN, ""),
        ("stopped: it ran longer than its time limit of 5 s", WORKLOAD, ""),
        ("mkdir /var/lib/docker/overlay2/x: no space left on device", NODE, "disk"),
        ('could not select device driver "nvidia" with capabilities: [[gpu]]', UNKNOWN, "drivers"),
        ("network lab not found", NODE, "settings"),
        ("host a is offline: connection refused", BACKEND, ""),
        ("the host fell silent before it was started", BACKEND, ""),
        ("Error response: something new", UNKNOWN, ""),
        ("exit status 3", UNKNOWN, ""),
    ],
)
def test_docker(words: str, cause: FailureCause, advice: str) -> None:
    assert DOCKER.cause(words) is cause
    assert advice in DOCKER.advised(words)
    assert bool(advice) == (DOCKER.advised(words) != words)


@pytest.mark.parametrize(
    ("words", "cause"),
    [
        ('could not be started: ImagePullBackOff: Back-off pulling image "x"', WORKLOAD),
        ('could not be started: CreateContainerConfigError: secret "x" not found', WORKLOAD),
        ('StartError: failed to start: exec: "nonesuch": executable file not found', WORKLOAD),
        ("OOMKilled: used more memory than its limit of 64Mi", WORKLOAD),
        ("OOMKilled: its node ran out of memory", NODE),
        ("lost: Evicted: Pod ephemeral local storage usage exceeds the total limit of containers 1Gi", WORKLOAD),
        ("lost: Evicted: The node was low on resource: memory", NODE),
        ("the cluster does not take it: pods is forbidden: exceeded quota: small", WORKLOAD),
        ("the node did not take it: UnexpectedAdmissionError: Allocate failed", NODE),
        ("could not be started: RegistryUnavailable: try later", BACKEND),
        ("the node did not take it: OutOfcpu: Node didn't have enough cpu", UNKNOWN),
        ("the node did not take it: NodeAffinity: Predicate NodeAffinity failed", UNKNOWN),
        ("exited with status 3", UNKNOWN),
    ],
)
def test_kubernetes(words: str, cause: FailureCause) -> None:
    assert KUBERNETES.cause(words) is cause


@pytest.mark.parametrize(
    ("words", "cause"),
    [
        ("command 'nonesuch' cannot be run: not found", WORKLOAD),
        ("working directory '/none' cannot be used: No such file or directory", WORKLOAD),
        ("killed: used more than its memory limit of 64 MiB", WORKLOAD),
        ("its limits could not be applied, so it was not started: [Errno 28] No space left on device", NODE),
        ("exited with status 3", UNKNOWN),
    ],
)
def test_local(words: str, cause: FailureCause) -> None:
    assert LOCAL.cause(words) is cause


def test_the_first_rule_that_matches_decides_and_advice_is_given_once() -> None:
    rules = FailureRules([FailureRule("disk", WORKLOAD, "use less"), FailureRule("full", NODE, "make room")])
    assert rules.cause("the disk is FULL") is WORKLOAD
    assert rules.advised("the disk is full") == "the disk is full; use less"
    assert rules.advised("the disk is full; use less") == "the disk is full; use less"
    refusal = rules.refusal("full")
    assert (str(refusal), refusal.cause) == ("full; make room", NODE)
