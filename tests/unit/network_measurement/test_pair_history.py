"""Statistics of a pair: smoothing, hysteresis, silence."""

import math

from dovetail.network_measurement.pair_history import PairHistory, SettledPair


def test_minimum_median_and_the_99th_percentile_are_those_of_the_samples() -> None:
    history = PairHistory()
    for at in range(25):
        history.add_round([100.0 + 4 * at + step for step in range(4)], 4, float(at))
    figures = history.figures()
    assert (figures.rtt_min_us, figures.rtt_median_us, figures.rtt_p99_us) == (100.0, 149.5, 198.0)
    assert (figures.loss, figures.mbps, figures.measured_at) == (0.0, None, 24.0)


def test_one_odd_round_changes_nothing_and_a_lasting_change_counts_from_its_second_round() -> None:
    history = PairHistory()
    assert history.add_round([1000.0], 1, 0.0)
    for at in range(1, 4):
        assert not history.add_round([1010.0], 1, float(at))
    assert not history.add_round([9000.0], 1, 4.0)
    assert not history.add_round([1000.0], 1, 5.0)
    assert not history.add_round([3000.0], 1, 6.0) or history.settled is not None
    history.add_round([3000.0], 1, 7.0)
    assert history.settled == SettledPair(3000.0, 0.0, None)


def test_values_that_wander_a_little_are_not_made_known() -> None:
    history = PairHistory()
    history.add_round([1000.0], 1, 0.0)
    assert not any(history.add_round([1000.0 + 90 * (at % 2)], 1, float(at)) for at in range(1, 20))
    assert history.settled == SettledPair(1000.0, 0.0, None)


def test_loss_is_the_share_of_packets_without_an_answer_and_is_forgotten() -> None:
    history = PairHistory()
    for at in range(20):
        history.add_round([100.0] * 9, 10, float(at))
    assert math.isclose(history.loss, 0.1)
    assert history.settled is not None
    assert history.settled.loss == 0.1
    for at in range(20, 120):
        history.add_round([100.0] * 10, 10, float(at))
    assert history.loss < 0.001


def test_two_silent_rounds_mean_that_there_is_no_way_and_an_answer_opens_it_again() -> None:
    history = PairHistory()
    history.add_round([100.0], 4, 0.0)
    assert not history.add_round([], 4, 1.0) or history.settled is not None
    assert history.add_round([], 4, 2.0)
    assert history.settled is not None
    assert math.isinf(history.settled.rtt_us)
    assert history.add_round([100.0] * 4, 4, 3.0)
    assert history.settled.rtt_us == 100.0


def test_a_pair_that_never_answered_is_not_known_and_not_far() -> None:
    history = PairHistory()
    assert not any(history.add_round([], 4, float(at)) for at in range(5))
    assert history.settled is None
    assert history.loss == 1.0


def test_the_median_of_the_last_trains_counts() -> None:
    history = PairHistory()
    history.add_round([100.0], 1, 0.0)
    assert history.add_train(90.0, 1.0, at_least=False)
    history.add_train(91.0, 2.0, at_least=True)
    history.add_train(900.0, 3.0, at_least=True)
    figures = history.figures()
    assert (figures.mbps, figures.at_least) == (91.0, True)
    for at in (4.0, 5.0):
        history.add_train(10.0, at, at_least=False)
    assert history.settled == SettledPair(100.0, 0.0, 10.0)
    assert not history.figures().at_least
