"""Counting bumps while a run trains, without keeping its alignments.

The definition is that of `foretrain.quantities.bumps`. A maximum has a prominence of at least h if and only if the curve
climbs by h to it from a valley before and falls by h after it, before rising above it: so one passage suffices that
remembers, for every target and component, whether the curve was last seen to climb or to fall, the extreme since then,
and the heights of the maxima passed. Whether a bump was given up is decided at the end.

Written against the array API for one run; jit and vectorise at will. Every state is finite.
"""

from typing import Any, NamedTuple

from foretrain.quantities.alignment import ENDS_ON, NO_TARGET

SLOTS = 4
_NOTHING = -2.0  # below every alignment


class BumpCounter(NamedTuple):
    """Memory of the alignments seen so far.

    `climbing`, (target, component), is True where the last change by h was upwards; `extreme`, of the same shape, is the
    largest alignment of the climb, or the least of the fall; `heights`, (slot, target, component), are those of the first
    maxima, -2 where there is none (a fifth maximum of one curve is not counted); `first_target`, (component,), is the target
    with which the component first was aligned, or `NO_TARGET`.
    """

    climbing: Any
    extreme: Any
    heights: Any
    first_target: Any


def start(alignments) -> BumpCounter:
    """A counter that has seen one alignment matrix, shape (target, component)."""
    space = alignments.__array_namespace__()
    no_heights = space.full((SLOTS, *alignments.shape), _NOTHING, dtype=alignments.dtype)
    nowhere = space.full(alignments.shape[1:], NO_TARGET, dtype=space.int32)
    return BumpCounter(alignments != alignments, alignments, no_heights, nowhere)


def update(counter: BumpCounter, alignments, prominence, aligned_at) -> BumpCounter:
    """The counter after the next alignment matrix.

    Args:
        counter: From `start` or `update`.
        alignments: Shape (target, component).
        prominence: h > 0, a scalar; may be traced.
        aligned_at: The alignment from which a component counts as aligned with a target.
    """
    space = alignments.__array_namespace__()
    climbing, extreme, heights, first = counter
    passed = climbing & (alignments <= extreme - prominence)
    turned = ~climbing & (alignments >= extreme + prominence)
    # The first free slot, for the curves whose maximum has just been passed.
    used = space.sum(heights > _NOTHING, axis=0)
    slots = space.reshape(space.arange(SLOTS), (SLOTS, 1, 1))
    heights = space.where(passed & (slots == used), extreme, heights)
    since = space.where(
        climbing, space.maximum(extreme, alignments), space.minimum(extreme, alignments)
    )
    extreme = space.where(passed | turned, alignments, since)
    reached = (first == NO_TARGET) & (space.max(alignments, axis=0) >= aligned_at)
    nearest = space.argmax(alignments, axis=0).astype(first.dtype)
    return BumpCounter(
        (climbing | turned) & ~passed, extreme, heights, space.where(reached, nearest, first)
    )


def bumps_at_end(counter: BumpCounter, alignments, prominence):
    """Bumps of each component on each target, shape (target, component), if training ends at the alignments seen last."""
    space = alignments.__array_namespace__()
    best = space.max(alignments, axis=0)
    ends_on = (alignments == best) & (best >= ENDS_ON)
    given_up = (counter.heights > _NOTHING) & (counter.heights >= alignments + prominence)
    return space.sum(given_up & ~ends_on, axis=0)
