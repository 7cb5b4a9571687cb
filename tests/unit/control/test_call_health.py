"""What is remembered of a backend's calls."""

from dovetail.control.backends.health import KEPT, CallHealth


def test_latencies_are_those_of_the_latest_calls() -> None:
    health = CallHealth()
    assert health.latency_s(0.5) is None
    for number in range(100):
        health.succeeded("bind", float(number + 1))
    assert (health.latency_s(0.5), health.latency_s(0.99), health.latency_s(1.0)) == (50.0, 99.0, 100.0)
    for _ in range(KEPT):
        health.succeeded("bind", 0.25)
    assert (health.latency_s(0.5), health.latency_s(0.99)) == (0.25, 0.25)
    assert health.calls == KEPT + 100


def test_errors_are_counted_and_the_last_is_kept() -> None:
    seen: list[tuple[str, float, bool]] = []
    health = CallHealth(lambda call, took_s, failed: seen.append((call, took_s, failed)))
    health.failed("bind", 1.0, "no route")
    health.failed("stop", 2.0, "no answer")
    health.succeeded("nodes", 0.5)
    assert (health.calls, health.errors, health.last_error) == (3, 2, "no answer")
    assert health.last_success_at is not None
    assert health.last_error_at is not None
    assert seen == [("bind", 1.0, True), ("stop", 2.0, True), ("nodes", 0.5, False)]
