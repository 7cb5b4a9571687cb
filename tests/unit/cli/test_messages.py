"""What is typed wrong is answered in plain words: what was wrong, and what to write instead."""

import socket
import ssl

import click
import pytest
from click.testing import CliRunner

from dovetail.cli.main import app
from dovetail.client.transport.exchange import in_words


def said(*words: str) -> str:
    """The message of a command that is refused as it was written."""
    result = CliRunner().invoke(app, list(words))
    assert result.exit_code == 2, result.output
    return click.unstyle(result.output)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("queue", "--limit", "0"), "0 is too small; write at least 1"),
        (("queue", "--limit", "abc"), "'abc' is not a whole number"),
        (("queue", "--limit", "1.5"), "'1.5' is not a whole number"),
        (("top", "--interval", "0"), "0 is too small; write at least 0.2"),
        (("top", "--interval", "nan"), "is too small; write at least 0.2"),
        (("top", "--interval", "1e9"), "is too large; write at most 3600"),
        (("distance", "set", "a", "b", "c"), "'c' is not a number"),
        (("explain",), "Missing argument 'WORKLOAD'"),
        (("why-not", "x"), "Missing argument 'NODE'"),
    ],
)
def test_a_number_or_a_word_that_is_wrong_or_missing_is_named(words: tuple[str, ...], message: str) -> None:
    output = said(*words)
    assert message in output
    assert "range" not in output


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ConnectionRefusedError(111, "Connection refused"), "connection refused"),
        (socket.gaierror(-2, "Name or service not known"), "name or service not known"),
        (OSError("the proxy p opens no tunnel"), "the proxy p opens no tunnel"),
    ],
)
def test_why_a_server_cannot_be_reached_is_said_without_numbers(error: OSError, words: str) -> None:
    assert in_words(error) == words


def test_a_server_without_tls_says_which_address_to_write() -> None:
    error = ssl.SSLError(1, "[SSL: WRONG_VERSION_NUMBER] wrong version number (_ssl.c:1006)")
    error.reason = "WRONG_VERSION_NUMBER"
    assert in_words(error) == "it does not speak TLS there: write http:// instead of https://"


def test_a_certificate_that_is_not_trusted_is_named() -> None:
    error = ssl.SSLCertVerificationError(1, "[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed")
    error.verify_message = "self-signed certificate"
    assert in_words(error).startswith("its certificate is not trusted: self-signed certificate; SSL_CERT_FILE")
