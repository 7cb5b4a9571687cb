"""Where agents get their probes from, and where their results go."""

import numpy as np

from dovetail.access.probe_keys import node_key, pair_key, probe_id
from dovetail.control.subsystems.network.probe_board import ProbeAssignment, ProbeBoard
from dovetail.model.network.topology import DistanceWeights
from dovetail.network_measurement.network_map import make_map
from dovetail.network_measurement.train_plan import Train
from dovetail.responses.probes import ProbedTrain, ProbeReport, ProbeResult

EPOCH = 5
SECRET = b"secret"


def report(
    port: int | None = 9, results: list[ProbeResult] | None = None, trains: list[ProbedTrain] | None = None
) -> ProbeReport:
    return {"address": "10.0.0.1", "port": port, "results": results or [], "trains": trains or []}


def assigned(round_s: float = 30.0) -> ProbeBoard:
    """A probes b and c, of which c does not listen."""
    board = ProbeBoard()
    board.is_enabled = True
    board.report("a", report(), 0.0, EPOCH)
    board.report("b", report(port=7), 0.0, EPOCH)
    board.report("c", report(port=None), 0.0, EPOCH)
    trains = {"a": [Train("a", "b", at_s) for at_s in (5.0, 45.0)]}
    board.assign(ProbeAssignment(round_s, 4, SECRET, {"a": ["b", "c"]}, trains))
    return board


def test_an_agent_learns_whom_to_probe_and_gets_the_keys_for_these_pairs_alone() -> None:
    orders = assigned().report("a", report(), 1.0, EPOCH)
    assert (orders["again_s"], orders["packets"]) == (30.0, 4)
    (peer,) = orders["peers"]
    assert (peer["node"], peer["port"], peer["epoch"]) == ("b", 7, EPOCH)
    assert bytes.fromhex(peer["key"]) == pair_key(node_key(SECRET, EPOCH, "b"), probe_id("a"))
    assert {one["epoch"]: bytes.fromhex(one["key"]) for one in orders["keys"]} == {
        epoch: node_key(SECRET, epoch, "a") for epoch in (EPOCH - 1, EPOCH, EPOCH + 1)
    }


def test_trains_are_told_with_the_report_before_them_and_once() -> None:
    board = assigned()
    told = [[train["in_s"] for train in board.report("a", report(), at, EPOCH)["trains"]] for at in (1.0, 31.0, 61.0)]
    assert told == [[4.0], [14.0], []]


def test_who_measures_nothing_asks_again_soon_and_where_nobody_measures_seldom() -> None:
    assert assigned().report("b", report(), 1.0, EPOCH)["again_s"] == 2.0
    off = ProbeBoard().report("a", report(), 0.0, EPOCH)
    assert (off["again_s"], off["keys"]) == (300.0, [])


def test_only_results_between_agents_that_are_there_count() -> None:
    board = assigned()
    results: list[ProbeResult] = [
        {"node": "b", "sent": 4, "rtts_us": [100.0] * 4},
        {"node": "gone", "sent": 4, "rtts_us": []},
        {"node": "c", "sent": 0, "rtts_us": []},
    ]
    trains: list[ProbedTrain] = [
        {"node": "b", "mbps": 900.0, "at_least": False},
        {"node": "gone", "mbps": 900.0, "at_least": False},
    ]
    board.report("a", report(results=results, trains=trains), 1.0, EPOCH)
    board.report("stranger", report(results=results[:1]), 1.0, EPOCH)
    assert board.take_in(1.0, {"a", "b", "c"})
    assert board.pairs().keys() == {("a", "b")}
    assert not board.take_in(2.0, {"a", "b", "c"}), "taken once"


def test_agents_that_are_silent_or_removed_are_forgotten_and_so_are_old_pairs() -> None:
    board = assigned()
    board.report("a", report(results=[{"node": "b", "sent": 1, "rtts_us": [100.0]}]), 50.0, EPOCH)
    board.take_in(50.0, {"a", "b"})
    assert board.listening(60.0, 100.0) == ["a", "b"]
    assert board.listening(120.0, 100.0) == ["a"]
    assert not board.forget(40.0)
    assert board.forget(60.0)
    assert board.pairs() == {}
    board.report("b", report(results=[{"node": "a", "sent": 1, "rtts_us": [100.0]}]), 130.0, EPOCH)
    board.take_in(130.0, {"a", "b"})
    board.forget_nodes({"b"})
    assert board.pairs() == {}
    assert board.listening(130.0, 100.0) == ["a"]


def test_pairs_are_listed_nearest_first_and_only_of_nodes_that_are_there() -> None:
    board = assigned()
    rtts_us = {"b": 300.0, "c": 100.0, "d": 200.0}
    results: list[ProbeResult] = [{"node": name, "sent": 1, "rtts_us": [us]} for name, us in rtts_us.items()]
    board.report("a", report(results=results), 1.0, EPOCH)
    board.take_in(1.0, {"a", *rtts_us})
    settled = {pair: one.settled for pair, one in board.pairs().items() if one.settled is not None}
    board.show(make_map(settled, DistanceWeights(), np.random.default_rng(0)), [])
    found, total = board.nearest_pairs(None, {"a", "b", "c"}, 1)
    assert ([(one.one, one.other) for one in found], total) == ([("a", "c")], 2)
    found, total = board.nearest_pairs("b", {"a", "b", "c"}, 10)
    assert [one.other for one in found] == ["a"]
    assert found[0].figures is not None
    assert board.between("a", "nobody") is None
