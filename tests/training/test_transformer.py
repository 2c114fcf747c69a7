"""Training of the transformer: gradient, steps, thresholds, snapshots and what must not change a run."""

from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import pytest
from small_toy import check_first_gradient, finals, inputs_of, observed, trained

from foretrain.errors import ArgumentError
from foretrain.networks import embedding as perceptron
from foretrain.networks import transformer as network
from foretrain.streams import Seed
from foretrain.training import transformer as modular

SMALL = modular.Modular(
    symbols=5,
    embedding_dim=6,
    hidden_width=7,
    embedding_learning_rate=0.01,
    decoder_learning_rate=0.01,
    training_share=0.6,
    circles=2,
    snapshots=8,
    precision="float64",
)
CASES = {
    "one layer": SMALL,
    "two layers": replace(SMALL, layers=2),
    "toy without a modulus": replace(
        SMALL, architecture="toy", operation="addition", embedding_dim=1
    ),
}


def direct(p, inputs, embedding, decoder):
    """Loss and both accuracies, by their definitions."""
    embedding, result = np.asarray(embedding), {True: [], False: []}
    if p.architecture == "transformer":
        answers = np.asarray(network.logits(decoder, embedding))
    else:
        joined = (embedding[:, None] + embedding).reshape(p.symbols**2, -1)
        answers = np.asarray(perceptron.decode(decoder, joined)).reshape(p.symbols, p.symbols, -1)
    for a, b in np.argwhere(inputs["samples"]):
        label, odds = a + b, np.exp(answers[a, b]) / np.exp(answers[a, b]).sum()
        label = label % p.symbols if p.operation == "cyclic" else label
        right = answers[a, b].argmax() == label
        result[bool(inputs["training"][a, b])].append((-np.log(odds[label]), right))
    loss, right = np.mean(result[True], axis=0)
    heldout = np.mean(result[False], axis=0)[1]
    return {"loss": loss, "train_accuracy": right, "validation_accuracy": heldout}


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_what_is_observed_is_what_its_definitions_say(name, x64):
    p = CASES[name]
    inputs = inputs_of(p)
    for steps in (0, 40):
        state = trained(p, steps, inputs)
        result = observed(p, inputs, state)
        expected = direct(p, inputs, state.embedding, state.decoder)
        centred = np.asarray(state.embedding) - np.asarray(state.embedding).mean(0)
        shares = np.linalg.svd(centred)[1] ** 2 / (centred**2).sum()
        shares = shares[shares > 1e-12]
        expected["effective_dimension"] = np.exp(-(shares * np.log(shares)).sum())
        assert result.keys() == expected.keys()
        for variable, value in expected.items():
            assert float(result[variable]) == pytest.approx(value, rel=1e-9), variable


@pytest.mark.parametrize("name", CASES)
def test_a_step_takes_the_gradient_that_finite_differences_give(name, x64):
    p = CASES[name]
    inputs = inputs_of(p)
    check_first_gradient(
        p, inputs, lambda state: direct(p, inputs, state.embedding, state.decoder)["loss"]
    )


