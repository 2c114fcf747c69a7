"""What the thread says of bumps, of competition and of where components end, and whether it is so.

Training in a cell is stable where no run diverged and half of the runs leave at most a percent of the loss and never rise
again by more than a tenth of it; sentences that name no learning rate are judged over all stable rates of an optimizer.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.stats import beta

from foretrain.claims.allowed import ALWAYS, NEGATIVE, POSITIVE
from foretrain.claims.sentence import PerSeed, sentence
from foretrain.measures import competition
from foretrain.measures.plateaus import plateau_strengths, plateaus_of_runs
from foretrain.measures.stability import is_stable
from foretrain.plans.grid import Grid
from foretrain.studies.bumps.study import Parameters
from foretrain.training.factorization import NO_PLATEAU, PLATEAU, THREAD, by_strength
from foretrain.vocabulary import DIVERGED

OURS = "docs/studies/bumps.md"
CLOSE = 0.8  # alignment of a component that is primarily one target: cosines of .9
FLOOR = 1e-4  # of the first loss: runs end there
FAST = 5.0  # relative rate of Adam from which its loss stops falling and oscillates
FIRST = 5  # steps in which Adam moves an entry by half of what it ends at, at the reference rate
FEWEST = 6  # runs from which a mean over some of them is judged

STABLE: dict[str, Any] = {"among": "runs at stable learning rates"}
RATES: dict[str, Any] = {"over": ("relative_rate",), **STABLE}
STARTS: dict[str, Any] = {"over": ("init_scale", "relative_rate"), **STABLE}
OPTIMIZERS: dict[str, Any] = {"over": ("optimizer", "relative_rate"), **STABLE}
ALL: dict[str, Any] = {"over": ("optimizer", "init_scale", "relative_rate"), **STABLE}


def losses(cell: Grid, name: str = "loss") -> np.ndarray:
    """A curve of every run, shape (seed, step)."""
    return cell.simulation[name].transpose("seed", "step").values


def stable(cell: Grid) -> bool:
    """Whether training in this cell was stable."""
    curves = losses(cell, "relative_loss")
    there = np.isfinite(curves[:, 0])
    diverged = (cell.simulation["outcome"].values == DIVERGED).any()
    return bool(there.any() and not diverged) and is_stable(curves[there])


def calm(cell: Grid, **wanted) -> list[Grid]:
    """The cells along the axes that are left in which training was stable and parameters are these."""
    return [
        one
        for one in cell.cells()
        if all(getattr(one.parameters, name) == value for name, value in wanted.items())
        and stable(one)
    ]


def per_component(cell: Grid, name: str, variant: str = "") -> np.ndarray:
    """A variable along (seed, component), without the padding of cells with fewer components."""
    values = cell.network(variant)[name].transpose("seed", "component").values
    count = 2 if variant else cell.parameters.components or cell.parameters.rank
    return values[:, : min(count, values.shape[1])]


def first_and_bumps(cell: Grid, variant: str = "", bumps: str = "component_bumps") -> tuple:
    """First targets and bumps of the components of every run, shape (seed, component) each."""
    return per_component(cell, "first_target", variant), per_component(cell, bumps, variant)


def bumps(cell: Grid) -> np.ndarray:
    """Bumps per tracked component of every run, shape (seed,)."""
    return per_component(cell, "component_bumps").mean(1)


def mean(cells: list[Grid], function: Callable[[Grid], np.ndarray]) -> np.ndarray:
    """Per seed the mean over cells of what `function` gives per seed; nan where no cell gives a number."""
    return competition.mean_over_cells([function(cell) for cell in cells] or [[np.nan]])


def proportion(cells: list[Grid], function: Callable[[Grid], np.ndarray]) -> np.ndarray:
    """The same of proportions; where they are all 0 or all 1, which has no spread, as booleans: then seeds are counted."""
    found = mean(cells, function)
    known = found[np.isfinite(found)]
    return known == 1 if known.size and known[0] in (0, 1) and (known == known[0]).all() else found


def rates(cells: list[Grid]) -> str:
    """The learning rates of these cells, for a note."""
    found = dict.fromkeys(f"{cell.parameters.relative_rate:g}" for cell in cells)
    return f"relative rates {', '.join(found) or 'none'}"


def _sides(cell: Grid, **wanted) -> Any:
    """Bumps per component of descent and of Adam, per seed, with a note; None if one of them is not in the grid."""
    if not {"sgd", "adam"} <= set(cell.values("optimizer")):
        return None
    sides = [calm(cell, optimizer=name, **wanted) for name in ("sgd", "adam")]
    sgd, adam = (mean(side, bumps) for side in sides)
    note = f"Adam at {rates(sides[1])}, descent at {rates(sides[0])}."
    return sgd, adam, note


def _adam_more(cell, **wanted):
    found = _sides(cell, **wanted)
    return found and PerSeed(found[1] - found[0], found[2])


MORE: dict[str, Any] = {
    "why": "More, or fewer, by whatever the seeds establish.",
    "note": "Bumps per component, Adam minus descent, paired by seed.",
    **OPTIMIZERS,
}


@sentence("Adam makes more bumps than gradient descent.", source=THREAD, allowed=POSITIVE, **MORE)
def adam_more_bumps(cell):
    return _adam_more(cell)


@sentence(
    "With many components and a start smaller than the target descent makes more.",
    source=OURS,
    allowed=NEGATIVE,
    corrects="adam-more-bumps",
    **MORE,
)
def adam_more_bumps_corrected(cell):
    p = cell.parameters
    return _adam_more(cell) if 2 < p.rank < p.dimension and p.init_scale < 1 else None


@sentence(
    "At full rank hardly anything bumps under either.",
    source=OURS,
    allowed=(-np.inf, 0.1),
    why="Hardly: one component in ten.",
    corrects="adam-more-bumps",
    id="adam-more-bumps.full-rank",
    note="The larger of the two means of bumps.",
    **OPTIMIZERS,
)
def adam_more_bumps_full_rank(cell):
    found = _sides(cell) if cell.parameters.rank >= cell.parameters.dimension else None
    return found and PerSeed(found[int(found[1].mean() > found[0].mean())], found[2])


@sentence(
    "At the reference rates Adam makes more bumps than gradient descent.",
    source=THREAD,
    allowed=POSITIVE,
    **MORE,
)
def adam_more_bumps_reference(cell):
    return _adam_more(cell, relative_rate=1.0)


@sentence(
    "At the reference rates two components have as many bumps under either.",
    source=OURS,
    predicted=0,
    allowed=(-0.15, 0.15),
    corrects="adam-more-bumps-reference",
    id="adam-more-bumps-reference.rank-2",
    **dict(MORE, why="As many: within a third of their number, .45."),
)
def adam_more_bumps_reference_rank_2(cell):
    return _adam_more(cell, relative_rate=1.0) if cell.parameters.rank == 2 else None


@sentence(
    "Which optimizer makes more bumps does not hang on the prominence that makes a bump.",
    source=OURS,
    allowed=POSITIVE,
    why="The sign alone is asked for.",
    over=("optimizer", "relative_rate", "prominence"),
    note="Bumps per component, Adam minus descent, times the sign of that at the default prominence, at the prominence "
    "where that is least.",
    **STABLE,
)
def counts_robust(cell):
    usual, swept = Parameters().prominence, cell.values("prominence")
    if usual not in swept or len(swept) < 2:
        return None
    found = {height: _sides(cell, prominence=height) for height in swept}
    if None in found.values():
        return None
    differences = {height: adam - sgd for height, (sgd, adam, _) in found.items()}
    sign = np.sign(np.nansum(differences.pop(usual)))
    height = min(differences, key=lambda height: sign * np.nansum(differences[height]))
    return PerSeed(sign * differences[height], f"Least at {height:g}; {found[height][2]}")


@sentence(
    "The number of bumps varies significantly by random seed.",
    source=THREAD,
    allowed=(0.0625, np.inf),
    why="Significantly: a standard deviation of at least a quarter of the mean.",
    note="Variance over seeds of bumps per component over its squared mean, at the reference rates, where there are .05 "
    "or more.",
    **ALL,
)
def varies_by_seed(cell):
    # With less than a bump in twenty components the variance over the squared mean says only that bumps are rare.
    samples = [found for found in map(bumps, calm(cell, relative_rate=1.0)) if found.mean() >= 0.05]
    deviations = [(found / found.mean() - 1) ** 2 for found in samples]
    return np.mean(deviations, 0) if samples else None


@sentence(
    "At rank two bumps do not happen in all cases but are relatively common.",
    source=THREAD,
    allowed=(0.25, 0.75),
    why="Between a quarter of the runs and three quarters.",
    note="Fraction of runs with a bump.",
    **STARTS,
)
def common_at_rank_2(cell):
    of = calm(cell) if cell.parameters.rank == 2 else None
    return None if of is None else proportion(of, lambda one: np.where(bumps(one) > 0, 1.0, 0.0))


def random_mixture(rank: int) -> float:
    """How often a component of a Haar-random mixture of that many orthogonal targets is primarily one of them.

    The squared entries of a column are Beta(1/2, (r - 1)/2), of which at most one exceeds `CLOSE` > 1/2.
    """
    return float(rank * beta.sf(CLOSE, 0.5, (rank - 1) / 2))


def _as_mixed(cell):
    mixed = random_mixture(cell.parameters.rank)
    return (mixed - 0.1, mixed + 0.1) if cell.parameters.rank == 2 else (-np.inf, 0.01)


CLOSE_NOTE = "Fraction of components with final alignment of .8 or more."


@sentence(
    "Usually each vector grows primarily towards one target.",
    source=THREAD,
    allowed=(0.75, np.inf),
    why="Primarily: an alignment of at least .8 (cosines of .9). Usually: three components in four.",
    note=CLOSE_NOTE,
    **ALL,
)
def one_target(cell):
    if cell.parameters.rank not in (2, 10):
        return None
    return proportion(
        calm(cell), lambda one: (per_component(one, "final_alignment") >= CLOSE).mean(1)
    )


one_target_corrected = sentence(
    "A component is as close to a target as a uniformly random orthogonal mixture of all targets.",
    source=OURS,
    predicted=lambda cell: random_mixture(cell.parameters.rank),
    allowed=_as_mixed,
    why="Two targets: one component in ten more or fewer. Many targets: next to none, as the mixture has.",
    corrects="one-target",
    note=CLOSE_NOTE,
    **ALL,
)(one_target.measure)


def _changes(cell, name):
    """Whether the second component's target changes when its starting overlaps do, at most of the stable rates."""
    of = calm(cell) if cell.parameters.rank == 2 and "exchanged" in cell.variants else None
    if of is None:
        return None
    pairs = lambda one: [per_component(one, name, variant)[:, 1] for variant in ("", "exchanged")]  # noqa: E731
    share = mean(of, lambda one: np.not_equal(*pairs(one)).astype(float))
    return np.where(np.isfinite(share), share > 0.5, np.nan)


