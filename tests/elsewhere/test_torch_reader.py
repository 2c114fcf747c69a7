"""PyTorch modules give in JAX the outputs that they give in PyTorch; what is not read is named with its place."""

import jax
import numpy as np
import pytest

from foretrain.degeneracy.counts.jacobian_spectrum import jacobian_spectrum
from foretrain.degeneracy.counts.sources import sources
from foretrain.degeneracy.folded import layers as activations
from foretrain.degeneracy.folded import steps
from foretrain.degeneracy.interactions.interaction_basis import interaction_basis
from foretrain.errors import ArgumentError

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytestmark = [
    pytest.mark.torch,
    pytest.mark.filterwarnings("ignore"),  # of PyTorch about itself
]

from torch import nn  # noqa: E402

from foretrain.elsewhere.torch_reader import of_torch  # noqa: E402

RANDOM = np.random.default_rng(0)


class Block(nn.Module):
    """Of a causal transformer, attention written out."""

    def __init__(self, wide=8, heads=2, tokens=5):
        super().__init__()
        self.first, self.second = nn.LayerNorm(wide), nn.LayerNorm(wide)
        self.inward, self.outward = nn.Linear(wide, 3 * wide), nn.Linear(wide, wide)
        hidden = nn.Linear(wide, 16), nn.GELU(), nn.Dropout(), nn.Linear(16, wide)
        self.widened, self.heads = nn.Sequential(*hidden), heads
        self.register_buffer("mask", torch.tril(torch.ones(tokens, tokens)), persistent=False)

    def forward(self, x):
        """Batch, tokens, coordinates."""
        n, tokens, wide = x.shape
        parts = self.inward(self.first(x)).split(wide, dim=2)
        q, k, v = (p.view(n, tokens, self.heads, -1).transpose(1, 2) for p in parts)
        scores = q @ k.transpose(-2, -1) * (wide // self.heads) ** -0.5
        scores = scores.masked_fill(self.mask[:tokens, :tokens] == 0, float("-inf")).softmax(-1)
        x = x + self.outward((scores @ v).transpose(1, 2).reshape(n, tokens, wide))
        return x + self.widened(self.second(x))


class Language(nn.Module):
    """Symbols to the logits of the last position; embedding and head share their weight."""

    def __init__(self):
        super().__init__()
        self.symbols, self.places, self.block = nn.Embedding(11, 8), nn.Embedding(5, 8), Block()
        self.head = nn.Linear(8, 11, bias=False)
        self.head.weight = self.symbols.weight

    def forward(self, x):
        """Batch, tokens."""
        x = self.symbols(x) + self.places(torch.arange(x.shape[1], device=x.device))
        return self.head(self.block(x))[:, -1]


class Encoder(nn.Module):
    """PyTorch's own layer, causal."""

    def __init__(self):
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, norm_first=True)
        self.register_buffer("mask", nn.Transformer.generate_square_subsequent_mask(5))

    def forward(self, x):
        """Batch, tokens, coordinates."""
        return self.layer(x, src_mask=self.mask, is_causal=True).flatten(1)


def convolution():
    return nn.Sequential(
        nn.Conv2d(3, 4, 3, stride=2, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2, padding=1),
        nn.Conv2d(4, 4, 3, padding="same", groups=2), nn.AvgPool2d(2, 1, 1), nn.Flatten(), nn.Linear(64, 3),
    )  # fmt: skip


def pools():
    return nn.Sequential(
        nn.Conv2d(3, 4, 1), nn.GroupNorm(2, 4), nn.MaxPool2d(2, ceil_mode=True), nn.AvgPool2d(3, 2, ceil_mode=True),
        nn.AvgPool2d(2, 1, 1, count_include_pad=False), nn.AdaptiveAvgPool2d((2, 1)), nn.Flatten(),
    )  # fmt: skip


def pointwise():
    kinds = [nn.LeakyReLU(0.2), nn.GELU(), nn.GELU("tanh"), nn.Sigmoid(), nn.Tanh(), nn.ELU(), nn.Softplus(),
             nn.Hardswish(), nn.ReLU6(), nn.Mish(), nn.PReLU(), nn.LogSoftmax(-1)]  # fmt: skip
    return nn.Sequential(nn.Linear(4, 6), *kinds)


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.head = nn.LSTM(4, 3, batch_first=True), nn.Linear(3, 2)

    def forward(self, x):
        """Batch, times, inputs."""
        return self.head(self.inner(x)[0][:, -1])


class Odds(nn.Module):
    """Norms, extremes, sums so far, gates, instances, a weight of length one."""

    def __init__(self):
        super().__init__()
        self.inner = nn.utils.parametrizations.weight_norm(nn.Linear(6, 4))
        self.first = nn.Sequential(nn.Conv1d(3, 4, 2, groups=1), nn.InstanceNorm1d(4, affine=True))

    def forward(self, x):
        """Batch, channels, places."""
        gated = nn.functional.glu(self.inner(self.first(x)), 1)
        unit = nn.functional.normalize(gated.cumsum(2), dim=-1)
        products = torch.einsum("bij,bkj->bik", gated, unit).flatten(1)
        return torch.cat([unit.max(2).values, unit.std(1), products], 1)


