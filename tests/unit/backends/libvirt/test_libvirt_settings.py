"""Settings of the libvirt backend: which are refused, and what is made of those for libvirt. Needs no libvirt."""

import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from pydantic import ValidationError

from dovetail.backends.libvirt.remote_access import RemoteAccess
from dovetail.backends.libvirt.settings import HypervisorSettings, LibvirtSettings

FILES = {"ca": "/keys/ca.pem", "cert": "/keys/cert.pem", "key": "/keys/key.pem"}


def hypervisor(uri: str, **fields: Any) -> HypervisorSettings:
    return HypervisorSettings.model_validate({"name": "rack7", "uri": uri, **fields})


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"uri": "xen:///system"}, "is not a connection to QEMU"),
        ({"uri": "qemu+ssh://h/system?keyfile=/k"}, "write what stands after it under parameters"),
        ({"uri": "qemu+ssh:///system"}, "needs a host, such as qemu.ssh://host/system"),
        ({"uri": "qemu+tls:///system"}, "needs a host, such as qemu.tls://host/system"),
        ({"uri": "qemu+ssh://-oProxyCommand=id/system"}, "begins with '-'"),
        ({"uri": "qemu+ssh://-oProxyCommand=id@h/system"}, "begins with '-'"),
        ({"uri": "qemu+ssh://h/system", "tls": FILES}, r"goes with qemu\+tls://"),
        ({"uri": "qemu:///system", "ssh": {"identity": "/k"}}, r"goes with qemu\+ssh://"),
        ({"uri": "qemu+tls://h/system", "tls": {"ca": "/ca", "cert": "/c"}}, "cert and key are given together"),
    ],
)
def test_settings_that_cannot_be_meant_are_refused(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        LibvirtSettings.model_validate({"hypervisors": [{"name": "a", **fields}]})


def test_ssh_is_called_with_the_options_of_the_settings_and_never_asks(tmp_path: Path) -> None:
    program = tmp_path / "print arguments"
    program.write_text('#!/bin/sh\nfor word in "$@"; do echo "$word"; done\n')
    program.chmod(0o755)
    ssh = {"program": str(program), "identity": "/a key", "known_hosts": "/hosts", "options": ["-oCompression=no"]}
    uri = RemoteAccess(hypervisor("qemu+ssh://ops@h:22/system", ssh=ssh), tmp_path).prepared()
    given = parse_qs(urlsplit(uri).query)
    assert given["no_tty"] == ["1"]
    command = [*given["command"], "-p", "22", "--", "h", "virt-ssh-helper 'qemu:///system'"]
    called = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout.splitlines()
    assert called[-5:] == command[1:]
    assert called[called.index("-i") :][:2] == ["-i", "/a key"]
    for option in ("BatchMode=yes", "UserKnownHostsFile=/hosts", "StrictHostKeyChecking=yes", "-oCompression=no"):
        assert option in called


def test_what_stands_under_parameters_counts(tmp_path: Path) -> None:
    parameters = {"command": "/opt/ssh", "socket": "/s"}
    uri = RemoteAccess(hypervisor("qemu+ssh://h/system", parameters=parameters), tmp_path).prepared()
    assert parse_qs(urlsplit(uri).query) == {"command": ["/opt/ssh"], "socket": ["/s"], "no_tty": ["1"]}
    here = RemoteAccess(hypervisor("qemu:///system"), tmp_path)
    assert here.prepared() == "qemu:///system"


def test_libvirt_finds_the_certificates_and_an_error_names_those_of_the_settings(tmp_path: Path) -> None:
    for _ in range(2):  # what an earlier start left is made anew
        access = RemoteAccess(hypervisor("qemu+tls://h/system", tls=FILES), tmp_path)
        (folder,) = parse_qs(urlsplit(access.prepared()).query)["pkipath"]
    links = {path.name: str(path.readlink()) for path in Path(folder).iterdir()}
    assert links == {"cacert.pem": FILES["ca"], "clientcert.pem": FILES["cert"], "clientkey.pem": FILES["key"]}
    said = access.words(f"The client certificate {folder}/clientcert.pem has expired")
    assert said == (
        "qemu+tls://h/system: The client certificate /keys/cert.pem has expired; "
        "replace the certificate, or correct the clock"
    )
    assert "/keys/ca.pem: No such file" in access.unusable()
