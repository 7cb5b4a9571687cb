"""One gang looked at as a whole: how many of its tasks each node could take, the domain it goes to, and the words.

Guarantees: where nothing but room and the network decides (`_is_settled`), the verdict is exact. Where tasks of the
gang matter to each other in other ways as well (an even spread, apart in a rack, an expression about amounts), the
domains that have the room are tried, the best first, up to a number; with slices, each with one arrangement.
"""

from dataclasses import replace

import numpy as np

from dovetail.cluster.arrays import F8
from dovetail.cluster.domains import SINGLE, level_column
from dovetail.cluster.state import DEVICES, PLACEMENTS, RESOURCES
from dovetail.cluster.tallies import concerns, selects
from dovetail.cluster.view import View
from dovetail.engine.headroom import Headroom
from dovetail.engine.one_by_one import Party, Together, one_by_one
from dovetail.engine.state import EngineState
from dovetail.model.asks import Company, Layout, Relation
from dovetail.model.company import HOST
from dovetail.model.reason import Explanation, FunnelStep, NodePoints, Outcome
from dovetail.model.task import TaskId
from dovetail.placement.arranging import Arranger
from dovetail.placement.contract import Request
from dovetail.placement.domain_choice import Prospect, choose_domain
from dovetail.placement.filters.gpus import FreeGpus
from dovetail.placement.filters.promised import Promised
from dovetail.placement.filters.resources import Resources
from dovetail.placement.filters.spread import Spread
from dovetail.placement.filters.workload_affinity import WorkloadAffinity
from dovetail.placement.pipeline import Choice
from dovetail.placement.tiers import EVERYWHERE

NO_DOMAIN = "no_domain_fits"
_MOST_DOMAINS = 16
_MOST_TASKS = 4096  # placed in all of those together: the answer must not keep others waiting
_TAKEN = frozenset({RESOURCES, PLACEMENTS, DEVICES})
_COUNTED = (Resources, FreeGpus, Promised, WorkloadAffinity, Spread)  # filters whose verdict is looked into here


