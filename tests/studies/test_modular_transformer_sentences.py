"""Every sentence on runs that no network made: circles that grow out of noise, and what spoils them."""

from dataclasses import replace

import numpy as np
from made_up import check, runs, verdicts

from foretrain.plans.grid import Grid
from foretrain.studies.modular_transformer import study
from foretrain.training import transformer

P = study.Parameters()
AXES = {"decoder_learning_rate": (0.001, 0.003, 0.01), "decoder_decay": (0.0, 0.3, 1.0, 3.0)}
LEAD, SEEDS = (3, 4), 8
STEPS = np.arange(0, P.steps + 1, P.observe_every)
TIMES = transformer.snapshot_steps(P).astype(float)
FIT, GENERALISED, END = 50.0, 1800.0, 3600.0
TIMES[TIMES > END] = np.nan
LAST = int(np.isfinite(TIMES).sum()) - 1
TIMES[LAST] = END
RANKS = transformer.ranks(P)
COMPREHENSION, GROKKING, MEMORIZATION = 0.0, 1.0, 2.0


def grown(circle=1.0, early=0.0, told=0.0, swapped=False):
    """Embeddings of every seed at every snapshot, (seed, snapshot, symbol, coordinate).

    Args:
        circle: How much of one frequency there is at the end.
        early: How much of it when the training set is fitted.
        told: How much of it the start already has on the axes of the end.
        swapped: Whether every start has the circles of all other seeds, and none on the axes of its own end.
    """
    random = np.random.default_rng(0)
    start = random.standard_normal((SEEDS, P.symbols, P.embedding_dim))
    angle = 2 * np.pi * 3 * np.arange(P.symbols) / P.symbols
    polygon = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    plane = np.linalg.qr(random.standard_normal((SEEDS, P.embedding_dim, 2)))[0].swapaxes(1, 2)
    seen = np.eye(P.embedding_dim) - plane.swapaxes(1, 2) @ plane
    fresh = random.standard_normal((SEEDS, P.symbols, 2))
    start = start @ seen + (fresh + told * polygon) @ plane
    if swapped:
        start = start + 6.0 * (polygon @ plane).sum(0) @ seen
    size = np.where(TIMES >= GENERALISED, 20.0 * circle, 20.0 * early)[:, None, None]
    moved = (
        size * (polygon @ plane)[:, None]
        + 15.0
        * (1 - circle)
        * random.standard_normal((SEEDS, 1, P.symbols, P.embedding_dim))
        * (TIMES >= GENERALISED)[:, None, None]
    )
    every = start[:, None] + np.where((TIMES > 0)[:, None, None], moved, 0)
    return np.where(np.isfinite(TIMES)[:, None, None], every, np.nan)


GROWN = grown()


def grid(
    embedding=GROWN,
    peak=GENERALISED,
    dimension=4.0,
    final=0.9,
    enough=4,
    phase=None,
    steps=None,
    dropout=COMPREHENSION,
    toys=None,
    wide=None,
    narrow=None,
    decaying=1.05,
    delay=P.delay,
):
    """Runs that grok, sooner with decay, in a map in which grokking borders memorisation; no other but wide ones gain."""
    rising = 12 + np.minimum(STEPS / peak, 1)
    falling = np.where(STEPS > peak, np.linspace(0, 13 - dimension, len(STEPS)), 0)
    curve = np.where(STEPS <= END, rising - falling, np.nan)
    usual = np.array([GROKKING, GROKKING, GROKKING, MEMORIZATION])
    phase = np.array([usual, usual, usual]) if phase is None else phase
    helped = np.array([np.nan, GENERALISED, GENERALISED, GENERALISED])
    same = np.array([2000.0, 1900.0, 1800.0, 2100.0])
    accuracy = np.empty((len(TIMES), 3, len(RANKS)))
    accuracy[:, 0], accuracy[:, 1], accuracy[:, 2] = final, 0.5, 0.1
    accuracy[LAST, 0] = np.where(RANKS >= enough, 0.95, 0.3)
    labels = {name: (name, values) for name, values in transformer.labels(P).items()}

    def laid(found, **more):
        found = np.broadcast_to(found, LEAD)[..., None]
        variables = {"validation_step": found, "train_step": FIT, "loss": 1 / (1 + STEPS), **more}
        noise = 1 + 0.01 * np.arange(SEEDS)[:, None]
        variables["loss"] = variables["loss"] * noise
        return runs(AXES, SEEDS, variables, step=STEPS, labels=labels)

    def either(found, usual):
        return usual if found is None else found

    main = laid(
        either(steps, helped),
        phase=phase[..., None],
        effective_dimension=curve,
        snapshot_step=TIMES,
        snapshot_embedding=embedding,
        projected_accuracy=accuracy,
    )
    # Where circles are asked about every run must have generalised late.
    variants = {
        "dropout": laid(helped, phase=np.full((*LEAD, 1), dropout)),
        "decaying": laid(decaying * helped),
        "toy": laid(either(toys, same)),
        "wide_toy": laid(either(wide, helped)),
        "narrow": laid(either(narrow, same)),
    }
    return Grid(replace(P, delay=delay), AXES, SEEDS, simulation=main, variants=variants)


