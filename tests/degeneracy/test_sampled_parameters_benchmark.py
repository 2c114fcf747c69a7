"""The benchmark of sampled effective parameters: its sentences can hold and fail, and turn where the library is wrong."""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from made_up import check, runs, verdicts

import foretrain
from foretrain.claims.claim import FAILS, HOLDS
from foretrain.degeneracy.sampled import effective_parameters, sampled_trust
from foretrain.errors import ArgumentError
from foretrain.plans.grid import Grid
from foretrain.streams import Seed
from foretrain.theory.reduced_rank import coefficient_at

FOLDER = Path(__file__).parents[2] / "benchmarks" / "sampled_parameters"
sys.path.append(str(FOLDER.parent))
from sampled_parameters import bench, exact, study  # noqa: E402


def test_the_bench_has_forty_networks_and_what_is_known_of_them_agrees_with_itself():
    """Three quadratures, a determinant and closed forms, of what is the same network written in two ways."""
    assert len([name for name in (*bench.MADE, *bench.PAPER) if not name.startswith("trap")]) >= 40
    assert all(bench.case(name).trap == name.startswith("trap") for name in bench.MADE)
    for eps in (0.1, 0.01):
        beta = 1 / (2 * eps)
        assert exact.chain(2, 0.0, eps) == pytest.approx(exact.product((1, 1), (0, 0), eps), 1e-5)
        assert exact.chain(2, 0.0, eps) == pytest.approx(2 * coefficient_at((1, 1, 1), beta), 1e-4)
        assert exact.product((1,), (0.0,), eps) == pytest.approx(1 / (1 + eps), rel=1e-5)
        wide = exact.product((1,), (0.3,), eps)  # a start that is no minimum
        assert wide == pytest.approx(1 / (1 + eps) + eps * 0.09 / (1 + eps) ** 2, rel=1e-4)
        # Two linear units on one input of mean square m are 1-2-2 at zero, with eps in units of m.
        x = bench.POINTS
        layer = exact.last_layer(lambda z: z, x, np.zeros(2), np.zeros((2, 2)), eps, points=801)
        zero = 2 * coefficient_at((1, 2, 2), beta * float((x**2).mean()))
        assert layer == pytest.approx(zero, rel=1e-3)
    # A hole that is wide is a quadratic; wells without a second one are.
    assert exact.hole(1e4, 1e-4, 6, 0.01) == pytest.approx(6 / 1.01, rel=1e-2)


@pytest.mark.slow
def test_drawn_networks_are_as_many_as_one_likes_and_begin_at_a_minimum():
    for number in range(7, 12):  # one of each family, and no other at another number
        item, other = bench.drawn(number), bench.drawn(number + 5)
        assert abs(study.around(f"drawn {number}", 1.0).start_loss) < 1e-12
        assert item.known(0.01) != other.known(0.01)
        assert bench.case(f"drawn {number}").known(0.01) == item.known(0.01)
    assert study.PRESETS["drawn"]["network"][39] == "drawn 39"


def test_losses_are_zero_at_the_start_of_all_but_one():
    for name in (*bench.MADE, "3-3-3-3 r1", "tanh 2-4-2, all twice"):
        loss = study.around(name, 1.0).start_loss
        assert (abs(loss) < 1e-12) == (name not in ("trap: no minimum", "trap: minibatches"))
    with pytest.raises(ArgumentError, match="Argument `network` must be one of the bench"):
        study.check(study.Parameters(network="7"))


def grid(change=None):
    """Estimates that do as they should, but for what is done to them: `change(sampled, error, believed, known, trap)`."""
    names, seeds = study.DEFAULT, 2
    random = np.random.default_rng(0)
    trap = np.array([[name.startswith("trap")] * seeds for name in names])
    known = np.linspace(1, 20, len(names))[:, None] * np.ones((1, seeds))
    error = 0.02 * known
    sampled = known + error * np.clip(random.standard_normal(known.shape), -1.5, 1.5)
    sampled, believed = np.where(trap, 3 * known, sampled), ~trap
    if change:
        sampled, error, believed = change(sampled, error, believed, known, trap)
    values = {
        "parameters_sampled": sampled, "parameters_error": error, "believed": believed, "parameters_known": known,
        "reference_error": 0 * known, "trap": trap, "gradients_taken": 1000 + 0 * trap, "virial_share": 1 + 0 * known,
        "between_groups": 1 + 0 * known, "draws_effective": 500 + 0 * known,
    }  # fmt: skip
    axes = {"network": names}
    return Grid(study.Parameters(), axes, seeds, 0, runs(axes, seeds, values), {}, xr.Dataset())


