"""Snapshots of parameters: the whole state of a run, kept beside what its study observes."""

from dataclasses import replace

import jax
import jax.numpy as jnp

from foretrain.dynamics.program import KEEP_STATE, Completed
from foretrain.errors import one_of
from foretrain.vocabulary import STATE


def with_snapshots(program: Completed, keep_state: str) -> Completed:
    """The program with its state stored: at the "end" of a run, at "all" observations, or not at all ("no").

    A leaf of the state is stored as ``state_<path>``, such as ``state_0_encoders`` for the field ``encoders`` of the first
    entry of a tuple; what an optimiser remembers is among them. Nothing else about a run changes, nor does its identity.

    Cost: memory and disk of one state per run, or per observation.

    Raises:
        ArgumentError: there is no such choice.
    """
    one_of("keep_state", keep_state, KEEP_STATE)
    if keep_state == "end":
        finish = program.finish
        return replace(program, finish=lambda inputs, s: {**finish(inputs, s), **_leaves(s)})
    if keep_state == "all":
        observe = program.observe
        return replace(program, observe=lambda inputs, s: {**observe(inputs, s), **_leaves(s)})
    return program


def _leaves(state):
    """Leaves of the state by name; of random keys their data."""
    named = {}
    for path, leaf in jax.tree_util.tree_leaves_with_path(state):
        text = jax.tree_util.keystr(path, simple=True, separator="_")
        is_key = jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
        named[f"{STATE}{text}"] = jax.random.key_data(leaf) if is_key else leaf
    return named