SYMMETRY = {
    "predicted": 1,
    "allowed": ALWAYS,
    "why": "Nine in ten: overlaps that are nearly equal may be overtaken.",
    "statistic": "fraction",
    "of": ("", "exchanged"),
    "note": "Fraction of pairs of runs in which the second component's target changes when its overlaps do.",
    **STARTS,
}


@sentence(
    "Which of two targets a component ends on is a matter of symmetry breaking: with its starting overlaps exchanged it "
    "ends on the other.",
    source=THREAD,
    **SYMMETRY,
)
def which_target(cell):
    return _changes(cell, "final_target")


@sentence(
    "With its starting overlaps exchanged a component first aligns with the other of two targets.",
    source=OURS,
    corrects="which-target",
    **SYMMETRY,
)
def which_target_corrected(cell):
    return _changes(cell, "first_target") if cell.parameters.optimizer.startswith("sgd") else None


AS_PREDICTED = (
    "Fraction of components whose first target is that of the largest |a.x + b.y| at the start."
)


@sentence(
    "The start decides: a component first aligns with the target on which its growing overlap is largest.",
    source=OURS,
    predicted=1,
    allowed=(0.9, np.inf),
    why="Nine in ten: overlaps that are nearly equal may be overtaken while they are small.",
    note=AS_PREDICTED,
    **RATES,
)
def which_target_start(cell):
    if cell.parameters.rank != 2:
        return None
    return proportion(calm(cell), _as_predicted)


