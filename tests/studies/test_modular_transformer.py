"""Claims on runs that no network made, circles that grow out of noise, and runs as they are stored and drawn."""

from dataclasses import replace

import numpy as np
from made_up import check, grid, verdicts

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
PRODUCT = np.outer(*map(np.array, AXES.values()))
PRODUCT[PRODUCT == 0] = np.nan
HELPED = np.array([np.nan, GENERALISED, GENERALISED, GENERALISED])
EQUAL = np.array([1000.0, 900.0, 900.0, 900.0])


def grown(circle=1.0, early=0.0, start_circle=0.0):
    """Embeddings (seed, snapshot, symbol, coordinate); sizes of one frequency at the end, when fitted, and at the start."""
    random = np.random.default_rng(0)
    start = random.standard_normal((SEEDS, P.symbols, P.embedding_dim))
    angle = 2 * np.pi * 3 * np.arange(P.symbols) / P.symbols
    polygon = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    plane = np.linalg.qr(random.standard_normal((SEEDS, P.embedding_dim, 2)))[0].swapaxes(1, 2)
    outside = np.eye(P.embedding_dim) - plane.swapaxes(1, 2) @ plane
    fresh = random.standard_normal((SEEDS, P.symbols, 2))
    start = start @ outside + (fresh + start_circle * polygon) @ plane
    late = (TIMES >= GENERALISED)[:, None, None]
    noise = random.standard_normal((SEEDS, 1, P.symbols, P.embedding_dim))
    size = 20.0 * np.where(late, circle, early)
    moved = size * (polygon @ plane)[:, None] + 15.0 * (1 - circle) * noise * late
    every = start[:, None] + np.where((TIMES > 0)[:, None, None], moved, 0)
    return np.where(np.isfinite(TIMES)[:, None, None], every, np.nan)


GROWN = grown()


def build(
    embedding=GROWN,
    peak=GENERALISED,
    final=0.9,
    enough=4,
    steps=HELPED,
    dropout=COMPREHENSION,
    toy=EQUAL,
    wide=HELPED,
    narrow=EQUAL,
):
    """Runs that grok, sooner with decay, and one memorises; no other but wide ones gain."""
    rising = 12 + np.minimum(STEPS / peak, 1)
    falling = np.where(STEPS > peak, np.linspace(0, 9, len(STEPS)), 0)
    accuracy = np.empty((len(TIMES), 3, len(RANKS)))
    accuracy[:, 0], accuracy[:, 1], accuracy[:, 2] = final, 0.5, 0.1
    accuracy[LAST, 0] = np.where(RANKS >= enough, 0.95, 0.3)
    labels = {name: (name, values) for name, values in transformer.labels(P).items()}

    def laid(steps, **more):
        loss = (1 + 0.01 * np.arange(SEEDS)[:, None]) / (1 + STEPS)
        steps = np.broadcast_to(steps, LEAD)[..., None]
        return {"validation_step": steps, "train_step": FIT, "loss": loss, **more}

    own = laid(
        steps,
        phase=np.broadcast_to((GROKKING, GROKKING, GROKKING, MEMORIZATION), LEAD)[..., None],
        effective_dimension=np.where(STEPS <= END, rising - falling, np.nan),
        train_accuracy=np.where(STEPS >= FIT, 1.0, 0.5),
        validation_accuracy=np.where(STEPS >= GENERALISED, 1.0, 0.1),
        snapshot_step=TIMES,
        snapshot_embedding=embedding,
        projected_accuracy=accuracy,
    )
    networks = {
        "": own,
        "dropout": laid(HELPED, phase=np.full((*LEAD, 1), dropout)),
        **{"toy": laid(toy), "wide_toy": laid(wide), "narrow": laid(narrow)},
    }
    return grid(P, AXES, SEEDS, networks, step=STEPS, labels=labels)


def test_every_sentence_can_hold_and_fail():
    exceptions = {
        "structure-at-the-start": {"embedding": grown(start_circle=6.0)},
        "forgetting": {"steps": 5 / PRODUCT},
        "circles-in-time.corrected": {"steps": HELPED / 2},
    }
    spoilt = {
        "circle-at-the-end": {"embedding": grown(circle=0.0)},
        "circle-at-the-end.corrected": {"embedding": grown(circle=0.0)},
        "nothing-when-fitted": {"embedding": grown(early=1.0)},
        "entropy-peaks": {"peak": 600},
        "structure-at-the-start": {},
        "final-axes-are-better": {"final": 0.3},
        "few-axes": {"enough": 100},
        "forgetting": {"steps": 0.3 / PRODUCT**0.5},
        "circles-in-time": {"embedding": grown(early=1.0)},
        "circles-in-time.corrected": {},
        "dropout-removes-delay": {"dropout": GROKKING},
        "decay-helps": {"steps": EQUAL},
        "decay-and-dimension": [{"narrow": HELPED}, {"toy": HELPED}, {"wide": EQUAL}],
    }
    check("modular-transformer", build, spoilt, exceptions)


def test_comparisons_are_made_at_their_rate():
    for id in ("dropout-removes-delay", "decay-and-dimension"):
        claims = verdicts("modular-transformer", build(), id)[id]
        assert {claim.cell["decoder_learning_rate"] for claim in claims} == {P.compared_rate}


def test_cells_in_which_a_run_generalised_at_once_or_never_do_not_count():
    id = "circle-at-the-end"
    assert [claim.seeds for claim in verdicts("modular-transformer", build(), id)[id]] == [SEEDS]
    (claim,) = verdicts("modular-transformer", build(steps=np.full(4, FIT / 2)), id)[id]
    assert claim.verdict == "inconclusive"
    for extension, judged in ((0.0, False), (0.9, False), (1.0, True), (3.0, True), (-1.0, True)):
        assert study.outlasts(type("C", (), {"p": replace(P, extension=extension)})) == judged


def test_variants_are_of_one_rate_and_dropout_of_one_decay():
    p = study.Parameters(decoder_learning_rate=0.003, decoder_decay=1.0)
    along = {"narrow", "toy", "wide_toy"}
    assert set(study.variants(p)) == along | {"dropout"}
    assert set(study.variants(replace(p, decoder_decay=0.5))) == along
    for other in ({"decoder_learning_rate": 0.001}, {"compared": False}, {"dropout": 0.1}):
        assert study.variants(replace(p, **other)) == {}
