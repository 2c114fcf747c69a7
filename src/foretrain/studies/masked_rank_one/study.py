"""The simple case of shared representations: a masked rank-one fit escapes from small weights, in closed form."""

from dataclasses import dataclass

from foretrain.study import TIME_UNIT, Seed, argument_error, choice, declare, generator, parameter
from foretrain.tasks import masks
from foretrain.training import masked_rank_one as flight

SOURCE = "Note on shared representations, section 3"
COST = "30 s"
REFERENCES = ("saxe2022",)
SEEDS = 400
AXES = {"init_scale": (0.3, 0.1, 1e-2, 1e-3, 1e-4, 1e-6, 1e-8)}
PRESETS = {
    "paper": {
        "trained_fraction": (0.3, 0.5),
        "init_scale": (0.3, 0.1, 0.03, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8),
        "seeds": 500,
    }
}


# Sparse masks have half as many output domains again as inputs; the outputs of an input are on average some number of these.
DEGREES = (0.5, 4.0)
SPARSE_SEEDS = 100
LIMIT = 1e-32  # stands for the limit of small weights


@dataclass(frozen=True)
class Parameters(flight.Domains):
    """The flow on a random mask."""

    mask: str = choice(
        "law of the mask: nested (square, with its diagonal), or sparse (half as many outputs again, independent pairs, on "
        "average a half to four outputs of an input)",
        ("nested", "sparse"),
        sweepable=False,  # the variants, and what is judged, depend on it
    )
    trained_fraction: float = parameter(
        0.4,
        "fraction of all pairs that is trained: the diagonal, then others at random, nested",
        above=0,
        maximum=1,
    )


declare(kind="bool", turns="Whether s changes sign in the linearised flow.")
declare(unit=TIME_UNIT, blow_up_time="Time to infinite S in the linearised flow.")
declare("step", early_scale="s of the linearised flow at the run's S.")
declare(
    "step mode",
    early_mode_amplitude="Amplitude of each mode in the linearised flow at the run's S.",
)
declare(
    "stage",
    stage_deviation="Largest relative deviation of u, v and s from the linearised flow at the run's S, at a stage.",
    stage_time_deviation="Relative deviation of the time at a stage from t(S) of the linearised flow.",
    stage_neglected="Spectral norm of (s u v^T) o T, which the linearised flow leaves out, over that of T, at a stage.",
    stage_second_mode="Amplitude of the second singular mode of the mask over that of the first, at a stage.",
)

program, labels, estimate = flight.program, flight.labels, flight.estimate


def check(p: Parameters) -> None:
    if p.trained_fraction * p.domains < 1:
        rule = f"be at least 1 / `domains` = {1 / p.domains:g}, the diagonal"
        raise argument_error("trained_fraction", rule, f"is {p.trained_fraction:g}")
    flight.check_precision(p)


def variants(p: Parameters) -> dict[str, dict]:
    """Return networks on sparse, rectangular masks, most of which fall into components, also from weights in the limit."""
    if p.mask == "sparse":
        return {}
    any_mask = {"mask": "sparse", "trained_fraction": 0.4, "seeds": SPARSE_SEEDS}
    return {"sparse": any_mask, "limit": {**any_mask, "init_scale": LIMIT, "steps": 4000}}


def drawn(p: Parameters, seed: Seed) -> flight.Draw:
    """Mask and unit start of one seed; a sparse mask has half as many outputs again as inputs."""
    random, outputs = generator(seed, "mask"), p.domains
    if p.mask == "sparse":
        outputs += p.domains // 2
        trained = masks.sparse(p.domains, outputs, min(random.uniform(*DEGREES), outputs), random)
    else:
        trained = masks.nested(p.domains, round(p.trained_fraction * p.domains**2), random)
    return flight.Draw(trained.astype(float), *flight.unit_start(p.domains, seed, outputs))


def inputs(p: Parameters, seed: Seed) -> dict:
    return flight.flight_inputs(drawn(p, seed), p.init_scale)
