"""Training: steps, lanes, workers and sweeps.

The same everywhere, and explained here alone: `position` is a pytree of floating arrays, `inputs` go on to `velocity`,
whose result has the structure of `position`, `learning_rate` and `weight_decay` >= 0 are numbers or traced scalars.
"""
