"""What is said alike of the toy model in several studies, and what their claims and figures look at."""

import numpy as np

from foretrain.claims.sentence import Sentence, claim
from foretrain.quantities.allowed import POSITIVE
from foretrain.quantities.measured import PerSeed
from foretrain.quantities.rank_correlation import rank_correlation
from foretrain.quantities.trajectory import at_end
from foretrain.training.embedding import operation

SLACK = 1e-6  # rounding of shares in float32


def ends(data, p):
    """All that a run has at its end, and `accuracy`, the share of all samples that is answered right.

    Args:
        data: Runs, with the training size among their dims.
        p: Parameters of all of them.
    """
    found = at_end(data)
    trained = data["training_size"] / len(operation(p).samples)
    train, rest = found["train_accuracy"], found["validation_accuracy"]
    return found.assign(accuracy=trained * train + (1 - trained) * rest)


def by_size(values):
    """Array (size, seed, ...)."""
    return values.transpose("training_size", "seed", ...).values


def swept_sizes(cell):
    """Training sizes, float (size,), if there are enough for a trend, else None."""
    values = np.array(cell.values("training_size"), float)
    return values if values.size > 2 else None


def growth(values, sizes) -> np.ndarray:
    """Rank correlation over training sizes of values (size, seed), shape (seed,); 0 where they are the same at every size."""
    return np.nan_to_num(rank_correlation(values.T, sizes))


def better_with_size(source: str) -> Sentence:
    """The sentence that RQI grows with the training size."""

    def grows(cell):
        if (sizes := swept_sizes(cell)) is None:
            return None
        return growth(by_size(at_end(cell.simulation["rqi"])), sizes)

    return claim(
        "grows",
        "More training samples make better representations.",
        grows,
        source=source,
        near=1,
        inside=POSITIVE,
        why="A difference that the seeds establish.",
        note="Rank correlation of RQI with the training size.",
        along="training_size",
    )


def told_by_decoder(end) -> PerSeed:
    """How much better validation accuracy goes with the RQI after the decoder than with that before, over training sizes.

    Args:
        end: Ends of runs, as `ends` gives them.
    """
    after, before, real = (
        by_size(end[name]).T for name in ("decoder_rqi", "rqi", "validation_accuracy")
    )
    # An RQI that is the same at every size tells nothing: no correlation.
    after, before = (np.nan_to_num(rank_correlation(one, real)) for one in (after, before))
    note = f"Rank correlations over training sizes: {after.mean():.2f} after, {before.mean():.2f} before."
    return PerSeed(after - before, note)
