"""Free directions counted by source, against numbers known by hand and against the exact rank of the Jacobian."""

import numpy as np
import planted
import pytest

from foretrain.degeneracy import network
from foretrain.degeneracy.counts import free_directions as module
from foretrain.degeneracy.counts.conditional import conditional_directions
from foretrain.degeneracy.counts.free_directions import free_directions
from foretrain.degeneracy.counts.grams import jacobian
from foretrain.degeneracy.counts.jacobian_spectrum import jacobian_spectrum
from foretrain.errors import ArgumentError


def counted(net, x):
    """Return the count, and the exact rank deficit."""
    freedom = free_directions(net, x, spectrum=jacobian_spectrum(net, x))
    assert freedom.exact
    return freedom, freedom.free


def spoiled(kind, activation, bias):
    """A network 4-5-4-5 that is degenerate in the way that is named, and its data."""
    net, x = planted.drawn((4, 5, 4, 5), 0, activation, bias), planted.data(200, 4)
    weight, shift = net.params[0]["weight"], net.params[0].get("bias", np.zeros(5))
    if kind == "dead" and bias:
        weight[0], shift[0] = 0.1 * weight[0], -60
    elif kind == "dead":
        x[:, 3], weight[0] = 1 + np.abs(x[:, 3]), [0, 0, 0, -60]
    if kind == "duplicated":
        weight[1], shift[1] = weight[0], shift[0]
    if kind in ("synchronised", "synchronised and opposed"):
        weight[1], shift[1] = 2 * weight[0], 2 * shift[0]
    if kind in ("opposed", "synchronised and opposed"):
        weight[2], shift[2] = -weight[0], -shift[0]
    if kind == "rank-deficient layer":
        weight[:] = weight[:, :2] @ np.random.default_rng(1).normal(size=(2, 4))
    if kind == "equal inputs":
        x[:, 3] = x[:, 2]
    if kind == "linear":
        x[:] = np.abs(x)
        weight[:] = np.abs(weight)
        shift[:] = np.abs(shift)
    return net, x


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("activation", ["relu", "leaky_relu", "gelu", "silu", "tanh", "sigmoid"])
@pytest.mark.parametrize(
    "kind",
    [
        "generic", "dead", "duplicated", "synchronised", "opposed", "synchronised and opposed",
        "rank-deficient layer", "equal inputs", "linear",
    ],
)  # fmt: skip
def test_what_is_called_exact_is_the_rank_deficit_and_sources_account_for_it(
    kind, activation, bias
):
    """Against the singular values of the whole Jacobian, seven decades between those that count and those that do not."""
    net, x = spoiled(kind, activation, bias)
    freedom, free = counted(net, x)
    values = np.linalg.svd(jacobian(net, x), compute_uv=False)
    values, rank = values / values[0], len(values) - free
    assert values[rank - 1] > 1e-7
    assert values[rank:].max(initial=0) < 1e-14
    assert freedom.counted == free
    if activation in ("relu", "leaky_relu"):
        assert free >= 9  # the scales of as many hidden neurons
        return
    odd = activation == "tanh" or (activation == "sigmoid" and bias)
    # Tanh ends at -1, which a bias says too.
    dead = 4 if activation == "tanh" and not bias else 8 + bias
    known = {"dead": dead, "duplicated": 4, "equal inputs": 5} | (
        {"opposed": 4, "synchronised and opposed": 4} if odd else {}
    )
    assert free == known.get(kind, 0)
    assert freedom.by_source()["synchronized"] == 0  # no gates in the strict sense


def test_neurons_of_one_output_take_back_what_others_do_and_that_is_not_attributed():
    """Two synchronised neurons and an opposed one, whose readers meet in one output."""
    net, x = planted.drawn((4, 3, 5, 1), 330392, "leaky_relu", True), planted.data(300, 4, 330392)
    weight, shift = net.params[0]["weight"], net.params[0]["bias"]
    weight[1], shift[1], weight[2], shift[2] = 2 * weight[0], 2 * shift[0], -weight[0], -shift[0]
    freedom, free = counted(net, x)
    assert (free, freedom.unattributed) == (23, 3)
    assert freedom.doubts() == ["Counts: of 23 free directions not attributed: 3."]


def test_a_neuron_that_is_on_where_less_is_seen_has_free_weights():
    """The second neuron of the second layer is on only where the first one of the first is off."""
    x = planted.data(300, 3)
    first = np.random.default_rng(0).normal(size=(3, 3))
    second = np.array([[1, 1, 0.5], [-1e3, 0.3, 0.4], [0.4, -0.2, 0.7]])
    net = network.perceptron([first, second, np.random.default_rng(1).normal(size=(4, 3))])
    freedom, deficit = counted(net, x)
    assert freedom.by_source() == {
        "activations": 0, "jacobians": 0, "synchronized": 6, "conditional": 1
    }  # fmt: skip
    assert freedom.counted == deficit == 7
    free = [(v, u) for v, u in conditional_directions(net, x, 0) if not v.any()]
    assert len(free) == 1
    np.testing.assert_allclose(np.abs(free[0][1]), np.eye(3)[1][:, None] * np.eye(3)[0], atol=1e-12)


