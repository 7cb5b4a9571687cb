"""The layout of one gang as a whole: how many of its tasks each node can take, the domain it goes to, and why.

Guarantees: the answer is exact where capacity and the network decide alone (`_is_settled`). Where tasks of the gang
depend on each other in other ways too (spread, anti-affinity within a rack, an expression about amounts), the domains
with enough capacity are tried, the best first, up to a limit; with slices, one arrangement in each.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from dovetail.cluster.arrays import F8
from dovetail.cluster.network.domains import SINGLE, level_column
from dovetail.cluster.network.uplinks import unlimited_levels
from dovetail.cluster.selector_counts import concerns, selects
from dovetail.cluster.state import Cluster
from dovetail.cluster.views.view import View
from dovetail.engine.gangs.communication import add_notes
from dovetail.engine.gangs.headroom import Headroom
from dovetail.engine.gangs.one_by_one import TrialResult, TrialSubject, one_by_one
from dovetail.engine.state.engine_state import EngineState
from dovetail.model.reason import Explanation, FunnelStep, Outcome
from dovetail.model.requests.asks import AffinityRule, Layout, Relation
from dovetail.model.requests.task_identity import TaskIdentity
from dovetail.model.resources import GPU
from dovetail.model.task import TaskId
from dovetail.model.text.quantity import format_bandwidth
from dovetail.model.workloads.affinity import HOST
from dovetail.placement.contract import CopyEffect, Request
from dovetail.placement.filters.bandwidth import NO_BANDWIDTH
from dovetail.placement.gangs.arranger import Arranger
from dovetail.placement.gangs.domain_features import Prospect
from dovetail.placement.gangs.strategies import BALANCED, PACK, Ranking, judge, rank_domains
from dovetail.placement.gangs.tiers import EVERYWHERE, Tiers, UplinkCapacity
from dovetail.placement.pipeline.pipeline import Choice

NO_DOMAIN = "no_domain_fits"
_MOST_DOMAINS = 16
_MOST_TASKS = 4096  # placed in all of those together, which bounds the time of a decision


class GangLayout:
    def __init__(
        self, state: EngineState, subject: TrialSubject, request: Request, replicas: list[int], layout: Layout
    ) -> None:
        self._state, self._subject, self._request, self._replicas = state, subject, request, replicas
        # GPU gangs are packed by default: large ones need domains that are still empty.
        usual = state.settings.gang_strategy or (PACK if GPU in request.needs else BALANCED)
        self._strategy, self._complaints = state.router.strategies.or_balanced(layout.strategy or usual)
        self._layout = layout = layout._replace(strategy=self._strategy.name)
        self._pipeline = state.pipelines[subject.shape.profile]
        self._view = View(state.cluster)
        self._filtered = self._pipeline.evaluator.run_filters(request, self._view)
        self._own = [
            rule for rule in subject.shape.workload_affinity if rule.weight is None and concerns(rule, subject.identity)
        ]
        self._tiers = state.tiers.of(layout.levels)
        #: float64[node]: how many of its tasks each node could take.
        self.copies = self._copies()
        self._links = _GangBandwidth(state.cluster, self._tiers, layout.bandwidth_mbps, subject.identity)
        self._arranger = Arranger(self._tiers, self.copies, len(replicas), layout, self._links.allowed)
        self._rows: dict[tuple[int, int], tuple[int, ...]] = {}

    def arranged(self) -> TrialResult:
        if not self._filtered.counts[-1]:
            return self._with_unknown(one_by_one(self._state, self._subject, self._request, self._replicas))
        tier = self._arranger.tier_reached()
        if tier is None:
            return self._with_unknown(TrialResult([], self._refusal()))
        if self._is_settled:
            ranking = self._ranking(tier)
            rows = self._rows_in(tier, ranking.best)
            return TrialResult(self._choices(rows, tier, self._decided(ranking, tier, ranking.best)))
        return self._with_unknown(self._tried(tier))

    def _copies(self) -> F8:
        found = np.zeros(self._view.size)
        rows = np.flatnonzero(self._filtered.alive)
        if len(rows):
            headroom = Headroom(self._pipeline.evaluator, self._request, self._view)
            found[rows] = headroom.copies(rows, self._request.needs)
        if any(map(_alone_on_host, self._own)):
            np.minimum(found, 1.0, out=found)
        return found

    @property
    def _is_settled(self) -> bool:
        """Do capacity and the network alone decide how many tasks go where?"""
        evaluator, shape, identity = self._pipeline.evaluator, self._subject.shape, self._subject.identity
        if not self._links.is_settled or not all(_alone_on_host(rule) or _together(rule) for rule in self._own):
            return False
        if any(even.weight is None and any(selects(one, identity) for one in even.whom) for even in shape.spread):
            return False
        return not evaluator.copies_interact(self._request, CopyEffect.BY_AMOUNTS, CopyEffect.BY_RULES)

    # --- choosing --------------------------------------------------------------------------------------------

    @property
    def span(self) -> tuple[int, int]:
        """The widest tier that it may, and the narrowest that it should be placed in."""
        return self._arranger.widest, self._arranger.narrowest

    def points(self, tier: int) -> F8:
        """float64[domain]: how well each domain of a tier suits it."""
        return judge(self._prospect(tier), self._strategy, self._state.router.strategies[BALANCED]).points

    def _prospect(self, tier: int) -> Prospect:
        talk = self._state.communication

        def all_reduce_s(domain: int, size_bytes: int) -> float | None:
            return talk.all_reduce_s(self._rows_in(tier, domain), size_bytes)

        holding, count = self._arranger.holding(tier), len(self._replicas)
        exchange = all_reduce_s if talk.is_known else None
        return Prospect(self._request, self._view, self._tiers, tier, self.copies, count, holding, exchange)

    def _ranking(self, tier: int) -> Ranking:
        return rank_domains(self._prospect(tier), self._strategy, self._state.router.strategies[BALANCED])

    def _rows_in(self, tier: int, domain: int) -> tuple[int, ...]:
        """The node of each task, if all go to this domain. Cached: a compared domain may be the one chosen."""
        found = self._rows.get((tier, domain))
        if found is None:
            found = self._rows[tier, domain] = self._arranger.arranged(tier, domain).rows
        return found

    def _tried(self, narrowest: int) -> TrialResult:
        """One domain after the other, the best first, until the tasks keep their rules about each other in one."""
        last = TrialResult([])
        left = min(_MOST_DOMAINS, max(1, _MOST_TASKS // len(self._replicas)))
        for tier in range(narrowest, self._arranger.widest - 1, -1):
            if not self._arranger.holding(tier).any():
                continue
            ranking = self._ranking(tier)
            for domain in ranking.order()[:left]:
                left -= 1
                decided = self._decided(ranking, tier, domain)
                place = self._in_order if self._layout.slices else self._one_by_one
                last = place(tier, domain, decided)
                if last.refusal is None:
                    return last
        return last

    def _one_by_one(self, tier: int, domain: int, decided: "_Decided") -> TrialResult:
        request = replace(self._request, among=self._tiers[tier].codes == domain)
        found = one_by_one(self._state, self._subject, request, self._replicas)
        if found.refusal is None:
            rows = tuple([choice.row for choice in found.choices if choice.row is not None])
            add_notes(found.choices, self._reached(rows, tier), *decided.notes, words=decided.message)
        return found

    def _in_order(self, tier: int, domain: int, decided: "_Decided") -> TrialResult:
        """By the arrangement, if every task may go to its node once those before it are placed."""
        rows = self._rows_in(tier, domain)
        cluster, shape, request = self._state.cluster, self._subject.shape, self._request
        with cluster.trial():
            for replica, row in zip(self._replicas, rows, strict=True):
                here = View(cluster).subset(np.array([row], dtype=np.intp))
                if not self._pipeline.evaluator.run_filters(request, here).counts[-1]:
                    only = replace(request, among=np.arange(cluster.width) == row)
                    return one_by_one(self._state, self._subject, only, [replica])
                task, identity = TaskId(self._subject.id, replica), self._subject.identity
                cluster.place(task, row, request.column, shape.service_key, identity=identity, gpus=shape.gpus)
                if request.promised is not None:
                    request = replace(request, promised=request.promised.without(row, request.column))
        return TrialResult(self._choices(rows, tier, decided))

    # --- messages --------------------------------------------------------------------------------------------

    def _decided(self, ranking: Ranking, tier: int, domain: int) -> "_Decided":
        """The strategy that chose the domain, if there was a choice."""
        where = "there" if self._tiers[tier].level == HOST else f"in {self._named(tier, domain)}"
        together = f", with all {len(self._replicas)} tasks {where}"
        if self._tiers[tier].level == EVERYWHERE:
            return _Decided(together, (*self._complaints, *ranking.notes, *self._links.unlimited()))
        words = ranking.words(domain, lambda one: self._named(tier, one))
        short = ranking.in_short(domain, lambda one: self._named(tier, one))
        return _Decided(f"{together}: {short}", (*self._complaints, *ranking.notes, words, *self._links.unlimited()))

    def _choices(self, rows: tuple[int, ...], tier: int, decided: "_Decided") -> list[Choice]:
        """The layout chose the nodes, so no scores explain them."""
        cluster = self._state.cluster
        funnel, _ = self._pipeline.funnel_and_weights(self._filtered, self._request)
        notes = (*self._filtered.notes, self._reached(rows, tier), *decided.notes, *self._unknown())
        asked = (self._pipeline.name, len(cluster.rows), funnel)
        explained: dict[int, Explanation] = {}
        for row in dict.fromkeys(rows):
            words = f"placed on {cluster.names[row]}{decided.message}"
            explained[row] = Explanation(Outcome.PLACED, words, *asked, notes=notes)
        return [Choice(row, explained[row]) for row in rows]

    def _reached(self, rows: tuple[int, ...], tier: int) -> str:
        """The domain that holds the gang, and why no narrower one does."""
        count, hosts = len(rows), len(set(rows))
        where = self._named(tier, int(self._tiers[tier].codes[rows[0]]))
        words = f"{count} tasks together in {where}, on {hosts} node{'' if hosts == 1 else 's'}"
        if tier < self._arranger.narrowest:
            _, most = self._arranger.most(tier + 1)
            words += f"; the largest {self._tiers[tier + 1].level} has space for {most}"
        return words

    def _refusal(self) -> Explanation:
        unfit = self._arranger.unfit()
        slices = [f"every {size} in one {level}" for size, level in self._layout.slices]
        how = "".join(f", {words}" for words in slices)
        if unfit.tier == 0:
            words = f"{len(self._replicas)} tasks must start together{how}; there is space for {unfit.most}"
        else:
            level = self._tiers[unfit.tier].level
            largest = self._named(unfit.tier, unfit.domain)
            words = f"{len(self._replicas)} tasks must start together in one {level}{how}; the largest, {largest}, "
            words += f"has space for {unfit.most}"
        funnel, _ = self._pipeline.funnel_and_weights(self._filtered, self._request)
        reason = NO_DOMAIN
        if self._links.allowed is not None:
            without = Arranger(self._tiers, self.copies, len(self._replicas), self._layout)
            if without.tier_reached() is not None:
                reason, words = NO_BANDWIDTH, f"{words}: {self._links.too_narrow(self._arranger, self._named)}"
        step = FunnelStep(f"one {self._tiers[unfit.tier].level or 'layout'}", 0, reason)
        nodes, notes = len(self._state.cluster.rows), self._filtered.notes
        return Explanation(reason, words, self._pipeline.name, nodes, (*funnel, step), notes=notes)

    def _unknown(self) -> list[str]:
        """Levels that no node has a label for: there every node is a domain of its own."""
        levels = dict.fromkeys(level for level in self._layout.levels if not self._tiers.is_carried(level))
        return [f"no node has a label {level!r}" for level in levels]

    def _with_unknown(self, found: TrialResult) -> TrialResult:
        if found.refusal is not None and (unknown := self._unknown()):
            found.refusal = replace(found.refusal, message=f"{found.refusal.message}; {'; '.join(unknown)}")
        return found

    def _named(self, tier: int, domain: int) -> str:
        """`leaf l3`"""
        one, cluster = self._tiers[tier], self._state.cluster
        if one.level == EVERYWHERE:
            return "the cluster"
        row = int(one.first[domain])
        column = None if one.level == HOST else level_column(cluster, one.level)
        name = None if column is None else column.value(row)
        return f"{one.level} {name}" if name is not None else f"node {cluster.names[row]}"


class _Decided(NamedTuple):
    """Why a gang lies where it does: the end of the message of each decision, and its notes."""

    message: str
    notes: tuple[str, ...]


def _alone_on_host(rule: AffinityRule) -> bool:
    return rule.relation is Relation.APART and rule.distance is None and rule.level in SINGLE


def _together(rule: AffinityRule) -> bool:
    return rule.relation is Relation.NEAR and rule.distance is None


class _GangBandwidth:
    """The bandwidth a gang needs between its tasks: how many each domain's uplinks allow, and messages about it.

    It applies where all tasks are placed together (`placement.gangs.uplink_capacity`). Tasks that join others of their
    gang or group are checked one by one instead (`placement.filters.bandwidth`).
    """

    def __init__(self, cluster: Cluster, tiers: Tiers, mbps: int, identity: TaskIdentity) -> None:
        self._cluster, self._tiers, self._mbps = cluster, tiers, mbps
        begun = bool(mbps) and len(cluster.placements.flows.members(identity.gang).rows) > 0
        self._uplinks = UplinkCapacity(cluster, tiers, mbps) if mbps and not begun else None

    @property
    def allowed(self) -> Sequence[F8] | None:
        """For the arranger; None where links set no limit, or tasks of the gang have nodes already."""
        return self._uplinks.tasks if self._uplinks is not None and self._uplinks.sets_limits else None

    @property
    def is_settled(self) -> bool:
        """Does the arrangement by itself stay within what the links carry?"""
        return not self._mbps or (self._uplinks is not None and self._uplinks.is_whole)

    def too_narrow(self, arranger: Arranger, named: Callable[[int, int], str]) -> str:
        """For a gang that would fit if links carried more: the uplink that keeps most of it out of the domain with most
        capacity. `named`: the name of a domain of a tier."""
        if self._uplinks is None:
            return ""
        unfit = arranger.unfit()
        tightest = arranger.tightest_uplink(unfit.tier, unfit.domain)
        asked = f"each needs {format_bandwidth(self._mbps)} to the others"
        if tightest is None:
            return asked
        tier, domain = tightest
        left, tasks = int(self._uplinks.left_mbps[tier][domain]), int(self._uplinks.tasks[tier][domain])
        enough = f"enough for {tasks} task{'' if tasks == 1 else 's'} there"
        where = f"across {self._tiers[tier].level} uplinks"
        return f"{asked} {where}, and {named(tier, domain)} has {format_bandwidth(left)} left, {enough}"

    def unlimited(self) -> tuple[str, ...]:
        """Levels whose link capacity the topology does not state: bandwidth is not checked there."""
        levels = unlimited_levels(self._cluster) if self._mbps else []
        if not levels:
            return ()
        named = " and ".join(filter(None, (", ".join(levels[:-1]), levels[-1])))
        return (f"bandwidth sets no limit across {named} uplinks: the topology does not say what they carry",)
