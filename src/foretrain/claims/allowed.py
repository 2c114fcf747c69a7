"""Intervals that sentences of several studies allow."""

import math

# "A plateau is there", "it is not", "I see two": a statement about every run one looks at. One in ten may differ.
ALWAYS, NEVER, SOME = (0.9, 1.0), (0.0, 0.1), (0.1, 0.9)
MOST = (0.5, 1.0)  # a majority
POSITIVE, NEGATIVE = (1e-9, math.inf), (-math.inf, -1e-9)  # a difference that the seeds establish
