"""Results on disk: the journal of finished runs, the labelled store they are folded into, and what is read from it.

A folder of results holds

- ``manifest.json``: what is computed there;
- ``journal/``: immutable segments of finished runs, durable as soon as they are written;
- ``results.zarr``: the segments folded into one labelled tree with groups ``/simulation``, ``/theory``, ``/claims``;
- ``summary.json``: the outcome in brief, with all that depends on when and how fast it was computed.

Nothing here knows a study, a network or JAX.
"""