def _as_predicted(cell):
    found = per_component(cell, "first_target")
    predicted = cell.theory["first_target"].transpose("seed", "component").values
    return (found == predicted[:, : found.shape[1]]).mean(1)


@sentence(
    "Under Adam, too, the start decides more often than chance would.",
    source=OURS,
    allowed=(0.625, np.inf),
    why="Nearer to three in four than to chance, one half.",
    corrects="which-target-start",
    note=AS_PREDICTED,
    **RATES,
)
def which_target_start_corrected(cell):
    adam = cell.parameters.optimizer.startswith("adam")
    return which_target_start.measure(cell) if adam else None


SHARED = "Fraction that shared, of all components with a bump minus of all components; spread over runs to first order."


@sentence(
    "Bumps occur where two components first align with one target.",
    source=THREAD,
    predicted=1,
    allowed=(0.9, np.inf),
    why='"Is a sign of": nine bumps in ten.',
    note="Fraction of components with a bump that shared their first target.",
    **STARTS,
)
def bumps_need_competition(cell):
    if cell.parameters.rank not in (2, 10):
        return None
    of = calm(cell)
    shares = mean(of, lambda one: competition.shares_first_target(first_and_bumps(one)[0]).mean(1))
    found = proportion(of, lambda one: competition.sharing_of_bumped(*first_and_bumps(one)))
    return PerSeed(found, f"Of all components {np.nanmean(shares):.2f} do." if of else "")