KINDS = {
    "recurrent": (Recurrent, (5, 4)),
    "odds": (Odds, (3, 7)),
    "convolution": (convolution, (3, 9, 9)),
    "pools": (pools, (3, 10, 10)),
    "pointwise": (pointwise, (4,)),
    "language": (Language, None),
    "encoder": (Encoder, (5, 8)),
}


def sample(kind):
    """Module with moments that are not those of a new one, data, and its outputs."""
    torch.manual_seed(0)
    build, shape = KINDS[kind] if isinstance(kind, str) else kind
    module = build()
    for item in module.modules():
        if getattr(item, "running_mean", None) is not None:
            item.running_mean.normal_()
            item.running_var.uniform_(0.5, 2)
    if shape is None:
        x = RANDOM.integers(0, 11, (6, 5))
    else:
        x = RANDOM.standard_normal((6, *shape)).astype(np.float32)
    training = module.training
    outputs = module.eval()(torch.as_tensor(x)).detach().numpy()
    return module.train(training), x, outputs


@pytest.mark.parametrize("kind", KINDS)
def test_outputs_and_derivatives_are_those_of_pytorch(kind):
    module, x, outputs = sample(kind)
    function = of_torch(module, x)
    loss = lambda params: (function.apply(params, x) ** 2).sum()  # noqa: E731
    # Without optimisation XLA errs in the slopes of pools, as one program.
    slopes = (jax.grad(loss) if kind == "pools" else jax.jit(jax.grad(loss)))(function.params)
    (module.eval()(torch.as_tensor(x)) ** 2).sum().backward()
    for name, item in module.named_parameters():
        size = float(item.grad.abs().max())
        np.testing.assert_allclose(slopes[name], item.grad, rtol=0, atol=2e-5 * size + 1e-6)
    module.train()
    np.testing.assert_allclose(function.outputs(x), outputs, atol=1e-6, rtol=1e-6)
    assert function.size == sum(item.numel() for item in module.parameters())
    assert module.training  # as it was


def test_a_shared_weight_is_one_parameter():
    module, x, _ = sample("language")
    assert {"symbols.weight", "head.weight"} & {*of_torch(module, x).names} == {"symbols.weight"}


def test_what_is_free_in_a_block_is_found_at_its_heads_and_norms():
    x = RANDOM.standard_normal((60, 5, 8)).astype(np.float32)
    function = of_torch(nn.Sequential(Block(), nn.Flatten()), x)
    spectrum = jacobian_spectrum(function.apply, x, function.params)
    assert [*sources(function, x, spectrum).by_source().values()] == [48, 2 * 16, 2 * 20, 2 * 16, 0]


def vectors():
    return nn.Sequential(
        nn.Flatten(), nn.Linear(8, 6), nn.ReLU(), nn.Dropout(), nn.BatchNorm1d(6),
        nn.Sequential(nn.Linear(6, 5), nn.SiLU(), nn.LayerNorm(5)), nn.Linear(5, 3, bias=False), nn.Softmax(-1),
    )  # fmt: skip


class Residual(nn.Sequential):
    def forward(self, x):
        return x + super().forward(x)


def stream():
    blocks = [
        Residual(nn.LayerNorm(6), nn.Linear(6, 6), nn.ReLU(), nn.Linear(6, 6)) for _ in range(2)
    ]
    return nn.Sequential(nn.Linear(4, 6), *blocks, nn.LayerNorm(6), nn.Linear(6, 3))


class Untied(Language):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(8, 11)


def layered(kind, layers=None):
    """Network, and its activations, of which the last are the module's outputs."""
    module, x, outputs = sample(kind)
    function = of_torch(module, x, layers)
    assert function.notes == ()
    values = activations(steps(function.network, False), function.rows(x), False)
    np.testing.assert_allclose(values[-1].reshape(len(x), -1), outputs, atol=1e-6)
    kinds = [(item.activation, item.positions) for item in function.network.sections]
    return module, function.network, values, kinds


def test_a_chain_of_vectors_has_its_layers():
    module, network, _, kinds = layered((vectors, (2, 4)))
    assert kinds == [(name, False) for name in ["relu", None, "silu", None, "identity", None]]
    np.testing.assert_array_equal(network.params[0]["weight"], module[1].weight.detach())


def test_a_residual_block_is_a_layer():
    _, network, _, kinds = layered((stream, (4,)))
    assert [kind for kind, _ in kinds] == ["identity", None, None, "identity"]
    assert len(network.params[1]) == 6
    # What normalises the stream for its reader.
    assert {"3.weight", "3.bias"} < set(network.params[2])


def test_a_transformer_has_layers_of_positions_and_symbols_one_hot():
    _, network, values, kinds = layered((Untied, None))
    together = (None, True)
    assert kinds == [*4 * [together], ("identity", False), together]
    assert [item.shape[1:] for item in values] == [(5, 11), *4 * [(5, 8)], (5, 11), (1, 11)]
    assert list(network.params[0]) == ["symbols.weight"]
    assert len(interaction_basis(network, values[0], kind="local", few=True).layers) == len(values)


