"""For every study of the catalogue the smallest run that still has its axes, its variants and all of its figures."""

from pathlib import Path

import foretrain
from foretrain.results.result import Result

SMALL = {
    "adiabatic-limit": {
        "samples": 3,
        "dimension": 2,
        "steps": 40,
        "rate_ratio": (0.01, 0.1, 1.0),
        "output_dim": (8, 16),
    },
    "bumps": {
        "dimension": 9,
        "steps": 200,
        "optimizer": ("sgd", "adam"),
        "rank": (2, 9),
        "init_scale": 1.0,
        "relative_rate": (1.0, 10.0),
    },
    "circulant": {"domains": 6, "width": (2, 3, 5), "init_scale": (0.1, 1e-3, 1e-6)},
    "class-collapse": {"per_class": 3, "hidden_width": 8, "steps": 40},
    "connectivity": {
        "languages": 3,
        "words": 2,
        "hidden_width": (4, 6),
        "init_scale": (0.1, 0.01),
        "trained_count": (3, 7),
    },
    "context": {"hidden_width": 16, "samples": 50, "steps": 600},
    "critical-fraction": {
        "symbols": 4,
        "hidden_width": 16,
        "steps": 600,
        "observe_every": 50,
        "training_size": (6, 8, 9),
    },
    "cross-entropy": {
        "dimension": 12,
        "steps": 200,
        "rank": (2, 4),
        "target_scale": (1.0, 100.0),
    },
    "deep-linear-coefficients": {
        "network": ("4-1-3 r0", "2-2-2 r0", "3-3-3 r1"),
        "beta": (1000.0, 100.0),
        "draws": 200,
    },
    "degeneracy-over-training": {
        "domains": 2,
        "trained_outputs": 1,
        "hidden_width": 4,
        "updates": 160,
        "bits": 8,
        "neurons": 8,
    },
    "free-directions": {"networks": 2, "samples": 300, "updates": 60},
    "grokking-phases": {
        "hidden_width": 12,
        "target_dim": 5,
        "steps": 1000,
        "decoder_learning_rate": (1e-3, 1e-2),
        "embedding_learning_rate": (1e-4, 1e-3, 1e-2),
    },
    "image-grokking": {
        "training_size": 20,
        "validation_size": 50,
        "hidden_width": 20,
        "validation_threshold": 0.3,
        "steps": 400,
        "weight_decay": (0.1, 0.0, 1.0),
        "last_learning_rate": (0.003, 0.03),
    },
    "image-routing": {
        "domains": 3,
        "hidden_width": 12,
        "steps": 200,
        "excess_tolerance": 0.3,
        "trained_outputs": (1, 2),
        "init_scale": (0.1, 1.0),
    },
    "initialization": {
        "domains": 3,
        "trained_outputs": 2,
        "hidden_width": 24,
        "steps": 1500,
        "loss_tolerance": 1e-4,
        "init_scale": (0.1, 0.5, 2.5),
    },
    "interaction-basis": {"modulus": 5, "embedding_dim": 8, "hidden_width": 12, "updates": 60},
    "landscapes": {"draws": 20, "chains": 8, "beta": (10.0, 1000.0)},
    "mask-spectrum": {"mask_size": (30, 60)},
    "masked-rank-one": {
        "domains": 5,
        "trained_fraction": 0.5,
        "init_scale": (0.1, 1e-3, 1e-6),
    },
    "modular-transformer": {
        "symbols": 5,
        "embedding_dim": 8,
        "hidden_width": 8,
        "steps": 60,
        "observe_every": 10,
        "snapshots": 3,
        "decoder_learning_rate": 0.003,
        "decoder_decay": (0.0, 1.0),
    },
    "planted-modules": {"strength": (0.01, 1.0), "mediators": (1, 2), "examples": 15},
    "entangled-networks": {"network": ("idle", "across"), "units": (1, 2), "draws": 20},
    "interacting-modules": {"part": ("first, held", "second", "both"), "draws": 20},
    "one-mode": {"steps": 1000, "singular_value": (0.5, 1.0), "init_scale": (0.1, 0.2)},
    "optimizers": {
        "dimension": 10,
        "steps": 400,
        "rank": (1, 2),
        "init_scale": (1.0, 0.1),
        "learning_rate": (0.003, 0.01),
    },
    "parallelograms": {
        "symbols": 5,
        "hidden_width": 12,
        "steps": 100,
        "observe_every": 20,
        "training_size": (8, 13, 14),
    },
    "pathway-race": {"domains": 4, "hidden_width": 16, "steps": 200, "paths": (1, 4)},
    "permutation-group": {
        "hidden_width": 12,
        "steps": 1000,
        "observe_every": 100,
        "training_size": (15, 24, 33),
    },
    "rank-one": {
        "learning_rate": 0.03,
        "steps": 400,
        "observe_every": 20,
        "dimension": (10, 20),
    },
    "ridge-grokking": {
        "dimension": 20,
        "steps": 3000,
        "samples": (15, 10),
        "weight_decay": (0.02, 0.0),
    },
    "routing": {
        "domains": 3,
        "trained_outputs": 2,
        "hidden_width": 8,
        "steps": 400,
        "learning_rate": 0.1,
    },
    "s-curves": {
        "dimension": 12,
        "steps": 120,
        "rank": (2, 12),
        "optimizer": ("sgd", "adam"),
        "loss_function": ("mse", "cross_entropy"),
    },
    "trained-fraction": {
        "domains": 4,
        "hidden_width": 8,
        "steps": 2000,
        "observe_every": 20,
        "trained_outputs": (1, 2, 4),
    },
    "translation": {
        "languages": 4,
        "words": 3,
        "hidden_width": 4,
        "init_scale": (0.3, 0.03),
        "trained_fraction": (0.5, 0.8),
    },
    "xor": {"hidden_width": 16, "steps": 600},
}  # fmt: skip


def small_run(study: str, out: Path) -> Result:
    """Run it with three seeds in this process."""
    return foretrain.run(study, **SMALL[study], seeds=3, out=out, workers=0, quiet=True)
