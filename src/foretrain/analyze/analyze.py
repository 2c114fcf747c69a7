"""``foretrain analyze``: networks from files, or of one's own in Python, analysed on data."""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from foretrain.analyze import analysis
from foretrain.analyze.analysis import Analysis
from foretrain.analyze.trajectory import Trajectory, trajectory
from foretrain.degeneracy.function import function_of
from foretrain.degeneracy.noise_scale import asked_loss, variance_between
from foretrain.degeneracy.transformer import is_transformer, one_hot
from foretrain.elsewhere.examples import read_examples
from foretrain.elsewhere.own_model import function_from, is_network, own_model
from foretrain.errors import argument_error, file_argument, known_options, real
from foretrain.tasks.array_files import read_npy


def analyze(model: Any, *arrays: Any, **options: Any) -> Analysis | Trajectory:
    """Say how much of a network is free at a noise scale, by curvature, counting and sampling.

    Args:
        model, *arrays: One of the following; with labels y the loss is that of training.

            - a pure function ``apply(params, x)`` that gives outputs (example, output), in JAX; params, x, and perhaps y;
            - a PyTorch or Equinox module, a `foretrain.degeneracy.network.Network` or a
              `foretrain.degeneracy.function.Function`; x, and perhaps y;
            - a file, or several; the file of data, and perhaps that of labels; see `analyze_files`.

        **options: Of `foretrain.analyze.analysis.analyze`; ``part``, names of parameters that move while others stay; of
            files those of `analyze_files`.

    Returns:
        An object that prints itself, with ``plot()`` and ``dataset()``.

    Example: of a linear map through two hidden units, only the two numbers that it comes to matter.

        >>> import numpy as np
        >>> import foretrain
        >>> apply = lambda params, x: x @ params["inner"] @ params["outer"]
        >>> params = {"inner": np.eye(2), "outer": np.ones((2, 1))}
        >>> x = np.random.default_rng(0).standard_normal((20, 2))
        >>> analysis = foretrain.analyze(apply, params, x, noise_scale=0.01, seconds=0)
        >>> analysis.parameters, analysis.jacobian.rank
        (6, 2)
    """
    if isinstance(model, str | Path) or (isinstance(model, list | tuple) and model):
        known_options("foretrain.analyze", options, analyze_files, analysis.analyze)
        return analyze_files(model, *arrays, **options)
    part = options.pop("part", None)
    known_options("foretrain.analyze", options, analysis.analyze)
    whole = is_network(model)
    apply: Any = model
    rest = arrays if whole else arrays[1:]
    if not (whole or callable(model)) or not 1 <= len(rest) <= 2 - ("y" in options):
        rule = "be a file, a module, or a function followed by its parameters and data"
        raise argument_error("model", rule, f"is {type(model).__name__} and {len(arrays)} more")
    x, *y = rest
    function = function_from(model, x) if whole else function_of(apply, arrays[0], x)
    function = _part(function, part) if part else function
    return analysis.analyze(function, x, **(options | dict(zip(["y"], y, strict=False))))


def analyze_files(
    models: str | Path | Sequence[str | Path],
    data: str | Path,
    labels: str | Path | None = None,
    *,
    activation: str = "relu",
    layers: Sequence[str] | None = None,
    outputs: str | Path | None = None,
    part: Sequence[str] | None = None,
    noise_scale: float | str | None = None,
    wiring: bool = False,
    **options: Any,
) -> Analysis | Trajectory:
    """Analyse a model on an array of data; several over their training, or the first with the others as its seeds.

    Args:
        models, activation, layers: See `foretrain.elsewhere.own_model.own_model`. Several are moments of training, in the
            order of the number behind a word such as step or epoch in their names, else of the last number; or with the
            noise scale "seeds" other seeds.
        data: An .npy file, (n, ...), or an .npz file of ``x`` and perhaps ``y``, as of `foretrain.elsewhere.examples`; for
            foretrain's transformer also pairs of symbols, (n, 2), whole numbers from 0.
        labels: An .npy file of ``y``, (n,) classes, whole numbers, or (n, outputs) targets.
        outputs: An .npy file, what the first model answers on the data: it is compared.
        part: Names of parameters that move, with all below them; the others stay as they are.
        noise_scale: Loss below which a difference does not count; "seeds" for the variance between the models' outputs;
            None takes it from the data.
        wiring: True for the modules of every moment, as with their number; one model's are always found.
        **options: Of `foretrain.analyze.analysis.analyze`; over training nothing is sampled, and no part kept.

    Raises:
        ArgumentError, StoreError: A file or an option cannot be used; the data cannot be read.
    """
    models = [models] if isinstance(models, str | Path) else list(models)
    if noise_scale not in (None, "seeds"):
        noise_scale = real("noise_scale", noise_scale, above=0)
    arrays = read_examples(data, labels)
    x, y = arrays["x"], arrays.get("y")
    known = None if outputs is None else read_npy(file_argument("outputs", outputs))
    how = {"activation": activation, "layers": layers}
    functions = [
        own_model(model, x, outputs=None if number else known, **how).function(x)
        for number, model in enumerate(models)
    ]
    network = functions[0].network
    if network is not None and is_transformer(network):
        x = one_hot(network, x, "data")
    source, label = "as given", Path(models[0]).name
    if noise_scale == "seeds":
        loss = asked_loss(y, functions[0].outputs(x), options.get("loss"))[1]
        noise_scale = variance_between(functions, x, loss)
        source, functions = f"variance between {len(functions)} models", functions[:1]
    if part:
        functions = [_part(function, part) for function in functions]
    options |= {"noise_scale": noise_scale, "y": y, "source": source}
    if len(functions) == 1:
        return replace(analysis.analyze(functions[0], x, **options), label=label)
    for name in ("seconds", "gradients", "keep", "parts"):
        options.pop(name, None)
    wiring = wiring or options.get("modules") is not None
    steps = [step for path in models if (step := _step(path)) is not None]
    if len(set(steps)) == len(models):
        pairs = sorted(zip(steps, functions, strict=True), key=lambda pair: pair[0])
        options["moments"], functions = zip(*pairs, strict=True)
    return replace(trajectory(functions, x, wiring=wiring, **options), label=label)


def _part(function, names):
    """The function of these parameters alone, with a line that says so."""
    names = [names] if isinstance(names, str) else names
    part = function.part(*names)
    line = f"Part: {', '.join(names)} alone: {part.size:,} of {function.size:,} parameters move."
    return replace(part, notes=(*part.notes, line))


def _step(path):
    """The number behind a word for a moment in a file's name, else its last whole number; None where there is none."""
    stem = Path(str(path).rpartition(":")[2]).stem
    named = re.findall(r"(?i)(?:step|iter|epoch|checkpoint|ckpt)[a-z]*[-_= ]*(\d+)", stem)
    numbers = named or re.findall(r"\d+", stem)[-1:]
    return int(numbers[0]) if numbers else None
