"""Start of a run of the toy model: drawn, or from arrays in a file."""

from functools import cache
from typing import Any

import numpy as np

from foretrain.errors import argument_error, finite_array
from foretrain.networks.drawn import check_drawn
from foretrain.networks.embedding import Decoder, decoder_shapes, draw_decoder
from foretrain.streams import Seed, generator
from foretrain.tasks.array_files import read_npz
from foretrain.tasks.data_files import DataFile, data
from foretrain.tasks.groups import Operation, named

operation_of = cache(named)


def shapes(p: Any, operation: Operation) -> dict[str, tuple[int, ...]]:
    """Shape of every array that a run starts from, but for its training samples."""
    entries = p.embedding_dim if operation.commutative else p.embedding_dim**2
    outputs = p.target_dim if p.objective == "regression" else operation.outcomes
    return {
        "embedding": (operation.symbols, entries),
        **decoder_shapes(entries, p.hidden_width, outputs),
        "targets": (operation.outcomes, outputs),
    }


def start(p: Any, operation: Operation, seed: Seed) -> dict[str, np.ndarray]:
    """Embedding, decoder, targets and the training set, bool (sample,), of one run.

    One seed has one start: sizes of the training set are nested, and the scale only multiplies the embedding.
    """
    sizes = shapes(p, operation)
    check_drawn(sizes.values())
    uniform = generator(seed, "embedding").uniform(-0.5, 0.5, sizes["embedding"])
    entries, hidden = sizes["weight_1"]
    outputs = sizes["targets"][1]
    decoder = draw_decoder(generator(seed, "weights"), entries, hidden, outputs)
    random = generator(seed, "targets").standard_normal(sizes["targets"])
    order = generator(seed, "data").permutation(len(operation.samples))
    return {
        "embedding": p.init_scale * uniform,
        **decoder._asdict(),
        "targets": random if p.objective == "regression" else np.eye(outputs),
        "training": np.argsort(order) < p.training_size,
        **(_imported(p, operation, seed, sizes) if p.start_file else {}),
    }


def reads(p: Any, seed: Seed) -> list[DataFile]:
    """The file that a run starts from."""
    return [data(p.start_file.replace("{seed}", str(seed.number)))] if p.start_file else []


def check_start_file(p: Any, operation: Operation) -> None:
    """Refuse a file of arrays, that of the first seed, that is missing or does not fit, before anything is trained."""
    if p.start_file:
        _imported(p, operation, Seed(0, 0), shapes(p, operation))


def _imported(p, operation, seed, sizes):
    """The arrays of the file, of the shapes that the network has."""
    (file,) = reads(p, seed)
    arrays = read_npz(file.path or file.name)
    known = {*sizes, "training_samples"} - ({"targets"} if p.objective != "regression" else set())
    for name in arrays.keys() - known:
        names = ", ".join(sorted(known))
        raise argument_error("start_file", f"hold arrays among {names}", f"holds `{name}`")
    samples = arrays.pop("training_samples", None)
    imported = {} if samples is None else {"training": _training(p, operation, samples)}
    for name, values in arrays.items():
        array, wanted = finite_array(name, values), sizes[name]
        if name.startswith("weight"):  # PyTorch keeps a linear layer as (out, in).
            array, wanted = array.T, wanted[::-1]
        if array.shape != sizes[name]:
            raise argument_error(name, f"have shape {wanted}", f"has shape {values.shape}")
        imported[name] = array
    return imported


def _training(p, operation, pairs):
    """The training set of pairs of symbols, (sample, 2), in any order."""
    name, count, pairs = "training_samples", p.training_size, np.asarray(pairs)
    if pairs.dtype.kind not in "iu" or pairs.shape != (count, 2):
        rule = f"hold `training_size` = {count} pairs of whole numbers"
        raise argument_error(name, rule, f"has shape {pairs.shape} and dtype {pairs.dtype}")
    pairs = np.sort(pairs, axis=1) if operation.commutative else pairs
    same = (operation.samples[:, None] == pairs).all(2)
    if (unknown := ~same.any(0)).any():
        got = f"holds {tuple(int(a) for a in pairs[unknown][0])}"
        raise argument_error(name, f"be samples of {operation.name}", got)
    if same.any(1).sum() < count:
        raise argument_error(name, "be distinct samples", "holds one twice")
    return same.any(1)


def decoder_of(inputs: dict[str, Any]) -> Decoder:
    """The decoder's start among the inputs of a run."""
    return Decoder(*(inputs[name] for name in Decoder._fields))
