import os

import numpy as np
import pytest

from foretrain.errors import (
    ArgumentError,
    file_argument,
    finite_array,
    integer,
    one_of,
    real,
    same_length,
)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: integer("k", 9, minimum=1, maximum=7), "`k` must be between 1 and 7, but is 9."),
        (lambda: integer("k", 0, minimum=1), "`k` must be at least 1, but is 0."),
        (lambda: integer("k", 1.5), "`k` must be a whole number, but is 1.5."),
        (lambda: integer("k", True), "`k` must be a whole number, but is True."),
        (lambda: real("s", float("nan")), "`s` must be finite, but is nan."),
        (lambda: real("s", "a"), "`s` must be a number, but is 'a'."),
        (lambda: real("s", 0, above=0), "`s` must be greater than 0, but is 0."),
        (lambda: real("s", 2, maximum=1), "`s` must be at most 1, but is 2."),
        (
            lambda: one_of("law", "xaver", ("xavier", "gaussian")),
            "`law` must be one of `xavier`, `gaussian`, but is 'xaver'. Did you mean `xavier`?",
        ),
        (
            lambda: finite_array("x", [1.0, np.inf]),
            "`x` must hold finite numbers, but has 1 that are not, the first at (1,).",
        ),
        (
            lambda: file_argument("x", os.devnull),
            f"`x` must be a regular file, but `{os.devnull}` is a pipe or a device. Put a file in its place.",
        ),
        (lambda: finite_array("x", ["a"]), "`x` must hold real numbers, but has dtype <U1."),
        (lambda: finite_array("x", [1], ndim=2), "`x` must have 2 axes, but has shape (1,)."),
        (lambda: same_length(x=[1, 2], y=[1]), "`y` must be as long as `x` (2), but has length 1."),
    ],
)
def test_every_guard_speaks_the_one_grammar(call, message):
    with pytest.raises(ArgumentError) as raised:
        call()
    assert str(raised.value) == f"Argument {message}"


def test_guards_return_the_cleaned_value():
    assert integer("k", np.int64(3)) == 3
    assert integer("k", 3.0) == 3
    assert real("s", 1) == 1.0
    assert same_length(x=[1, 2], y=(3, 4)) == 2
