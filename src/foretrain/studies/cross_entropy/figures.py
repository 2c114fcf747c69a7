"""Figures of ``cross-entropy``: loss, probability and the gradient's two parts along training."""

from foretrain.study import figure, panel

OVER_STEPS = {"across": "target_scale", "x": "step", "scale": "semilogx", "theory": False}
SHARES = {
    "loss over its first": lambda c: c.relative_loss / float(c.start.relative_loss.mean()),
    "probability of the likeliest": lambda c: c.probability_share,
    "accuracy": lambda c: c.row_accuracy,
}
PARTS = {"signal": lambda c: c.signal_length, "decay": lambda c: c.decay_length}
FIGURES = {
    "course": figure(
        "Cross-entropy along training",
        "Top: loss over its mean at the start; probability, given the row, of the entry that the target holds for likeliest, "
        "from chance to the target's own; share of rows whose likeliest entry is right. Bottom: length of the gradient's two "
        "parts, signal and decay. Panels: scale s of the target (s = 100 makes logits of order one at n = 100).",
        panel(SHARES, label="Share", ylim=(0, 1.1), **OVER_STEPS),
        panel(PARTS, label="Length in -gradient", **OVER_STEPS),
        columns=2,
    ),
}