def test_every_sentence_can_hold_and_fail():
    spoilt = {
        "inside": lambda s, e, b, k, t: (
            np.where(np.arange(len(s))[:, None] % 8 == 0, k + 3 * e, s),
            e,
            b,
        ),
        "trusted": lambda s, e, b, k, t: (s, e, b & (np.arange(len(s))[:, None] % 3 == 0)),
        "traps": lambda s, e, b, k, t: (s, e, b | (np.arange(len(s))[:, None] == len(s) - 1)),
        "relative": lambda s, e, b, k, t: (1.05 * k, 0.05 * k, b),
        "traps-mislead": lambda s, e, b, k, t: (np.where(t, k, s), e, b),
    }
    check(FOLDER, grid, {id: lambda first=item: grid(first) for id, item in spoilt.items()})


SOME = (
    "quadratic, at the scale",
    "quadratic, decades",
    "w⁴ × 6",
    "w₁² w₂² × 6",
    "trap: two basins",
    "trap: a wide one",
)


def measured(names=SOME):
    outcome = [study.measure(study.Parameters(network=name), Seed(0, 0)) for name in names]
    values = {name: np.array([item[name] for item in outcome])[:, None] for name in outcome[0]}
    axes = {"network": names}
    return Grid(study.Parameters(), axes, 1, 0, runs(axes, 1, values), {}, xr.Dataset())


def judged(id, names=SOME):
    (claim,) = verdicts(FOLDER, measured(names), id)[id]
    return claim.verdict


@pytest.mark.slow
def test_the_headline_turns_where_layers_ranks_or_factors_are_wrong(monkeypatch):
    known, case = study.known, bench.case.__wrapped__
    pair, even = case("tanh, pair"), case("quadratic, at the scale")
    half = replace(pair, mask={"into": np.zeros(2), "out": np.ones((2, 2))})
    twice = replace(even, losses=lambda params, data: 2 * even.losses(params, data))
    changes = {
        "the last layer alone moves": ("tanh, pair", "case", lambda name: half),
        "rank off by one": ("5-3-5 r0", "known", lambda name, eps: known("5-2-5 r0", eps)),
        "symmetrised twice": ("quadratic, at the scale", "case", lambda name: twice),
    }
    assert judged("inside", ("tanh, pair", "5-3-5 r0", "quadratic, at the scale")) == HOLDS
    for what, (name, where, by) in changes.items():
        with monkeypatch.context() as change:
            change.setattr(study, where, by)
            assert judged("inside", (name,)) == FAILS, what


@pytest.mark.slow
def test_verdicts_turn_where_the_library_is_made_wrong(monkeypatch):
    """Wrong in the code that is run, one by one."""
    known, walk = study.known, effective_parameters._Walk
    for id in ("inside", "trusted", "traps"):
        assert judged(id) == HOLDS
    with monkeypatch.context() as change:  # beta wrong by the number of parameters
        change.setattr(study, "known", lambda network, eps: known(network, eps / 8))
        assert judged("inside") == FAILS
    cooled = walk._cooled

    def inside(self, beta, seconds):
        self.drawn = lambda: 0 * self.outside
        self.outside = self.drawn()
        return cooled(self, beta, seconds)

    with monkeypatch.context() as change:  # all chains from w*
        change.setattr(walk, "_cooled", inside)
        assert judged("traps") == FAILS
    with monkeypatch.context() as change:  # thresholds that let everything pass
        for name in ("RHAT", "ERRORS", "ERROR", "SHARE"):
            change.setattr(sampled_trust, name, np.inf)
        for name in ("EFFECTIVE", "LENGTHS", "ACCEPTED"):
            change.setattr(sampled_trust, name, 0)
        assert judged("traps") == FAILS
    round_, judge = walk._round, walk._judged

    def counted(self, draws, beta, *rest):  # draws of chains that have not been cooled
        hot = draws.loss.copy()
        hot[-len(self.outside) :, : hot.shape[1] // 20] += 1.0
        return judge(self, draws._replace(loss=hot), beta, *rest)

    with monkeypatch.context() as change:  # burn-in counted
        change.setattr(walk, "_judged", counted)
        assert judged("trusted") == FAILS
    assert walk._round is round_


@pytest.mark.slow
def test_the_benchmark_runs_small(tmp_path):
    names = ["quadratic, even", "quadratic, at the scale", "trap: no minimum"]
    result = foretrain.run(
        FOLDER, network=names, gradients=40_000, seeds=2, out=tmp_path / "a", workers=0, quiet=True
    )
    assert (result.simulation["outcome"] == 6).all()
    assert {claim.id for claim in result.claims} >= {"inside", "traps"}