class GangLayout:
    def __init__(self, state: EngineState, party: Party, request: Request, replicas: list[int], layout: Layout) -> None:
        self._state, self._party, self._request, self._replicas = state, party, request, replicas
        self._layout = layout
        self._pipeline = state.pipelines[party.shape.profile]
        self._view = View(state.cluster)
        self._sifted = self._pipeline.evaluator.sift(request, self._view)
        self._own = [rule for rule in party.shape.company if rule.weight is None and concerns(rule, party.badge)]
        self._tiers = state.tiers.of(layout.levels)
        self._copies = self._room()
        self._arranger = Arranger(self._tiers, self._copies, len(replicas), layout)
        self._weights = state.strategy(layout.strategy, party.shape)

    def arranged(self) -> Together:
        if not self._sifted.counts[-1]:
            return self._with_unknown(one_by_one(self._state, self._party, self._request, self._replicas))
        tier = self._arranger.tier_reached()
        if tier is None:
            return self._with_unknown(Together([], self._refusal()))
        if self._is_settled:
            rows = self._arranger.arranged(tier, self._best(tier)).rows
            return Together(self._choices(rows, tier))
        return self._with_unknown(self._tried(tier))

    def _room(self) -> F8:
        """float64[node]: how many of its tasks each node could take."""
        found = np.zeros(self._view.size)
        rows = np.flatnonzero(self._sifted.alive)
        if len(rows):
            headroom = Headroom(self._pipeline.evaluator, self._request, self._view)
            found[rows] = headroom.copies(rows, self._request.needs)
        if any(map(_alone_on_host, self._own)):
            np.minimum(found, 1.0, out=found)
        return found

    @property
    def _is_settled(self) -> bool:
        """Does nothing but room and the network decide how many tasks go where?"""
        evaluator, shape, badge = self._pipeline.evaluator, self._party.shape, self._party.badge
        if not all(_alone_on_host(rule) or _together(rule) for rule in self._own):
            return False
        if any(even.weight is None and any(selects(one, badge) for one in even.whom) for even in shape.spread):
            return False
        others = [plugin for plugin in evaluator.filters if not isinstance(plugin, _COUNTED)]
        return all(_TAKEN.isdisjoint(evaluator.reads_of(plugin, self._request)) for plugin in others)

    # --- choosing --------------------------------------------------------------------------------------------

    def _prospect(self, tier: int) -> Prospect:
        return Prospect(self._request, self._view, self._tiers, tier, self._copies, len(self._replicas))

    def _best(self, tier: int) -> int:
        return choose_domain(self._prospect(tier), self._arranger.holding(tier), self._weights)

    def _tried(self, narrowest: int) -> Together:
        """Domain after domain, the best first, until the rules about each other are kept in one."""
        last = Together([])
        left = min(_MOST_DOMAINS, max(1, _MOST_TASKS // len(self._replicas)))
        for tier in range(narrowest, self._arranger.widest - 1, -1):
            points = np.where(self._arranger.holding(tier), self._prospect(tier).points(self._weights), -np.inf)
            for domain in np.argsort(-points, kind="stable")[:left].tolist():
                if points[domain] == -np.inf:
                    break
                left -= 1
                last = self._in_order(tier, domain) if self._layout.slices else self._anyhow(tier, domain)
                if last.refusal is None:
                    return last
        return last

    def _anyhow(self, tier: int, domain: int) -> Together:
        request = replace(self._request, among=self._tiers[tier].codes == domain)
        return one_by_one(self._state, self._party, request, self._replicas)

    def _in_order(self, tier: int, domain: int) -> Together:
        """As the arrangement has it, if every task may go where it should once those before it are placed."""
        rows = self._arranger.arranged(tier, domain).rows
        cluster, shape, request = self._state.cluster, self._party.shape, self._request
        with cluster.trial():
            for replica, row in zip(self._replicas, rows, strict=True):
                here = View(cluster).subset(np.array([row], dtype=np.intp))
                if not self._pipeline.evaluator.sift(request, here).counts[-1]:
                    only = replace(request, among=np.arange(cluster.width) == row)
                    return one_by_one(self._state, self._party, only, [replica])
                task = TaskId(self._party.id, replica)
                cluster.place(task, row, request.column, shape.service_key, badge=self._party.badge, gpus=shape.gpus)
                if request.promised is not None:
                    request = replace(request, promised=request.promised.without(row, request.column))
        return Together(self._choices(rows, tier))

    # --- words -----------------------------------------------------------------------------------------------

    def _choices(self, rows: tuple[int, ...], tier: int) -> list[Choice]:
        evaluator, cluster = self._pipeline.evaluator, self._state.cluster
        distinct = np.unique(np.array(rows, dtype=np.intp))
        scored = evaluator.score(self._request, self._view.subset(distinct))
        funnel, weights = self._pipeline.told(self._sifted)
        notes = (*self._sifted.notes, *scored.notes, self._reached(rows, tier), *self._unknown())
        explained: dict[int, Explanation] = {}
        columns = [p if isinstance(p, float) else p.tolist() for p in scored.points]
        for i, row in enumerate(distinct.tolist()):
            points = tuple([p if isinstance(p, float) else p[i] for p in columns])
            name = cluster.names[row]
            line = NodePoints(name, scored.total.item(i), points, cluster.resources.load.item(row))
            explained[row] = Explanation(
                *(
                    Outcome.PLACED,
                    f"placed on {name}",
                    self._pipeline.name,
                    len(cluster.rows),
                    funnel,
                    weights,
                    (line,),
                ),
                notes=notes,
            )
        return [Choice(row, explained[row]) for row in rows]

    def _reached(self, rows: tuple[int, ...], tier: int) -> str:
        """Which level was reached, and why no narrower one."""
        count, hosts = len(rows), len(set(rows))
        where = self._named(tier, int(self._tiers[tier].codes[rows[0]]))
        words = f"{count} tasks together in {where}, on {hosts} node{'' if hosts == 1 else 's'}"
        if tier < self._arranger.narrowest:
            _, most = self._arranger.most(tier + 1)
            words += f"; the largest {self._tiers[tier + 1].level} has room for {most}"
        return words

    def _refusal(self) -> Explanation:
        unfit = self._arranger.unfit()
        slices = [f"every {size} in one {level}" for size, level in self._layout.slices]
        how = "".join(f", {words}" for words in slices)
        if unfit.tier == 0:
            words = f"{len(self._replicas)} tasks must start together{how}; there is room for {unfit.most}"
        else:
            level = self._tiers[unfit.tier].level
            largest = self._named(unfit.tier, unfit.domain)
            words = f"{len(self._replicas)} tasks must start together in one {level}{how}; the largest, {largest}, "
            words += f"has room for {unfit.most}"
        funnel, _ = self._pipeline.told(self._sifted)
        step = FunnelStep(f"one {self._tiers[unfit.tier].level or 'layout'}", 0, NO_DOMAIN)
        nodes, notes = len(self._state.cluster.rows), self._sifted.notes
        return Explanation(NO_DOMAIN, words, self._pipeline.name, nodes, (*funnel, step), notes=notes)

    def _unknown(self) -> list[str]:
        """Levels of which no node says anything: there every node is alone."""
        levels = dict.fromkeys(level for level in self._layout.levels if not self._tiers.is_carried(level))
        return [f"no node has a label {level!r}" for level in levels]

    def _with_unknown(self, found: Together) -> Together:
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


def _alone_on_host(rule: Company) -> bool:
    return rule.relation is Relation.APART and rule.distance is None and rule.level in SINGLE


def _together(rule: Company) -> bool:
    return rule.relation is Relation.NEAR and rule.distance is None