def _excess(cell, rank):
    if cell.parameters.rank != rank:
        return None
    return mean(calm(cell), lambda one: competition.excess_sharing_of_bumped(*first_and_bumps(one)))


@sentence(
    "At rank two components with a bump share their first target more often than all do, but by far not always.",
    source=OURS,
    allowed=(1e-9, 0.4),
    why="Half of all components share: always would be .5 more.",
    corrects="bumps-need-competition",
    note=SHARED,
    **STARTS,
)
def bumps_need_competition_corrected(cell):
    return _excess(cell, 2)


@sentence(
    "At rank ten components with a bump share their first target little more often than all components do.",
    source=OURS,
    allowed=(-0.15, 0.15),
    why="Half of all components share: always would be .5 more. Little: less than a third of that.",
    corrects="bumps-need-competition",
    id="bumps-need-competition.rank-10",
    note=SHARED,
    **STARTS,
)
def bumps_need_competition_rank_10(cell):
    return _excess(cell, 10)


CONTESTED = "Fraction of targets first aligned with by two or more components, on which one of these at least has a bump."


@sentence(
    "If two components grow towards the same target, one of them has to back off.",
    source=THREAD,
    predicted=1,
    allowed=(0.9, np.inf),
    why='"Has to": nine targets in ten.',
    note=CONTESTED,
    **RATES,
)
def competition_makes_bumps(cell):
    if cell.parameters.rank not in (2, 10):
        return None
    return proportion(
        calm(cell),
        lambda one: competition.backed_off(*first_and_bumps(one, bumps="first_target_bumps")),
    )


