"""Who exchanges how much with whom, from what machines report."""

import pytest

from dovetail.model.task_flows import Flow, TaskFlows
from dovetail.traffic.matrix import HALF_LIFE_S, OUTSIDE, Attempt, TrafficMatrix

WEB, DB = ("default", "web"), ("default", "db")
WEB_1, DB_1 = Attempt("1.0.1", WEB, "n1"), Attempt("2.0.1", DB, "n2")
NODES = {"10.0.0.1": "n1", "10.0.0.2": "n2"}


def flow(address: str, port: int, sent: int, received: int = 0) -> TaskFlows:
    return TaskFlows(flows=[Flow(address=address, port=port, sent=sent, received=received)])


def test_a_steady_flow_has_its_rate_from_the_first_minutes_on() -> None:
    matrix = TrafficMatrix()
    matrix.take(DB_1, TaskFlows(listens=[5432]), NODES, 0.0)
    for second in range(10, 2000, 10):
        matrix.take(WEB_1, flow("10.0.0.2", 5432, 10_000_000, 2_500_000), NODES, float(second))
        [pair] = matrix.pairs(float(second))
        assert (pair.source, pair.target) == (WEB, DB)
        if second > 60:
            assert pair.mbps == pytest.approx(10.0, rel=0.1)


def test_a_flow_that_ends_fades_and_is_forgotten() -> None:
    matrix = TrafficMatrix()
    matrix.take(DB_1, TaskFlows(listens=[5432]), NODES, 0.0)
    matrix.take(WEB_1, flow("10.0.0.2", 5432, 10**9), NODES, 10_000.0)
    full = matrix.pairs(10_000.0)[0].mbps
    assert matrix.pairs(10_000.0 + HALF_LIFE_S)[0].mbps == pytest.approx(full / 2, rel=0.01)
    matrix.forget_ended({"1.0.1", "2.0.1"}, 10_000.0 + 40 * HALF_LIFE_S)
    assert matrix.pairs(10_000.0 + 40 * HALF_LIFE_S) == []


def test_the_loopback_is_on_the_same_node_and_an_unknown_peer_is_outside() -> None:
    matrix = TrafficMatrix()
    matrix.take(Attempt("3.0.1", DB, "n1"), TaskFlows(listens=[80]), NODES, 0.0)
    matrix.take(WEB_1, flow("127.0.0.1", 80, 1000), NODES, 1.0)
    matrix.take(WEB_1, flow("192.0.2.9", 443, 1000), NODES, 1.0)
    assert {pair.target for pair in matrix.pairs(1.0)} == {DB, OUTSIDE}


def test_replicas_of_one_service_are_one_and_do_not_talk_to_themselves() -> None:
    matrix = TrafficMatrix()
    matrix.take(Attempt("4.0.1", WEB, "n2"), TaskFlows(listens=[80]), NODES, 0.0)
    matrix.take(WEB_1, flow("10.0.0.2", 80, 1000), NODES, 1.0)
    assert matrix.pairs(1.0) == []


def test_one_that_has_ended_listens_no_more() -> None:
    matrix = TrafficMatrix()
    matrix.take(DB_1, TaskFlows(listens=[5432]), NODES, 0.0)
    matrix.forget_ended({"1.0.1"}, 1.0)
    matrix.take(WEB_1, flow("10.0.0.2", 5432, 1000), NODES, 2.0)
    assert matrix.pairs(2.0)[0].target == OUTSIDE