def test_gates_that_differ_where_nobody_reads_them_are_as_good_as_equal():
    """All are on where the third input is positive; nothing after them is on elsewhere, where the second's gate varies."""
    random = np.random.default_rng(0)
    sign = random.choice([-1.0, 1.0], size=300)
    varies = np.where(sign > 0, 1, random.choice([-1.0, 1.0], size=300))
    x = random.uniform(0.5, 1, (300, 3)) * np.stack([np.ones(300), varies, 9 * sign], 1)
    second = [np.array([[0.7, 0.5, 1.0], [0.3, 0.9, 2.0]]), np.array([-3.0, -4.0])]
    weights = [np.eye(3), second[0], random.normal(size=(3, 2))]
    freedom, deficit = counted(network.perceptron(weights, [None, second[1], None]), x)
    assert sorted(block.neurons for block in freedom.sections[0].blocks) == [(0,), (1,), (2,)]
    # Where they are read the layer is linear, so that all its nine weights are free: three by the Jacobian of two neurons
    # after it, three scales, and three that blocks on all data do not show.
    first = freedom.sections[0]
    assert (first.jacobians, first.synchronized, first.conditional) == (3, 3, 3)
    assert freedom.counted == deficit


def test_what_three_layers_do_together_is_left_unattributed():
    """Whatever is free within two neighbouring sections is counted; with three of them moving one direction more is free."""
    net, x = planted.drawn((3, 2, 3, 2, 2), 224, "leaky_relu", True), planted.data(300, 3, 224)
    freedom, deficit = counted(net, x)
    assert freedom.unattributed == deficit - freedom.counted == 1
    triangle = np.linalg.qr(jacobian(net, x), mode="r")
    ends = np.cumsum([0, *(sum(leaf.size for leaf in p.values()) for p in net.params)])
    rows = []
    for begin, end in zip(ends, ends[2:], strict=False):
        _, values, directions = np.linalg.svd(triangle[:, begin:end])
        null = directions[(values > 1e-8 * np.linalg.norm(triangle, 2)).sum() :]
        rows.append(np.pad(null, ((0, 0), (begin, ends[-1] - end))))
    assert np.linalg.matrix_rank(np.concatenate(rows), 1e-8) == freedom.counted


@pytest.mark.parametrize("activation", ["relu", "leaky_relu"])
def test_linear_neurons_are_one_block_and_the_unit_is_of_it(activation):
    """Always on, always off and, with biases, the unit that is always 1."""
    random = np.random.default_rng(0)
    first, shifts = 0.1 * random.normal(size=(4, 3)), np.array([5.0, 5.0, -5.0, 0.0])
    leaky = activation == "leaky_relu"
    for biased in (True, False):
        biases = [shifts, None if not biased else random.normal(size=5)]
        net = network.perceptron([first, random.normal(size=(5, 4))], biases, activation)
        freedom, deficit = counted(net, planted.data(300, 3))
        linear = (0, 1, 2) if leaky else (0, 1)
        block = next(b for b in freedom.sections[0].blocks if b.neurons == linear)
        assert block.constants == ((1, 1, 0.01) if leaky else (1, 1))
        assert block.unit is biased
        assert block.dimension == len(linear) + biased
        assert freedom.counted == deficit


@pytest.mark.parametrize(
    ("spans", "sizes"),
    [((1, 1, 1, 1), (1, 1, 1, 1)), ((1, 1), (2, 1)), ((2, 1), (2, 1)), ((2,), (3,)), ((2, 1, 3), (3, 3, 3))],
)  # fmt: skip
def test_planted_blocks_give_size_times_span(spans, sizes):
    net, x = planted.blocks(spans, sizes, sum(sizes))
    freedom, deficit = counted(net, x)
    extra = sum(a * b for a, b in zip(spans, sizes, strict=True))
    assert freedom.sections[0].synchronized == extra
    assert sum(block.extra for block in freedom.sections[0].blocks) == extra
    assert freedom.sections[1].activations == sum(sizes) * (sum(sizes) - sum(spans))
    assert (freedom.counted, freedom.unattributed) == (deficit, 0)
    assert sorted(len(b.neurons) for b in freedom.sections[0].blocks) == sorted(sizes)