@sentence(
    "If two components grow from small starts towards the same target, one of them usually backs off.",
    source=OURS,
    allowed=(0.5, np.inf),
    why="Usually: more often than not.",
    corrects="competition-makes-bumps",
    note=CONTESTED,
    **RATES,
)
def competition_makes_bumps_corrected(cell):
    return competition_makes_bumps.measure(cell) if cell.parameters.init_scale < 1 else None


@sentence(
    "Whether two components first align with one target makes the difference between bump and no bump.",
    source=THREAD,
    predicted=1,
    allowed=(0.5, np.inf),
    why="The conjecture is one bump more in every pair; half of that is most of the difference.",
    of=("", "exchanged"),
    note="Bumps of a run with a shared first target minus those of its partner without, the second component's overlaps "
    "with the two targets exchanged; pairs in which that decides, rank two.",
    **STARTS,
)
def competition_matched(cell):
    if cell.parameters.rank != 2 or "exchanged" not in cell.variants:
        return None
    return mean(calm(cell), _exchange_effect)


def _exchange_effect(cell):
    pair = (*first_and_bumps(cell), *first_and_bumps(cell, "exchanged"))
    return np.subtract(*competition.matched_bumps(*pair))


competition_matched_corrected = sentence(
    "Sharing a first target makes about half a bump more per pair.",
    source=OURS,
    predicted=0.5,
    allowed=(0.25, 0.75),
    why="Half a bump, by half of that.",
    corrects="competition-matched",
    of=("", "exchanged"),
    **STARTS,
)(competition_matched.measure)


@sentence(
    "At rank ten, too, components that share their first target have more bumps than those that do not.",
    source=THREAD,
    allowed=POSITIVE,
    why="More: any positive difference.",
    note="Bumps per component, sharing minus not, within a run.",
    **STARTS,
)
def competition_within(cell):
    if cell.parameters.rank != 10:
        return None
    return mean(calm(cell), lambda one: competition.extra_bumps_of_sharing(*first_and_bumps(one)))


def strengths(cell: Grid, floor: float = FLOOR) -> np.ndarray:
    """How strong each run's strongest plateau above that fraction of its first loss is, shape (seed,)."""
    return plateau_strengths(cell.simulation["step"].values, losses(cell), floor=floor)


def full(cell: Grid, optimizer: str) -> bool:
    """Whether the target has full rank and this optimizer trains."""
    p = cell.parameters
    return p.rank >= p.dimension and p.optimizer == optimizer


@sentence(
    "At full rank gradient descent has no plateau.",
    **by_strength(THREAD, NO_PLATEAU, **STABLE),
)
def low_rank_needed(cell):
    return strengths(cell) if full(cell, "sgd") and stable(cell) else None


@sentence(
    "From starts smaller than the target descent has a plateau at full rank, too.",
    **by_strength(OURS, PLATEAU, corrects="low-rank-needed", **STABLE),
)
def low_rank_needed_corrected(cell):
    return low_rank_needed.measure(cell) if cell.parameters.init_scale < 1 else None


@sentence(
    "Under Adam the full-rank case regains a plateau.",
    **by_strength(THREAD, PLATEAU),
)
def adam_full_rank_plateau(cell):
    return strengths(cell) if full(cell, "adam") else None


@sentence(
    "From a start of the target's size Adam has no plateau at full rank above a tenth of the loss.",
    **by_strength(OURS, NO_PLATEAU, corrects="adam-full-rank-plateau"),
)
def adam_full_rank_plateau_corrected(cell):
    large = full(cell, "adam") and cell.parameters.init_scale >= 1
    return strengths(cell, 0.1) if large else None


@sentence(
    "From a start smaller than the target Adam has a weak plateau at full rank above a tenth of the loss.",
    **by_strength(
        OURS,
        (1.5, 5),
        corrects="adam-full-rank-plateau",
        id="adam-full-rank-plateau.small-start",
        why="Weak: it is found at some settings of a counter (1.5 to 4) and hardly at the strictest.",
    ),
)
def adam_full_rank_plateau_small_start(cell):
    small = full(cell, "adam") and cell.parameters.init_scale < 1
    return strengths(cell, 0.1) if small else None


