"""Tasks: data, their statistics, gates and masks.

The same everywhere, and explained here alone: `generator` is the source of randomness, `domains` M >= 1, `trained_outputs`
K in 1..M, `trained_pairs` T (input domain, output domain), `hidden_width` that of every pathway, `heldout_fraction` in
[0, 1), `inputs` and `targets` (sample, ...). Masks are int8 (M, M), 1 where a pair is trained. An argument outside its
range, or of another shape, raises `ArgumentError`.
"""
