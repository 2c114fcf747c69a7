"""Two classification tasks that no linear network can do and a gated linear one can: XoR, and contextual.

Saxe, Sodhani & Lewallen (2022), appendix A. Their worked example labels x = (1, 1) with y = +1, which is the negation
of exclusive-or as defined in the same paragraph; here equal bits have y = -1. The two differ by a sign of the weights.
"""

import numpy as np

from foretrain.errors import argument_error, integer, one_of
from foretrain.graph import Graph, graph_from_dict
from foretrain.tasks.gated_data import GatedData

GATINGS = ("per_context", "always_on")


def pathways_graph(pathways: int, hidden_width: int, *, input_width: int = 2) -> Graph:
    """Input node ``x`` and output node ``y`` joined by parallel pathways.

    Pathway k, from 1 on, has edges ``in<k>`` and ``out<k>`` and hidden node ``h<k>``; ``x`` has `input_width`, ``y`` the
    width 1.
    """
    integer("pathways", pathways, minimum=1)
    integer("hidden_width", hidden_width, minimum=1)
    numbers = range(1, pathways + 1)
    nodes = {"x": input_width, **{f"h{k}": hidden_width for k in numbers}, "y": 1}
    edges = {f"in{k}": ["x", f"h{k}"] for k in numbers}
    edges |= {f"out{k}": [f"h{k}", "y"] for k in numbers}
    return graph_from_dict({"nodes": nodes, "edges": edges})


def xor(hidden_width: int = 128) -> GatedData:
    """Exclusive-or of two bits with one pathway per example (appendix A.1).

    Pathways have the width N_h, 128 in the paper's figure 3. Four examples: x in {-1, 1}^2, y = 1 where the bits differ and -1
    where they agree; the node gate of ``h<k>`` is open on example k only.
    """
    graph = pathways_graph(4, hidden_width)
    x = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
    y = -x[:, :1] * x[:, 1:]
    gates = {f"h{k + 1}": row for k, row in enumerate(np.eye(4))}
    return GatedData(graph, {"x": x}, {"y": y}, gates)


def contextual(
    hidden_width: int = 8,
    *,
    contexts: int = 2,
    gating: str = "per_context",
    samples: int | None = None,
    generator: np.random.Generator | None = None,
) -> GatedData:
    """Report the first input in context 1, the second in context 2 (appendix A.2), and so on.

    Args:
        contexts: Number of contexts, and of inputs.
        gating: ``per_context``: a pathway for each context, open in it. ``always_on``: one pathway, always open.
        samples: Number of points drawn uniformly from [-1, 1]^contexts, each shown in all contexts, all of context 1 first.
            None: the points (+-1/sqrt 3, +-1/sqrt 3, ...), which have the second moments of the uniform law.
    """
    one_of("gating", gating, GATINGS)
    if samples is None:
        x = (1 - 2 * np.indices((2,) * contexts).reshape(contexts, -1).T) / np.sqrt(3)
    elif generator is None:
        raise argument_error("generator", "be given with `samples`", "is missing")
    else:
        x = generator.uniform(-1, 1, size=(integer("samples", samples, minimum=1), contexts))
    rows = np.repeat(np.eye(contexts), len(x), axis=1) if gating == "per_context" else []
    gates = {f"h{k}": row for k, row in enumerate(rows, 1)}
    graph = pathways_graph(len(gates) or 1, hidden_width, input_width=contexts)
    return GatedData(graph, {"x": np.tile(x, (contexts, 1))}, {"y": x.T.reshape(-1, 1)}, gates)
