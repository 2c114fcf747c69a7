"""Figures of ``circulant``: alignment and generalisation of bands of growing width."""

from foretrain.study import figure, panel
from foretrain.training.masked_rank_one import DEPARTURE, ESCAPE
from foretrain.training.masked_rank_one_claims import generalises

AGAINST = {"x": "init_scale", "by": "width", "theory_label": "linearised flow"}
FIGURES = {
    "misalignment": figure(
        "Narrow bands do not align at any reachable scale",
        "Relative distance of u v^T from the constant matrix when a run departs from zero, for bands of width w. Dashed: the "
        "linearised flow from each run's start. It falls with a power of the scale that vanishes with the spectral gap.",
        panel(
            lambda c: c.stage_misalignment.isel(stage=DEPARTURE),
            statistic="median",
            scale="loglog",
            ylim=(1e-11, 1.5),
            label="Misalignment at departure",
            theory=lambda c: c.fits.predicted_misalignment.median("seed"),
            **AGAINST,
        ),
        height=5,
        legend=3,
    ),
    "generalisation": figure(
        "Which bands generalise, and from what scale on",
        "Fraction of seeds with zero loss and zero error on untrained pairs; all others are stuck in training. Dashed: the "
        "fraction whose weights have agreeing signs in the linearised flow where its loss would have halved, told before "
        "training. Above a scale of about 0.1 starts are not small, and that flow does not apply.",
        panel(
            lambda c: generalises(c.simulation),
            scale="semilogx",
            label="Fraction of seeds that generalise",
            theory=lambda c: c.theory.predicted_agreement.isel(stage=ESCAPE).astype(float),
            **AGAINST,
        ),
        height=5,
        legend=3,
    ),
}