def bordering_comprehension():
    row = np.array([COMPREHENSION, GROKKING, COMPREHENSION, GROKKING])
    return grid(phase=np.array([row, row, row]), delay=100)


PRODUCT = np.outer(*map(np.array, AXES.values()))
PRODUCT[PRODUCT == 0] = np.nan
HELPED = np.array([np.nan, 900.0, 900.0, 900.0])
EQUAL = np.array([1000.0, 900.0, 900.0, 900.0])


def test_every_sentence_can_hold_and_fail():
    good = {
        "structure-at-the-start": lambda: grid(embedding=grown(told=6.0)),
        "structure-of-this-start": lambda: grid(embedding=grown(told=6.0)),
        "entropy-peaks.corrected": lambda: grid(peak=600),
        "forgetting": lambda: grid(steps=5 / PRODUCT),
        "borders": lambda: grid(delay=100),
    }
    spoilt = {
        "circle-at-the-end": lambda: grid(embedding=grown(circle=0.0)),
        "circle-at-the-end.corrected": lambda: grid(embedding=grown(circle=0.0)),
        "nothing-when-fitted": lambda: grid(embedding=grown(early=1.0)),
        "entropy-peaks": lambda: grid(peak=600),
        "entropy-peaks.corrected": grid,
        "entropy-falls": lambda: grid(dimension=12.9),
        "structure-at-the-start": grid,
        "structure-of-this-start": lambda: grid(embedding=grown(swapped=True)),
        "final-axes-are-better": lambda: grid(final=0.3),
        "few-axes": lambda: grid(enough=100),
        "forgetting": lambda: grid(steps=0.3 / PRODUCT**0.5),
        "borders": bordering_comprehension,
        "dropout-removes-delay": lambda: grid(dropout=GROKKING),
        "embeddings-may-decay": lambda: grid(decaying=0.5),
        "decay-helps": lambda: grid(steps=EQUAL),
        "decay-in-the-toy": lambda: grid(toys=HELPED),
        "decay-in-the-wide-toy": lambda: grid(wide=EQUAL),
        "decay-in-few-dimensions": lambda: grid(narrow=HELPED),
    }
    check("modular-transformer", {id: good.get(id, grid) for id in spoilt}, spoilt)


def test_comparisons_are_made_at_their_rate_only():
    for id in ("dropout-removes-delay", "decay-in-the-toy", "decay-in-the-wide-toy"):
        found = verdicts("modular-transformer", grid(), id)[id]
        assert {claim.cell["decoder_learning_rate"] for claim in found} == {P.compared_rate}


def test_decay_that_gives_generalisation_at_all_helps_and_none_that_never_does():
    never = np.full(4, np.nan)
    (claim, *_) = verdicts("modular-transformer", grid(steps=never), "decay-helps")["decay-helps"]
    assert claim.verdict == "fails"
    assert "median never" in claim.note


def test_a_map_that_the_limit_of_delay_alone_draws_is_not_judged():
    assert not verdicts("modular-transformer", grid(), "borders")


def test_cells_in_which_a_run_generalised_at_once_or_never_do_not_count():
    """Of cells with circles, and cells with none that had fitted later than they generalised, the former alone count."""
    found = verdicts("modular-transformer", grid(), "circle-at-the-end")["circle-at-the-end"]
    assert [claim.seeds for claim in found] == [SEEDS]
    at_once = grid(steps=np.full(4, FIT / 2))
    (claim,) = verdicts("modular-transformer", at_once, "circle-at-the-end")["circle-at-the-end"]
    assert claim.verdict == "inconclusive"