def plateaus(cell: Grid) -> list:
    """The plateaus of every run that any usual counter finds; None for a run that diverged."""
    step = cell.simulation["step"].values
    return plateaus_of_runs(step, losses(cell), floor=FLOOR, acceleration=NO_PLATEAU[1])


@sentence(
    "What fast Adam has of plateaus at full rank past its first steps lies at two percent of the loss or below.",
    source=OURS,
    allowed=(-np.inf, 0.02),
    why="Two percent of |C|^2: hidden in a figure of the whole curve.",
    among="runs with a plateau past step 5",
    note="Loss over that of the zero matrix at the highest plateau past step 5.",
)
def adam_plateau_late(cell):
    if not full(cell, "adam") or cell.parameters.relative_rate < FAST:
        return None
    highest = [
        max((one.loss for one in found or () if one.end > FIRST), default=np.nan)
        for found in plateaus(cell)
    ]
    return np.array(highest) * losses(cell, "relative_loss")[:, 0] / losses(cell)[:, 0]


ON_ADAM = "Bumps per component at full rank under Adam."


@sentence(
    "The plateau at full rank corresponds to a period with a lot of bump formation.",
    source=THREAD,
    allowed=(0.5, np.inf),
    why="A lot: a bump for every second component.",
    note=ON_ADAM,
)
def adam_full_rank_bumps(cell):
    return bumps(cell) if full(cell, "adam") else None


@sentence(
    "Next to nothing bumps at full rank under Adam where it does not jump up again.",
    source=OURS,
    allowed=(-np.inf, 0.1),
    why="Next to nothing is less than one component in ten.",
    corrects="adam-full-rank-bumps",
    note=ON_ADAM,
)
def adam_full_rank_bumps_corrected(cell):
    slow = cell.parameters.relative_rate <= FAST
    return adam_full_rank_bumps.measure(cell) if slow else None


@sentence(
    "Where Adam jumps up again bumps form, fewer than one for every second component.",
    source=OURS,
    allowed=(0.1, 0.5),
    why='Some, but less than "a lot".',
    corrects="adam-full-rank-bumps",
    id="adam-full-rank-bumps.fast",
    note=ON_ADAM,
)
def adam_full_rank_bumps_fast(cell):
    return adam_full_rank_bumps.measure(cell) if cell.parameters.relative_rate > FAST else None


@sentence(
    "More maxima of alignments are passed on the plateau than its share of the logarithm of time.",
    source=THREAD,
    allowed=POSITIVE,
    why='"A period with a lot of formation": more than its share.',
    among="runs with a plateau and a maximum, where these are six or more",
    note="Share of maxima passed on a plateau minus its share of log time; a maximum counts once the alignment has "
    "fallen by the prominence.",
)
def plateau_forms_bumps(cell):
    if not full(cell, "adam"):
        return None
    excess = formation_on_plateaus(cell)
    return excess if np.isfinite(excess).sum() >= FEWEST else None


def formation_on_plateaus(cell: Grid) -> np.ndarray:
    """Per seed the share of maxima passed on plateaus minus their share of log time; nan without either."""
    step = cell.simulation["step"].values.astype(float)
    passed = losses(cell, "maxima_passed")
    excess = np.full(len(passed), np.nan)
    for run, found in enumerate(plateaus(cell)):
        kept = np.isfinite(passed[run])
        if not found or not passed[run][kept][-1] > 0:
            continue
        times, counts = step[kept], passed[run][kept]
        ends = np.clip([(one.start, one.end) for one in found], times[1], None)
        formed = np.diff(np.interp(ends, times, counts)).sum() / counts[-1]
        excess[run] = formed - np.diff(np.log(ends)).sum() / np.log(times[-1] / times[1])
    return excess
