"""Relaxed topology requirements for a gang that fits nowhere: candidates, most of them tried already.

The gang may fit in a wider domain, with smaller slices or none, with less bandwidth, or if fewer of its tasks must
start together. Guarantees: only `topology` and the number that start together are changed, and as little as possible:
the narrowest level, the largest slices and the most bandwidth that fit. A level that is no longer required stays
preferred. Left to others: which tasks would have to be preempted (`measures`).
"""

from collections.abc import Callable, Iterator
from typing import Any

from dovetail.engine.gangs.gang_trial import layout_of
from dovetail.engine.gangs.one_by_one import TrialSubject
from dovetail.engine.planning.plan import identity_for
from dovetail.engine.suggestions.changes import DefinitionChange, Draft, fewer_at_once, redefined
from dovetail.engine.suggestions.fit_trial import FitTrial
from dovetail.model.text.quantity import format_bandwidth
from dovetail.placement.gangs.arranger import Arranger
from dovetail.placement.gangs.tiers import EVERYWHERE, Tiers

_MOST_HALVINGS = 6  # of a bandwidth


class LooserLayouts:
    """For one gang, as the cluster is when it is asked."""

    def __init__(self, trial: FitTrial) -> None:
        self._trial, self._spec = trial, trial.spec
        self._gang = 0 if self._spec.gang is None else self._spec.gang.min
        subject = TrialSubject(trial.owner, trial.shape, identity_for(self._spec, trial.shape))
        self._layout = layout_of(trial.state, subject) if self._gang > 1 and not trial.held else None

    @property
    def is_arranged(self) -> bool:
        """Is it placed as a whole, by domains?"""
        return self._layout is not None

    def most(self) -> int:
        """How many of its tasks could start together in its layout, by capacity and the network alone."""
        if self._layout is None:
            return 0
        arranger = Arranger(self._tiers, self._trial.copies(), self._gang, self._layout)
        return min(arranger.unfit().most, self._gang)

    def candidates(self) -> Iterator[DefinitionChange]:
        if self._layout is None:
            return
        yield from self._fewer()
        if self._spec.topology is not None:
            yield from self._first_fitting(self._wider())
            yield from self._slices()
            yield from self._first_fitting(self._narrower_links())

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

    def _fewer(self) -> Iterator[DefinitionChange]:
        """In whole slices, where there are any."""
        most = self.most()
        if most >= self._gang:
            return
        assert self._layout is not None
        sizes = [size for size, _ in self._layout.slices]
        for count in dict.fromkeys([*(most // size * size for size in sizes), most]):
            if count > 0:
                yield fewer_at_once(self._spec, count)

    # --- a wider domain --------------------------------------------------------------------------------------

    def _wider(self) -> Iterator[DefinitionChange]:
        topology, tiers = self._spec.topology, self._tiers
        assert topology is not None
        asked = topology.required
        if asked is None:
            return
        for steps, index in enumerate(range(tiers.at(asked) - 1, -1, -1)):
            level = tiers[index].level
            where = "anywhere" if level == EVERYWHERE else f"in one {level}"
            words = f"let it lie {where} instead of in one {asked}"
            yield DefinitionChange(words, "topology", 1.3 + 0.2 * steps, self._require(level or None, asked))

    @staticmethod
    def _require(level: str | None, before: str) -> Callable[[Draft], None]:
        def edit(draft: Draft) -> None:
            topology = draft["topology"]
            topology.setdefault("preferred", before)
            if level is None:
                del topology["required"]
            else:
                topology["required"] = level

        return edit

    # --- slices ----------------------------------------------------------------------------------------------

    def _slices(self) -> Iterator[DefinitionChange]:
        """For each, the mildest change that will do; and if there are several, all of them given up."""
        topology = self._spec.topology
        assert topology is not None
        for index in range(len(topology.slices)):
            yield from self._first_fitting(self._smaller_slice(index))
            yield from self._first_fitting(self._wider_slice(index))
        if len(topology.slices) > 1:
            yield from self._first_fitting(
                iter([DefinitionChange("give up its slices", "slices", 2.4, _without_slices)])
            )

    def _smaller_slice(self, index: int) -> Iterator[DefinitionChange]:
        """Sizes that go with those before and after it, the largest first; in the end none."""
        topology = self._spec.topology
        assert topology is not None
        slices, one = topology.slices, topology.slices[index]
        outer = slices[index - 1].size if index else None
        inner = slices[index + 1].size if index + 1 < len(slices) else 1
        for size in range(one.size - 1, max(inner, 1), -1):
            if one.size % size == 0 and size % inner == 0 and (outer is None or outer % size == 0):
                words = f"slices of {size} instead of {one.size} within one {one.within}"
                yield DefinitionChange(words, "slices", 1.4, _set_slice(index, "size", size))
        yield DefinitionChange(
            f"give up slices of {one.size} within one {one.within}", "slices", 2.2, _drop_slice(index)
        )

    def _wider_slice(self, index: int) -> Iterator[DefinitionChange]:
        topology, tiers = self._spec.topology, self._tiers
        assert topology is not None
        one = topology.slices[index]
        widest = 0 if topology.required is None else tiers.at(topology.required)
        for at in range(tiers.at(one.within) - 1, widest, -1):
            words = f"slices of {one.size} within one {tiers[at].level} instead of one {one.within}"
            yield DefinitionChange(words, "slices", 1.5, _set_slice(index, "within", tiers[at].level))

    # --- links -----------------------------------------------------------------------------------------------

    def _narrower_links(self) -> Iterator[DefinitionChange]:
        topology = self._spec.topology
        assert topology is not None
        asked = topology.bandwidth
        if asked is None:
            return
        for halvings in range(1, _MOST_HALVINGS + 1):
            mbps = asked >> halvings
            if mbps:
                words = f"ask for {format_bandwidth(mbps)} between its tasks instead of {format_bandwidth(asked)}"
                yield DefinitionChange(words, "bandwidth", 1.2 + 0.1 * halvings, _set_bandwidth(mbps))
        words = f"do without {format_bandwidth(asked)} between its tasks"
        yield DefinitionChange(words, "bandwidth", 2.1, _without_bandwidth)


def _set_slice(index: int, field: str, value: Any) -> Callable[[Draft], None]:
    def edit(draft: Draft) -> None:
        slices = [dict(one) for one in draft["topology"]["slices"]]
        slices[index][field] = value
        draft["topology"]["slices"] = slices

    return edit


def _drop_slice(index: int) -> Callable[[Draft], None]:
    def edit(draft: Draft) -> None:
        slices = draft["topology"]["slices"]
        draft["topology"]["slices"] = [one for at, one in enumerate(slices) if at != index]
        _keep_sense(draft)

    return edit


def _without_slices(draft: Draft) -> None:
    draft["topology"]["slices"] = []
    _keep_sense(draft)


def _set_bandwidth(mbps: int) -> Callable[[Draft], None]:
    def edit(draft: Draft) -> None:
        draft["topology"]["bandwidth"] = format_bandwidth(mbps)

    return edit


def _without_bandwidth(draft: Draft) -> None:
    del draft["topology"]["bandwidth"]
    _keep_sense(draft)


def _keep_sense(draft: Draft) -> None:
    """A layout that says nothing any more is none."""
    topology = draft["topology"]
    if not topology.get("slices"):
        topology.pop("slices", None)
    if not topology:
        del draft["topology"]