def test_layers_of_any_module_are_named():
    _, network, values, kinds = layered("convolution", ["2", "6"])
    assert [kind for kind, _ in kinds] == [None, None, "identity"]
    assert sorted(network.params[0]) == ["0.bias", "0.weight", "1.bias", "1.weight"]
    assert [item.shape[1] for item in values] == [243, 100, 64, 3]
    module, x, _ = sample("convolution")
    assert "name submodules where" in of_torch(module, x).notes[0]
    module, x, _ = sample("encoder")
    with pytest.raises(ArgumentError, match=r"goes around `layer\.norm1`"):
        of_torch(module, x, ["layer.norm1"])
    with pytest.raises(ArgumentError, match=r"is none\. Did you mean `layer\.norm"):
        of_torch(module, x, ["layer.norm9"])
    module, x, _ = sample("language")
    with pytest.raises(ArgumentError, match=r"`symbols\.weight` acts in two"):
        of_torch(module, x, ["block"])
    alike = nn.Sequential(nn.Linear(4, 3), nn.Flatten())
    assert "acts on each alike" in of_torch(alike, np.ones((2, 5, 4))).notes[0]


def test_half_precision_is_read_in_single():
    module, x, outputs = sample((vectors, (2, 4)))
    with torch.no_grad():
        for item in module.parameters():
            item.copy_(item.bfloat16())
    outputs = module.eval()(torch.as_tensor(x)).detach().numpy()
    np.testing.assert_allclose(of_torch(module.bfloat16(), x).outputs(x), outputs, atol=1e-2)


def test_parameters_that_require_no_gradient_stay_and_are_told():
    """The last layer alone moves: a linear function of its 21 numbers, of which the hidden values free none."""
    module = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 3))
    module[0].requires_grad_(False)
    x = RANDOM.standard_normal((40, 4)).astype(np.float32)
    function = of_torch(module, x)
    assert set(function.names) == {"2.weight", "2.bias"}
    assert function.notes[0].startswith("Network: 30 of 51 parameters require no gradient")
    assert not module[0].weight.requires_grad
    np.testing.assert_allclose(function.outputs(x), module(torch.as_tensor(x)).detach(), atol=1e-6)
    assert jacobian_spectrum(function.apply, x, function.params).rank == 21
    with pytest.raises(ArgumentError, match=r"have only .* where layers are named, but has 30"):
        of_torch(module, x, ["1"])
    module.requires_grad_(False)
    with pytest.raises(ArgumentError, match="but has 51"):
        of_torch(module, x)


class Branches(nn.Linear):
    def forward(self, x):
        return super().forward(x) if x.sum() > 0 else x


class Noise(nn.Linear):
    def forward(self, x):
        return super().forward(nn.functional.dropout(x))


class Several(nn.Linear):
    def forward(self, x):
        return super().forward(x), x


@pytest.mark.parametrize(
    ("build", "shape", "says"),
    [
        (lambda: nn.Sequential(nn.Conv2d(3, 3, 1), nn.Sequential(nn.Upsample(scale_factor=2, mode="bilinear"))),
         (3, 4, 4), r"`1\.0` is a `nn\.Upsample`, which is not read, for its `upsample_bilinear2d`"),
        (lambda: nn.ConvTranspose1d(3, 3, 2), (3, 4), r"it is a `nn\.ConvTranspose1d`, which is not"),
        (lambda: Noise(3, 3), (3,), "it is a `Noise`, which is not read"),
        (lambda: Branches(3, 3), (3,), "exported by torch.export.*test_torch_reader.*branch"),
        (lambda: Several(3, 3), (3,), "one tensor of outputs, but gives 2"),
        (lambda: nn.Conv1d(3, 3, 1), (3, 4), r"gives shape \(4, 3, 4\)"),
        (nn.ReLU, (3,), "at least one array"),
        (lambda: nn.Sequential(nn.Linear(3, 2), nn.Softmax(0)), (3,), "example by itself, but mixes"),
    ],
)  # fmt: skip
def test_what_is_not_read_is_refused_by_class_and_place(build, shape, says):
    with pytest.raises(ArgumentError, match=says) as caught:
        of_torch(build().train(), RANDOM.standard_normal((6, *shape)).astype(np.float32))
    assert "\n" not in str(caught.value)


def test_data_that_a_module_does_not_take_are_refused_in_a_line():
    """JAX takes a symbol out of range for the last one."""
    module, x, _ = sample("language")
    says = r"`model` must answer the data, but fails at .*py, line"
    for data in (x + 11, x[:, :3, None]):
        with pytest.raises(ArgumentError, match=says):
            of_torch(module, data)
    with pytest.raises(ArgumentError, match="which is not read, for its `padding_idx or"):
        of_torch(nn.Sequential(nn.Embedding(11, 3, padding_idx=0), nn.Flatten()), x)
