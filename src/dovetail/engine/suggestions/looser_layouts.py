"""Relaxed topology requirements for a gang that fits nowhere: candidates, most of them tried already.

The gang may fit in a wider domain, with smaller slices or none, with less bandwidth, or if fewer of its tasks must
start together. Guarantees: only `topology` and the number that start together are changed, and as little as possible:
the narrowest level, the largest slices and the most bandwidth that fit. A level that is no longer required stays
preferred. Left to others: which tasks would have to be preempted (`measures`).
"""

from collections.abc import Iterator

from dovetail.engine.gangs.gang_trial import layout_of
from dovetail.engine.suggestions.changes import (
    DefinitionChange,
    Draft,
    Edit,
    fewer_at_once,
    redefined,
    removing,
    setting,
)
from dovetail.engine.suggestions.fit_trial import FitTrial
from dovetail.model.requests.asks import Layout
from dovetail.model.text.quantity import format_bandwidth
from dovetail.model.workloads.arrangement import Arrangement, GangSlice
from dovetail.placement.gangs.arranger import Arranger
from dovetail.placement.gangs.tiers import EVERYWHERE, Tiers

_MOST_HALVINGS = 6  # of a bandwidth


class LooserLayouts:
    """For one gang, as the cluster is when it is asked."""

    def __init__(self, trial: FitTrial) -> None:
        self._trial, self._spec = trial, trial.spec
        self._gang = 0 if self._spec.gang is None else self._spec.gang.min
        whole = self._gang > 1 and not trial.held
        self._layout = layout_of(trial.state, trial.subject(trial.shape)) if whole else None

    def most(self) -> int:
        """How many of its tasks could start together in its layout, by capacity alone."""
        if self._layout is None:
            return 0
        arranger = Arranger(self._tiers, self._trial.copies(), self._gang, self._layout)
        return min(arranger.unfit().most, self._gang)

    def waits_for(self) -> str:
        """What a gang waits for though every task by itself has a node; empty where its layout is not the cause."""
        if self._layout is None:
            return ""
        most = self.most()
        if most < self._gang:
            return f"free capacity in the layout it asks for: {most:,} of {self._gang:,} tasks fit"
        if mbps := self._layout.bandwidth_mbps:
            return f"free bandwidth between the nodes with room: each task needs {format_bandwidth(mbps)} to the others"
        return ""

    def candidates(self) -> Iterator[DefinitionChange]:
        if self._layout is None:
            return
        yield from self._fewer(self._layout)
        topology = self._spec.topology
        if topology is not None:
            yield from self._first_fitting(self._wider(topology))
            yield from self._slices(topology)
            yield from self._first_fitting(self._narrower_links(topology))

    @property
    def _tiers(self) -> Tiers:
        assert self._layout is not None
        return self._trial.state.tiers.of(self._layout.levels)

    def _first_fitting(self, changes: Iterator[DefinitionChange]) -> Iterator[DefinitionChange]:
        """From mild to harsh: only the first that helps is of interest."""
        for change in changes:
            try:
                changed, _ = redefined(self._spec, [change])
            except ValueError:  # the definition would contradict itself
                continue
            if self._trial.fits_as(changed):
                yield change
                return

    # --- fewer of them ---------------------------------------------------------------------------------------

    def _fewer(self, layout: Layout) -> Iterator[DefinitionChange]:
        """In whole slices, where there are any."""
        most = self.most()
        if most >= self._gang:
            return
        for count in dict.fromkeys([*(most // size * size for size, _ in layout.slices), most]):
            if count > 0:
                yield fewer_at_once(self._spec, count)

    # --- a wider domain --------------------------------------------------------------------------------------

    def _wider(self, topology: Arrangement) -> Iterator[DefinitionChange]:
        asked, tiers = topology.required, self._tiers
        if asked is None:
            return
        for steps, index in enumerate(range(tiers.at(asked) - 1, -1, -1)):
            level = tiers[index].level
            where = "anywhere" if level == EVERYWHERE else f"in one {level}"
            words = f"place it {where} instead of in one {asked}"
            yield DefinitionChange(words, "topology", 1.3 + 0.2 * steps, self._require(level or None, asked))

    @staticmethod
    def _require(level: str | None, before: str) -> Edit:
        def edit(draft: Draft) -> None:
            topology = draft["topology"]
            topology.setdefault("preferred", before)
            if level is None:
                del topology["required"]
            else:
                topology["required"] = level

        return edit

    # --- slices ----------------------------------------------------------------------------------------------

    def _slices(self, topology: Arrangement) -> Iterator[DefinitionChange]:
        """For each, the mildest change that will do; and if there are several, all of them given up."""
        slices = topology.slices
        for index in range(len(slices)):
            yield from self._first_fitting(self._smaller_slice(slices, index))
            yield from self._first_fitting(self._wider_slice(topology, index))
        if len(slices) > 1:
            none = DefinitionChange("give up its slices", "slices", 2.4, removing("topology", "slices"))
            yield from self._first_fitting(iter([none]))

    @staticmethod
    def _smaller_slice(slices: list[GangSlice], index: int) -> Iterator[DefinitionChange]:
        """Sizes that go with those before and after it, the largest first; in the end none."""
        one, path = slices[index], ("topology", "slices", index)
        outer = slices[index - 1].size if index else None
        inner = slices[index + 1].size if index + 1 < len(slices) else 1
        for size in range(one.size - 1, max(inner, 1), -1):
            if one.size % size == 0 and size % inner == 0 and (outer is None or outer % size == 0):
                words = f"slices of {size} instead of {one.size} within one {one.within}"
                yield DefinitionChange(words, "slices", 1.4, setting(size, *path, "size"))
        yield DefinitionChange(f"give up slices of {one.size} within one {one.within}", "slices", 2.2, removing(*path))

    def _wider_slice(self, topology: Arrangement, index: int) -> Iterator[DefinitionChange]:
        tiers, one = self._tiers, topology.slices[index]
        widest = 0 if topology.required is None else tiers.at(topology.required)
        for at in range(tiers.at(one.within) - 1, widest, -1):
            level = tiers[at].level
            words = f"slices of {one.size} within one {level} instead of one {one.within}"
            yield DefinitionChange(words, "slices", 1.5, setting(level, "topology", "slices", index, "within"))

    # --- links -----------------------------------------------------------------------------------------------

    @staticmethod
    def _narrower_links(topology: Arrangement) -> Iterator[DefinitionChange]:
        asked, path = topology.bandwidth, ("topology", "bandwidth")
        if asked is None:
            return
        for halvings in range(1, _MOST_HALVINGS + 1):
            if mbps := asked >> halvings:
                less = format_bandwidth(mbps)
                words = f"ask for {less} between its tasks instead of {format_bandwidth(asked)}"
                yield DefinitionChange(words, "bandwidth", 1.2 + 0.1 * halvings, setting(less, *path))
        words = f"do without {format_bandwidth(asked)} between its tasks"
        yield DefinitionChange(words, "bandwidth", 2.1, removing(*path))