def test_relabelled_symbols_make_the_relabelled_run(x64):
    """Labels are permuted along, since the task is another: the network knows symbols by their embeddings alone."""
    p = SMALL
    inputs, order = inputs_of(p), np.random.default_rng(2).permutation(p.symbols)
    both = np.ix_(order, order)
    changed = {name: inputs[name][both] for name in ("training", "samples", "chosen")}
    other = inputs | changed | {"embedding": inputs["embedding"][order]}
    item, two = (trained(p, 60, start) for start in (inputs, other))
    np.testing.assert_allclose(item.embedding[order], two.embedding, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(item.decoder.inward, two.decoder.inward, rtol=1e-7, atol=1e-9)
    np.testing.assert_array_equal(item.first, two.first)


@pytest.mark.slow
def test_dropout_of_zero_is_the_plain_run_and_thresholds_are_looked_at_without_it(x64):
    dropped = replace(SMALL, dropout=0.3)
    inputs = inputs_of(SMALL)
    plain, noisy = (trained(p, 30, inputs) for p in (SMALL, dropped))
    assert float(jnp.abs(plain.embedding - noisy.embedding).max()) > 1e-3
    np.testing.assert_array_equal(noisy.embedding, trained(dropped, 30, inputs).embedding)
    other = trained(dropped, 30, inputs | {"seed": jnp.uint32(7)})
    assert float(jnp.abs(other.embedding - noisy.embedding).max()) > 1e-3
    expected = direct(dropped, inputs, noisy.embedding, noisy.decoder)
    result = observed(dropped, inputs, noisy)
    assert float(result["loss"]) == pytest.approx(expected["loss"], rel=1e-9)


@pytest.mark.parametrize("steps", [0, 8, 20, 150])
def test_snapshots_are_the_run_at_their_steps_and_at_its_end(steps, x64):
    inputs = inputs_of(SMALL)
    result = finals(SMALL, inputs, trained(SMALL, steps, inputs))
    times = np.asarray(result["snapshot_step"])
    due = [step for step in (0, 8, 11, 16, 23, 32, 45) if step < steps]
    np.testing.assert_array_equal(times[np.isfinite(times)], [*due, steps])
    for time, embedding in zip(times, result["snapshot_embedding"], strict=True):
        if np.isnan(time):
            assert np.isnan(embedding).all()
        else:
            expected = trained(SMALL, int(time), inputs).embedding
            np.testing.assert_allclose(embedding, expected, rtol=1e-9)


def test_projected_accuracies_are_those_of_embeddings_put_together_again(x64):
    inputs = inputs_of(SMALL)
    final, early = trained(SMALL, 60, inputs), trained(SMALL, 23, inputs)
    result = finals(SMALL, inputs, final)["projected_accuracy"]
    assert result.shape == (8, 3, 2)
    mean = np.asarray(early.embedding).mean(0)
    for place, of in enumerate((final, early)):
        axes = np.linalg.svd(np.asarray(of.embedding) - np.asarray(of.embedding).mean(0))[2]
        for rank in (2, 4):
            flat = mean + (np.asarray(early.embedding) - mean) @ (axes[:rank].T @ axes[:rank])
            expected = direct(SMALL, inputs, flat, early.decoder)["validation_accuracy"]
            assert float(result[4, place, rank // 2 - 1]) == pytest.approx(expected)


@pytest.mark.slow
def test_a_run_ends_so_long_after_it_has_generalised():
    p = replace(SMALL, extension=0.5, precision="float32")
    inputs, done = inputs_of(p), modular.program(p).done
    assert done is not None
    state = trained(p, 0, inputs)._replace(first=jnp.asarray((3, 40), jnp.int32))
    for taken, ended in ((40, False), (59, False), (60, True)):
        now = state._replace(taken=jnp.int32(taken))
        assert bool(done(inputs, now, {})) == ended
        assert not done(inputs | {"extension": jnp.float32(-1)}, now, {})
    state = state._replace(taken=jnp.int32(10**6), first=jnp.asarray((3, -1), jnp.int32))
    assert not done(inputs, state, {})


def test_training_sets_are_nested_and_of_the_size_asked_for():
    few, many = (
        modular.inputs(replace(SMALL, training_share=share), Seed(0, 3))["training"]
        for share in (0.3, 0.8)
    )
    assert (few.sum(), many.sum()) == (round(0.3 * 25), 20)
    assert (few <= many).all()
    toy = modular.inputs(replace(SMALL, architecture="toy"), Seed(0, 3))["training"]
    assert toy.sum() == round(0.6 * 15)
    assert not np.tril(toy, -1).any()


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"training_share": 0.01}, "training_share"),
        ({"architecture": "toy", "dropout": 0.1}, "dropout"),
    ],
)
def test_what_cannot_be_is_refused(changed, named):
    with pytest.raises(ArgumentError, match=f"Argument `{named}` must"):
        modular.check(replace(SMALL, **changed))
