"""The subsystem: plans probes, takes in what agents measured, and tells the engine when distances have changed.

Until the first agent reports it does nothing but look whether one has. What counted before a restart is read from its
table and told to the engine again, as the engine does not remember it. While it is down, distances stay as they are and
agents go on with the orders that they have.
"""

import asyncio
import contextlib
import math
import secrets
import time
from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np
import structlog

from dovetail.access.private_file import write_private
from dovetail.control.subsystems.contract import DurableStep, Subsystem, SubsystemContext
from dovetail.control.subsystems.network.metrics import NetworkMetrics
from dovetail.control.subsystems.network.pair_table import read_pairs, write_pairs
from dovetail.control.subsystems.network.probe_board import Pair, ProbeAssignment, ProbeBoard, pair_of
from dovetail.control.subsystems.network.settings import MeasuringSettings
from dovetail.engine.questions.questions import Questions
from dovetail.model.event import DistancesMeasured
from dovetail.model.network.topology import DistanceWeights
from dovetail.network_measurement.contradictions import DescriptionContradiction, find_contradictions
from dovetail.network_measurement.network_map import NetworkMap, held_back, is_another, make_map, nearest
from dovetail.network_measurement.pair_history import PairHistory
from dovetail.network_measurement.probe_plan import PlanLimits, probe_peers, round_bytes, round_s
from dovetail.network_measurement.train_plan import Train, longest_ago_first, plan_trains

LOOK_EVERY_S = 0.25
SAVE_EVERY_S = 60.0
#: An agent that has not reported for so many rounds, and so long, is gone.
SILENT_ROUNDS, SILENT_S = 3, 10.0
#: Points of distance that are worth telling the engine.
CLEAR_POINTS = 1.0
#: What a packet and a train cost (`agent.probing.packets`; a test compares).
PACKET_BYTES, TRAIN_BYTES = 56, 64 * (1200 + 66)
SLOT_S = 0.25
TRY_TRAIN_AGAIN_S = 60.0
#: After it has computed distances it rests for so many times as long: at most a twentieth of a core.
PAUSES = 20
_KEY_FILE = "probe.key"
TOPOLOGY = "topology"  # the name under which the engine remembers it

log = structlog.get_logger()

_Domains = dict[str, dict[str, str]]  # by level, widest first: by node, its domain


