"""Powers of the width with which layers and output change in three parametrisations, derived.

A network of depth at least two has n units in every hidden layer, outputs h of size 1 there at the start, a fixed number of
inputs, and takes steps of descent at a rate that does not change with n. By D we mean the gradient of the loss with respect
to h, one number a unit, and by phi the n numbers that go into a layer. One step changes a hidden layer's output by rate x
factor x D |phi|^2, where |phi|^2 ~ n (~ 1 for the first layer, which reads the data), and the output by rate x factor x
|phi|^2 and by what the layers below add.

- ``standard``: h = W phi with W ~ N(0, 1/n), output v phi with v ~ N(0, 1/n). D ~ v ~ n^(-1/2). The first layer changes by
  n^(-1/2), every other hidden one by n^(-1/2) n = n^(1/2), the output by n. That is the first step; the second one starts
  from an error that has grown, so that a coordinate check of ``standard`` reads the first step alone.
- ``ntk``: h = W phi / sqrt(n) with W ~ N(0, 1), output v phi / sqrt(n) with v ~ N(0, 1). D ~ v / sqrt(n) = n^(-1/2). The
  gradient of W has one factor 1/sqrt(n) and h another: all hidden layers change by n^(-1/2) |phi|^2 / n = n^(-1/2), the first
  one by n^(-1/2), the output by |phi|^2 / n = 1. Errors stay of size 1, so every number of steps has these powers.
- ``mup``: as standard, but the first layer is sqrt(n) W x with W ~ N(0, 1/n), and the output v phi / sqrt(n) with
  v ~ N(0, 1/n). D ~ v / sqrt(n) = 1/n. The first layer changes by n D = 1, the others by D |phi|^2 = 1, the output by
  |phi|^2 / n = 1: at any number of steps. That is what muP is defined by, of any optimizer.

The best rate of a given number of steps makes the output change by as much at every width: ``ntk`` and ``mup`` have it at a
power 0 of the width. ``standard`` has it at -1, where hidden layers and readout change the outputs as in ``ntk`` at the rate
times n, and the first layer does not any more.

Adam's steps have no gradient's size: of it only ``mup`` can be declared.

Yang & Hu (2021), Tensor Programs IV: feature learning in infinite-width neural networks. Jacot, Gabriel & Hongler (2018),
Neural tangent kernel.
"""

# Exponents of: the first layer, hidden layers, the network's output, and the best rate.
EXPONENTS = {
    "standard": {"first": -0.5, "hidden": 0.5, "output": 1.0, "rate": -1.0},
    "ntk": {"first": -0.5, "hidden": -0.5, "output": 0.0, "rate": 0.0},
    "mup": {"first": 0.0, "hidden": 0.0, "output": 0.0, "rate": 0.0},
}
