"""Predictions for a gated network and data that the user brings."""

from foretrain.lazy import verb

verb(__name__)
