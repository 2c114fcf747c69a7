"""The page of errata names checks that there are, and the identities that stand nowhere else hold."""

import ast
import re
from pathlib import Path

import numpy as np
import pytest
from made_records import stored_records

from foretrain.claims.claim import FAILS, HOLDS
from foretrain.claims.rows import rows
from foretrain.plans import catalogue
from foretrain.tasks import groups
from foretrain.theory.grokking.effective_loss import exact_flow
from foretrain.theory.grokking.parallelograms import incidence, inside

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "errata.md").read_text("utf-8")
ERRATA = re.findall(r"^- (.+?)(?=\n- |\n\n|\Z)", PAGE, re.M | re.DOTALL)


@pytest.mark.parametrize("erratum", ERRATA, ids=lambda text: text.split("**")[1])
def test_what_shows_an_erratum_is_there(erratum):
    checks = re.findall(r"`([^`]+)`", " ".join(erratum.split()).partition("Shown by")[2])
    assert checks
    for check in checks:
        file, _, name = check.partition("::")
        if name:
            functions = ast.parse((ROOT / file).read_bytes()).body
            assert name in [getattr(each, "name", "") for each in functions], check
        else:
            study, _, id = check.partition("/")
            (claim,) = [each for each in catalogue.load(study).sentences if each.id == id]
            # The correction holds, or the document's own sentence fails.
            shows = HOLDS if claim.corrects else FAILS
            judged = [record for record in stored_records() if record.study == study]
            verdicts = {r.verdict for each in judged for r in rows(each.claims) if r.id == id}
            assert shows in verdicts or not judged, check


def test_the_mask_of_the_note_has_another_shape_than_its_maps():
    languages, words, trained = 3, 2, np.eye(3)
    maps = np.zeros((languages * words, languages * words))
    assert np.kron(trained, np.ones((languages, languages))).shape != maps.shape
    assert np.kron(trained.T, np.ones((words, words))).shape == maps.shape


def test_the_loss_of_the_thread_lacks_a_constant():
    a, b, x, y = np.random.default_rng(0).normal(size=(4, 5))
    target, product = np.outer(a, b), np.outer(x, y)
    whole = ((target - product) ** 2).sum()
    square = (target**2).sum()
    threads = (x @ x) * (y @ y) - 2 * (a @ x) * (b @ y)
    # Sums of some 25 products in float64.
    assert whole == pytest.approx(square + threads, rel=1e-12)
    assert whole == pytest.approx(
        square - 2 * (target * product).sum() + (product**2).sum(), rel=1e-12
    )


def test_the_sum_of_embeddings_grows_unless_it_is_zero():
    ten = groups.addition(10)
    training = np.random.default_rng(0).permutation(len(ten.samples)) < 45
    start = np.random.default_rng(1).uniform(-0.5, 0.5, (10, 2))
    step = 1e-4
    sums = exact_flow(start, np.array([0.0, step, 2 * step]), ten, training).sum(1)
    squares, size = ((incidence(ten)[inside(ten, training)] @ start) ** 2).sum(), (start**2).sum()
    pace = (-3 * sums[0] + 4 * sums[1] - sums[2]) / (2 * step)
    # A difference of the second order: what is left is a third derivative times the square of the step.
    np.testing.assert_allclose(pace, 2 * squares / size**2 * sums[0], rtol=1e-3)
    centred = exact_flow(start - start.mean(0), np.array([0.0, 1.0]), ten, training).sum(1)
    np.testing.assert_allclose(centred, 0, atol=1e-9)


def test_a_rank_drop_need_not_reach_the_layers_below():
    # Two rectified units, read out as their sum: above them Jacobians have rank one, below them rank two.
    inputs = np.array([[1.0, -1.0], [-1.0, 1.0]])
    readout = np.ones((1, 2))
    above = readout.T @ readout
    below = [readout * (each > 0) for each in inputs]
    assert np.linalg.matrix_rank(above) == 1
    assert np.linalg.matrix_rank(sum(each.T @ each for each in below)) == 2
