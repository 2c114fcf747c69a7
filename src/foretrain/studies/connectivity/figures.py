"""Figures of the study ``connectivity``: the predicted threshold, errors by kind of pair, precision and recall, limits."""

from foretrain.study import figure, panel
from foretrain.training import translation_claims as pairs

from .claims import all_generalise, fraction, missed_pairs, precision, recall


def error_of(predicted):
    """Return the quantity "mean error of the untrained pairs for which an error is predicted", of runs that converged."""

    def error(c):
        chosen = (c.trained_pairs == 0) & (c.theory.predicted_pair_error == predicted)
        return pairs.mean_over(c.pair_error, chosen).where(pairs.has_converged(c)).clip(1e-9)

    return error


BY_WIDTH = {"across": "hidden_width", "theory": False}
OVER_SCALES = {"x": "init_scale", "by": "trained_count", **BY_WIDTH}
FIGURES = {
    "threshold": figure(
        "Threshold, predicted and measured",
        "Fraction of random masks with which every untrained pair generalises, against the number of trained pairs. Stuck "
        "runs are left out. Dashed, the exact probability that the graph is connected, computed before training.",
        panel(
            all_generalise,
            x="trained_count",
            by="init_scale",
            label="Runs that generalise",
            theory_label="probability that the graph is connected",
            ylim=(-0.04, 1.04),
            **BY_WIDTH | {"theory": lambda c: c.theory.connection_probability},
        ),
        legend=3,
    ),
    "pair-errors": figure(
        "Errors of untrained pairs by their place in the graph",
        "Mean error of the untrained pairs of each kind in converged runs, median over seeds. Dotted: below it a pair counts "
        "as generalising. Small weights part the kinds by orders of magnitude, but not pairs across a reflection at H = 2D.",
        panel(
            {
                "within a component": error_of(0),
                "across components": error_of(1),
                "with a language never trained": error_of(0.5),
            },
            x="init_scale",
            scale="loglog",
            statistic="median",
            label="Error of a pair",
            levels={"generalises below": lambda c: c.p.generalises_below},
            **BY_WIDTH,
        ),
    ),
    "precision-recall": figure(
        "Precision and recall of the graph",
        "Precision, above: of the untrained pairs predicted to generalise, the fraction that does. Recall, below: of those "
        "that generalise, the fraction that was predicted. Runs that did not converge are left out.",
        *(
            panel(quantity, label=label, scale="semilogx", ylim=(-0.03, 1.03), **OVER_SCALES)
            for label, quantity in (("Precision", precision), ("Recall", recall))
        ),
        columns=2,
        legend=3,
    ),
    "limits": figure(
        "Shares in the limit of small weights",
        "Above, runs that get stuck where all factors are square; below, untrained pairs within components that lack half "
        "a mode or more where hidden layers are twice as wide. Dashed, the law up to a factor: the mean of "
        "sigma^(1 - s_2/s_1) over masks.",
        *(
            panel(
                quantity,
                label=label,
                scale="loglog",
                theory_label="law, up to a factor",
                **OVER_SCALES | {"theory": lambda c: c.p.init_scale**c.theory.frame_exponent},
            )
            for label, quantity in {
                "Stuck runs": lambda c: pairs.is_stuck(c) if pairs.is_square(c) else None,
                "Missed pairs": lambda c: (
                    fraction(c, missed_pairs(c), pairs.within_components(c))
                    if pairs.is_wide(c)
                    else None
                ),
            }.items()
        ),
        columns=1,
        legend=3,
    ),
}
