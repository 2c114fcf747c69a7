"""A network of the user's own, explained: its kernel at the start, its corners, the share of every assumption, its regime."""

from foretrain.lazy import verb

verb(__name__)
