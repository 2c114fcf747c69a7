"""The answer of `foretrain analyze`: how much of a network is free, where, and when that changed."""

from foretrain.lazy import verb

verb(__name__)
