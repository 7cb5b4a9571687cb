"""A real server answers random requests as its OpenAPI description says. A soak sends many thousands (`make soak`)."""

from pathlib import Path

import pytest
from tests.examples import seeds

SEED = seeds(1).start


@pytest.mark.needs_server
@pytest.mark.slow
def test_random_requests_get_the_answers_that_are_described(tmp_path: Path) -> None:
    from tests.fuzz.api_fuzzer import ApiFuzzer, fuzzed_server  # schemathesis, which other workers need not import

    with fuzzed_server(tmp_path) as server:
        fuzzer = ApiFuzzer(server, SEED, examples=1)
        fuzzer.valid(0, runs=1)
        fuzzer.hostile(0)
        assert server.alive
    report = fuzzer.report
    assert not report.failures, f"seed {SEED}: {report.failures}"
    assert report.by_route.keys() == fuzzer.routes
    assert report.accepted > 0.5, f"most requests should be valid: {report.to_dict()}"
