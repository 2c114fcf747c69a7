"""Every kind of layer trained by PyTorch in float64, from the same weights and on the same minibatches."""

import numpy as np
import pytest

from foretrain.elsewhere.own_model import own_model
from foretrain.explain.own_network import described
from foretrain.explain.simulated import Corner, simulator_of

torch = pytest.importorskip("torch")
RANDOM = np.random.default_rng(0)
X, SYMBOLS = RANDOM.standard_normal((12, 6)), RANDOM.integers(0, 7, (12, 6))
Y, CLASSES = np.sin(X[:, :2] * 2), RANDOM.integers(0, 2, 12)
FILE = """
import torch
from torch import nn

class Residual(nn.Linear):
    def forward(self, x):
        return x + super().forward(x).tanh()

class Recurrent(nn.GRU):
    def forward(self, x):
        return super().forward(x)[0].flatten(1)

class Noisy(nn.Linear):
    def forward(self, x):
        return super().forward(nn.functional.dropout(x, 0.5, self.training))

class Masked(nn.Linear):
    def __init__(self):
        super().__init__(6, 2)
        self.register_buffer("mask", torch.ones(6))

    def forward(self, x):
        return super().forward(x * self.mask)

def make():
    return nn.Sequential(LAYERS)

made = make()
"""
MOMENTUM = {"optimizer": "momentum", "momentum": 0.8, "learning_rate": 0.03, "batch_size": 4}
NESTEROV = MOMENTUM | {"optimizer": "nesterov", "order": RANDOM.integers(0, 12, (40, 4))}
ADAM = {"optimizer": "adam", "learning_rate": 0.01, "batch_size": 5, "betas": (0.8, 0.99)}
ADAMW = {"optimizer": "adamw", "learning_rate": 0.02, "loss": "cross_entropy", "weight_decay": 0.1}
# Layers, how they are trained, and what the notes say of them.
LAYERS = {
    "nn.Linear(6, 9), nn.Tanh(), nn.Linear(9, 2)": ({}, ""),
    "nn.Unflatten(1, (2, 3)), nn.Conv1d(2, 3, 2, bias=False), nn.LeakyReLU(0.1), nn.Flatten(), nn.Linear(6, 2)":
        ({"weight_decay": 0.02}, ""),
    "nn.Linear(6, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 2)":
        (MOMENTUM, "Trained in evaluation: normalisation has its stored moments, no batch's (1)."),
    "nn.Linear(6, 4), nn.LayerNorm(4), nn.GELU(), nn.Linear(4, 2)": (ADAM, ""),
    "nn.Linear(6, 4), nn.Dropout(), nn.Dropout(0.0), nn.Linear(4, 2)":
        ({}, "Trained in evaluation: dropout is off (1)."),
    "nn.Embedding(7, 4), nn.Flatten(), nn.Linear(24, 2)": (ADAMW, ""),
    "nn.Unflatten(1, (2, 3)), nn.TransformerEncoderLayer(3, 1, 4, batch_first=True), nn.Flatten(), nn.Linear(6, 2)":
        ({}, "dropout is off (1.self_attn, 1.dropout, 1.dropout1, 1.dropout2)."),
    "nn.Unflatten(1, (3, 2)), Recurrent(2, 4, 2, batch_first=True, dropout=0.1), nn.Linear(12, 2)":
        ({}, "is off (1)."),
    "Residual(6, 6), nn.Linear(6, 2)": (NESTEROV | {"clip": 0.2}, ""),
    "Noisy(6, 2)": ({}, "Trained in evaluation: dropout is off (or another rule of its forward, by no layer that is known)."),
    "Masked()": ({}, "Buffers stay as they are: 0.mask."),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore")  # of PyTorch about itself
@pytest.mark.parametrize("layers", LAYERS)
def test_every_kind_of_layer_is_trained_as_by_pytorch_in_evaluation(x64, tmp_path, layers):
    """Each layer that acts otherwise in PyTorch's training is named, and every kind can be held to first order."""
    (tmp_path / "mine.py").write_text(FILE.replace("LAYERS", layers))
    options, note = LAYERS[layers]
    classes = options.get("loss") == "cross_entropy"
    x, y = SYMBOLS if "Embedding" in layers else X, CLASSES if classes else Y
    network, other = (own_model(f"{tmp_path / 'mine.py'}:{name}", x) for name in ("make", "made"))
    for notes in (network.notes, other.notes):
        assert note in " ".join(notes)
        assert note or not ("evaluation" in str(notes) or "Buffers" in str(notes))
    options = {"learning_rate": 0.1, "steps": 40} | options
    training = described(network.apply, network.init, x, y, **options)
    simulator = simulator_of(training, 1, np.arange(41))
    run, linear = (simulator.run(Corner(r, r, True, True)).train[0] for r in (True, False))

    module = network.functions["make"]().double().eval()
    for name, leaf in module.named_parameters():
        leaf.data = torch.tensor(simulator.starts[name][0])
    kinds = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}
    rules = {"lr": training.learning_rates[0], "weight_decay": training.weight_decay}
    rules |= {"momentum": training.momentum} if training.momentum else {}
    rules |= {"betas": training.betas} if training.optimizer in kinds else {}
    rules |= {"nesterov": True} if training.optimizer == "nesterov" else {}
    descent = kinds.get(training.optimizer, torch.optim.SGD)(module.parameters(), **rules)
    inputs, wanted = torch.tensor(x), torch.tensor(y)

    def loss(seen):
        outputs = module(inputs[seen])
        if classes:
            return torch.nn.functional.cross_entropy(outputs, wanted[seen])
        return ((outputs - wanted[seen]) ** 2).sum() / 2 / len(outputs)

    curve = [loss(np.arange(12)).item()]
    for seen in simulator.rows[0]:
        descent.zero_grad()
        loss(seen).backward()
        torch.nn.utils.clip_grad_norm_(module.parameters(), training.clip)
        descent.step()
        curve.append(loss(np.arange(12)).item())
    assert curve[-1] < 0.9 * curve[0]
    np.testing.assert_allclose(run, curve, rtol=0, atol=1e-6 * curve[0])
    assert linear[0] == pytest.approx(run[0], rel=1e-12)