class NetworkMeasuring(Subsystem):
    def __init__(self, context: SubsystemContext) -> None:
        super().__init__(context)
        self._settings: MeasuringSettings = context.settings
        self._board: ProbeBoard = context.shared
        self._metrics: NetworkMetrics = context.metrics
        self._alive: set[str] = set()
        self._planned: list[str] = []
        self._planned_at = self._publish_at = self._saved_at = float("-inf")
        self._round_s = self._settings.probe_every
        self._published: NetworkMap | None = None
        self._is_stale = False
        self._secret = b""
        self._trains: list[Train] = []  # planned, by the monotonic clock
        self._trains_until = 0.0
        self._sent_train_at: dict[Pair, float] = {}

    async def run(self) -> None:
        if not self._settings.enabled:
            return
        if (self.context.folder / "tables.db").exists():
            await self._recall()
        self._board.is_enabled = True
        while True:
            if self._board.is_in_use:
                await self._look(time.monotonic(), time.time())
            await asyncio.sleep(LOOK_EVERY_S)

    async def take(self, step: DurableStep) -> None:
        """Where nodes are described may say something else now about what was measured."""
        changes = step.batch.changes
        if changes.nodes_gone:
            self._board.forget_nodes(frozenset(changes.nodes_gone))
        if self._published is not None and (changes.nodes or changes.nodes_gone or TOPOLOGY in changes.memory):
            self._is_stale = True

    async def stop(self) -> None:
        self._board.assign(None)
        if self._board.pairs():
            await asyncio.to_thread(self._save, time.time())

    @property
    def _plan_every_s(self) -> float:
        return max(float(self._round_s), 1.0)

    # --- one look ------------------------------------------------------------------------------------------------

    async def _look(self, now: float, at: float) -> None:
        listening = self._board.listening(now, SILENT_ROUNDS * self._round_s + SILENT_S)[: self._settings.most_nodes]
        self._alive = set(listening)
        self._is_stale |= self._board.take_in(at, self._alive)
        self._is_stale |= self._board.forget(at - self._settings.forget_after)
        if listening != self._planned or now - self._planned_at >= self._plan_every_s:
            await self._plan(listening, now)
        if self._is_stale and now >= self._publish_at:
            await self._publish()
            took_s = time.monotonic() - now
            self._publish_at = now + max(self._settings.publish_every, PAUSES * took_s)
        if now - self._saved_at >= SAVE_EVERY_S and self._board.pairs():
            await asyncio.to_thread(self._save, at)
            self._saved_at = now

    async def _plan(self, nodes: list[str], now: float) -> None:
        settings = self._settings
        domains = await self.context.ask(_narrowest_domains)
        limits = PlanLimits(settings.all_pairs_up_to, settings.peers, settings.peers // 4, settings.peers // 4)
        known = self._board.network_map
        is_sampled = known is not None and len(nodes) > limits.all_pairs_up_to
        near = nearest(known, limits.in_domain) if known is not None and is_sampled else {}
        peers = probe_peers(nodes, domains, limits, near)
        cost = round_bytes(sum(map(len, peers.values())), settings.packets, PACKET_BYTES)
        self._round_s = round_s(cost, settings.budget, settings.probe_every)
        self._plan_trains(peers, domains, now)
        trains: dict[str, list[Train]] = {}
        for train in self._trains:
            trains.setdefault(train.sender, []).append(train)
        self._board.assign(ProbeAssignment(self._round_s, settings.packets, self._key(), peers, trains))
        self._planned, self._planned_at = nodes, now
        self._metrics.agents.set(len(nodes))
        self._metrics.round_s.set(self._round_s)

    def _plan_trains(self, peers: Mapping[str, list[str]], domains: Mapping[str, str], now: float) -> None:
        """From the next round on, when every agent has heard of them: with each report it learns of the trains of the
        round that begins then. What was planned before stays, so that no slot is given away twice."""
        self._trains = [train for train in self._trains if train.at_s >= now]
        begin = max(self._trains_until, now + self._round_s)
        end = now + self._round_s + self._plan_every_s
        budget = self._settings.bandwidth_budget
        if not budget or begin >= end:
            return
        slot_s = max(SLOT_S, TRAIN_BYTES / budget)
        slots, most = math.ceil((end - begin) / slot_s), max(int(budget * slot_s / TRAIN_BYTES), 1)
        ends = {pair_of(node, peer): (node, peer) for node, others in peers.items() for peer in others}
        self._sent_train_at = {pair: at for pair, at in self._sent_train_at.items() if pair in ends}
        first = longest_ago_first(self._due_for_train(ends, now), self._sent_train_at)[: 4 * slots * most]
        found = plan_trains([ends[pair] for pair in first], domains, slots, slot_s, most)
        self._trains += [replace(train, at_s=begin + train.at_s) for train in found]
        self._sent_train_at |= {pair_of(train.sender, train.receiver): begin + train.at_s for train in found}
        self._trains_until = begin + slots * slot_s

    def _due_for_train(self, pairs: Iterable[Pair], now: float) -> list[Pair]:
        """A pair whose train told nothing is tried again sooner, but not before others had their turn."""
        every_s, known = self._settings.bandwidth_every, self._board.pairs()
        due, again = now - every_s, now - min(every_s, TRY_TRAIN_AGAIN_S)
        found = []
        for pair in pairs:
            history = known.get(pair)
            was_measured = history is not None and history.train_at is not None
            if self._sent_train_at.get(pair, due) <= (due if was_measured else again):
                found.append(pair)
        return found

    # --- distances -----------------------------------------------------------------------------------------------

    async def _publish(self) -> None:
        self._is_stale = False
        weights, domains = await self.context.ask(_weights_and_domains)
        found, contradictions = await asyncio.to_thread(_mapped, self._board.pairs(), weights, domains)
        found = held_back(self._published, found, CLEAR_POINTS)
        for one in contradictions:
            if one.node not in {known.node for known in self._board.contradictions}:
                log.warning("a node measures unlike its description", node=one.node, problem=str(one))
        self._board.show(found, contradictions)
        if is_another(self._published, found):
            self._published = found
            self.context.put([DistancesMeasured(found.names, found.distance)])
        self._measure_itself(found, len(contradictions))

    def _measure_itself(self, found: NetworkMap, contradictions: int) -> None:
        measured = found.rtt_us[np.triu(found.measured)]
        nodes = len(found.names)
        known = int(np.count_nonzero(~np.isnan(found.distance))) - nodes
        there = measured[np.isfinite(measured)] / 1e6
        self._metrics.measured_pairs.set(len(measured))
        self._metrics.estimated_pairs.set(known // 2 - len(measured))
        self._metrics.unreachable_pairs.set(len(measured) - len(there))
        self._metrics.contradictions.set(contradictions)
        for quantile in (0.5, 0.99):
            if len(there):
                self._metrics.rtt_s.labels(str(quantile)).set(float(np.quantile(there, quantile)))
        self._metrics.longest_loss.set(max((one.loss for one in self._board.pairs().values()), default=0.0))

    # --- what outlives it ----------------------------------------------------------------------------------------

    async def _recall(self) -> None:
        tables = self.context.tables
        assert tables is not None, "declared with migrations"
        await asyncio.to_thread(tables.open)
        self._board.put_pairs(await asyncio.to_thread(read_pairs, tables))
        self._is_stale = True
        if self._board.forget(time.time() - self._settings.forget_after) or self._board.pairs():
            await self._publish()

    def _save(self, at: float) -> None:
        tables, trends = self.context.tables, self._board.trends
        assert tables is not None, "declared with migrations"
        assert trends is not None, "made with the tables"
        tables.open()
        write_pairs(tables, self._board.pairs())
        trends.save(at)

    def _key(self) -> bytes:
        """The secret of all keys of probes, made once."""
        if not self._secret:
            path = self.context.folder / _KEY_FILE
            with contextlib.suppress(FileNotFoundError, ValueError):
                self._secret = bytes.fromhex(path.read_text().strip())
            if not self._secret:
                self._secret = secrets.token_bytes(32)
                self.context.folder.mkdir(parents=True, exist_ok=True)
                write_private(path, self._secret.hex() + "\n")
        return self._secret


def _narrowest_domains(questions: Questions) -> dict[str, str]:
    levels = questions.network.levels()
    return questions.network.domain_names(levels[-1].present.name) if levels else {}


def _weights_and_domains(questions: Questions) -> tuple[DistanceWeights, _Domains]:
    network = questions.network
    levels = [level.present.name for level in network.levels()]
    return network.topology.weights, {level: network.domain_names(level) for level in levels}


def _mapped(
    histories: Mapping[Pair, PairHistory], weights: DistanceWeights, domains: _Domains
) -> tuple[NetworkMap, list[DescriptionContradiction]]:
    settled = {pair: history.settled for pair, history in histories.items() if history.settled is not None}
    found = make_map(settled, weights, np.random.default_rng(0))
    contradictions: dict[str, DescriptionContradiction] = {}
    for level, places in domains.items():  # widest first: that a node is in another spine says more than its leaf
        for one in find_contradictions(found, level, places):
            contradictions.setdefault(one.node, one)
    return found, list(contradictions.values())
