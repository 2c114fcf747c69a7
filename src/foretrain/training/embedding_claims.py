"""Readings of the toy model that several studies share."""

from foretrain.training.embedding import operation

SLACK = 1e-6  # rounding of shares in float32


def fractions(c):
    """Return the training sizes as fractions of all samples, with the dim training_size."""
    return c.axis("training_size") / len(operation(c.p).samples)


def accuracy(c, network=""):
    """Return the fraction of all samples that a network answers right at the end of its runs."""
    end, trained = c[network].end, fractions(c)
    return trained * end.train_accuracy + (1 - trained) * end.validation_accuracy
