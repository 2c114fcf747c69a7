"""Tasks that tests predict: routes, with an edge from every input domain and one to every output domain, and a deep path."""

import numpy as np

from foretrain.graph import graph_from_dict
from foretrain.networks.gated import example_loss, initial_weights, statistics_gradient
from foretrain.predict.predict import predict
from foretrain.tasks.gated_data import GatedData
from foretrain.tasks.statistics import gather_statistics


def of(data: GatedData, **options):
    return predict(data.graph, data, **options)


def deep(weak=0.5) -> GatedData:
    """A path of four edges of two units, with modes of strength 2 and `weak`."""
    nodes = dict.fromkeys(["x", "a", "b", "c", "y"], 2)
    edges = {"1": ["x", "a"], "2": ["a", "b"], "3": ["b", "c"], "4": ["c", "y"]}
    graph = graph_from_dict({"nodes": nodes, "edges": edges})
    return GatedData(graph, {"x": np.eye(2)}, {"y": np.diag([2.0, weak])})


def routes(table, *, width=6, banks=1, weights=None) -> GatedData:
    """From domain i to domain j the answer to 1 is ``table[j][i]``; every route is one example of given weight."""
    table = np.array(table, dtype=float)
    outputs, inputs = table.shape
    nodes = {f"x{i}": 1 for i in range(inputs)} | {f"h{k}": width for k in range(banks)}
    nodes |= {f"y{j}": 1 for j in range(outputs)}
    edges = {f"in{i}": [f"x{i}", "h0"] for i in range(inputs)}
    edges |= {f"on{k}": [f"h{k}", f"h{k + 1}"] for k in range(banks - 1)}
    edges |= {f"out{j}": [f"h{banks - 1}", f"y{j}"] for j in range(outputs)}
    j, i = (index.ravel() for index in np.indices(table.shape))
    size = np.ones(table.size) if weights is None else np.sqrt(np.ravel(weights))
    return GatedData(
        graph_from_dict({"nodes": nodes, "edges": edges}),
        {f"x{k}": ((i == k) * size)[:, None] for k in range(inputs)},
        {f"y{k}": ((j == k) * table[j, i] * size)[:, None] for k in range(outputs)},
        {f"in{k}": i == k for k in range(inputs)} | {f"out{k}": j == k for k in range(outputs)},
    )


def trained_loss(data: GatedData, *, init_scale, seed, steps=4000, learning_rate=0.2) -> float:
    """Loss after descent of the whole network from small random weights."""
    statistics = gather_statistics(data)
    generator = np.random.default_rng(seed)
    weights = initial_weights(data.graph, generator, law="normal", init_scale=init_scale)
    for _ in range(steps):
        gradient = statistics_gradient(statistics, weights)
        weights = {name: weights[name] - learning_rate * gradient[name] for name in weights}
    return example_loss(data.graph, weights, data.inputs, data.targets, data.gates).mean()