def test_what_is_hardly_ever_on_is_no_dependency():
    """A neuron that is on for one example, by little: its outgoing weights are not free."""
    net, x = planted.drawn((2, 3, 4)), planted.data(500, 2)
    net.params[0]["weight"][:] = [[1, 0], [-1, 0], [0, 1]]
    x[:, 1] = -1 - np.abs(x[:, 1])
    x[0, 1] = 5e-6
    freedom, deficit = counted(net, x)
    assert freedom.sections[1].activations == 0
    assert freedom.counted <= deficit


def test_at_a_scale_products_of_activations_and_jacobians_decide():
    """Of one linear map an activation of size s counts where s^2 >= eps; behind a weight w where (w s)^2 is."""
    x = planted.data(4000, 3) * [1, 1e-1, 1e-2]
    single = network.perceptron([np.ones((2, 3))])
    for eps, left in ((1e-6, 6), (1e-3, 4), (1e-1, 2), (10.0, 0)):
        assert free_directions(single, x, scale=eps).effective == left
    # The same map, then a weight of 30 and one of 1: the first row matters by 900 times as much.
    double = network.perceptron([np.eye(2, 3), np.diag([30.0, 1])], None, "tanh")
    freedom = free_directions(double, x * 1e-3, scale=1e-5).sections[0]
    assert (freedom.activations, freedom.jacobians) == (4, 1)


def test_at_a_scale_gates_count_by_what_their_neurons_do():
    """Two neurons of different gates are one block where the outputs hardly read them."""
    net, x = planted.drawn((2, 2, 3)), planted.data(300, 2)
    for weight, blocks in ((1.0, 2), (1e-4, 1)):
        net.params[1]["weight"][:] = weight
        assert len(free_directions(net, x, scale=1e-4).sections[0].blocks) == blocks


def test_large_networks_take_the_closed_form(monkeypatch):
    net, x = planted.drawn((4, 4, 5), activation="identity"), planted.data(200, 4)
    monkeypatch.setattr(module, "_WORK", 10)
    freedom = free_directions(net, x)
    assert freedom.sections[0].synchronized == 16
    assert not freedom.exact
    assert freedom.unattributed is None
    assert str(freedom) == "at least 16 (estimate)"


@pytest.mark.parametrize("kind", ["dead", "synchronised and opposed", "linear", "equal inputs"])
def test_the_closed_form_counts_from_below(monkeypatch, kind):
    """Of dead neurons, a block in name, nothing is counted twice."""
    monkeypatch.setattr(module, "_WORK", 0)
    for bias, read in ((False, 1.0), (True, 1.0), (True, 0.0)):
        net, x = spoiled(kind, "relu", bias)
        net.params[1]["weight"][:, 3] *= read  # a neuron that nobody reads: K has no full rank
        freedom, free = counted(net, x)
        assert 0 < freedom.by_source()["synchronized"]
        assert freedom.counted <= free


def test_probabilities_do_not_see_what_is_added_to_all_logits():
    """By the divergence one direction of the outputs costs nothing: as many more are free as the last section reads."""
    net, x = planted.drawn((3, 4, 3), bias=True, activation="tanh"), planted.data(60, 3)
    for loss, free in (("mse", 0), ("kl", 5)):
        spectrum = jacobian_spectrum(net, x, loss=loss)
        freedom = free_directions(net, x, spectrum=spectrum, loss=loss)
        assert (freedom.free, freedom.counted, freedom.exact) == (free, free, True)
        assert freedom.by_source()["jacobians"] == free
        tiny = free_directions(net, x, 1e-12, spectrum, loss=loss)
        assert tiny.free == tiny.counted == free
    with pytest.raises(ArgumentError, match="be that of the loss `mse`, but is of `kl`"):
        free_directions(net, x, spectrum=spectrum)


def test_few_examples_free_what_they_do_not_tell():
    """Three examples with two answers each tell at most six parameters, by the Jacobian and without it."""
    net, x = planted.drawn((3, 4, 2), bias=True, activation="gelu"), planted.data(3, 3)
    freedom, free = counted(net, x)
    assert free == freedom.parameters - 6
    assert freedom.counted <= free
    bare = free_directions(net, x)
    assert (bare.effective, str(bare)) == (6, f"at least {free} (estimate)")


def test_what_directions_free_at_a_scale_is_how_many_eigenvalues_fall_below_it():
    random = np.random.default_rng(0)
    costs = 10.0 ** random.uniform(-4, 1, 30)
    rows = np.linalg.qr(random.normal(size=(30, 12)))[0].T
    across = np.eye(30) - rows.T @ rows
    left = np.linalg.eigvalsh(across @ np.diag(costs) @ across)
    for scale in (1e-3, 1e-2, 0.1, 1.0):
        freed = module._freed(rows, costs - scale, scale)
        assert (costs >= scale).sum() - freed == (left >= scale).sum()
        assert 0 < freed < 12
    assert module._freed(rows, costs, 0.0) == 12
