"""The verbs that answer a question about networks and results: predict, explain, analyze, compare."""

from pathlib import Path
from typing import Any

import foretrain
from foretrain.commands.studies import JSON
from foretrain.errors import argument_error
from foretrain.words import room, say

_COLUMNS = {
    "--step-column": "name of the column of steps in a file of curves",
    "--loss-column": "name of the columns of losses there",
}
_READ = {
    "--outputs": "npy file of the model's answers on the data: they are compared",
    "--layers": "order of the layers, or submodules that are layers",
    "--activation": "nonlinearity between layers of a file of weights; default relu",
}


def _predict(arguments):
    from foretrain.predict.files import predict_files

    finding = predict_files(arguments.files, tell=say, **_typed(arguments))
    finding.answer().show(arguments.out, as_json=arguments.json)


def _explain(arguments):
    from foretrain.engine.cores import pin_to_free_core

    cores = pin_to_free_core()  # before JAX, which takes eigenvalues of several matrices at once
    from foretrain.explain.model_file import explain_files

    options: dict[str, Any] = _typed(arguments) | {"out": arguments.out, "cores": cores}
    finding = explain_files(arguments.model, arguments.data, tell=say, **options)
    if finding is None:
        return print("This part is done; the last part to finish explains the whole.")
    finding.answer().show(finding.folder, as_json=arguments.json)


def _analyze(arguments):
    from foretrain.analyze.analyze import analyze_files

    if arguments.out is None:
        # Named by the model's file, and by its name in a Python file.
        file, _, inside = arguments.models[0].partition(".py:")
        name = f"{Path(file).name}-{inside}" if inside else Path(file).stem
        arguments.out = Path("runs") / f"analyze-{name}"
    options: dict[str, Any] = _typed(arguments) | {"tell": None if arguments.quiet else say}
    path, known, shown = arguments.out / "analysis.parts", [], set()

    def keep(analysis):
        """Print the tables that this part of an analysis adds."""
        known.append(analysis)
        for table in analysis.answer().tables:
            if table.heading not in shown and not arguments.quiet:
                for line in ("", *table.lines(room())):
                    say(line)
            shown.add(table.heading)

    try:
        analysis = analyze_files(arguments.models, keep=keep, parts=path, **options)
        analysis.answer().show(arguments.out, as_json=arguments.json)
        path.unlink(missing_ok=True)  # it is whole
    except KeyboardInterrupt:
        if known:
            known[-1].answer().show(arguments.out, as_json=arguments.json)
        raise


def _compare(arguments):
    from foretrain.elsewhere.curves import TABLES

    options, find = _typed(arguments), foretrain.compare
    if arguments.first.suffix.lower() in TABLES:
        from foretrain.explain.curve_comparison import compare_curves as find
    elif options:
        name, value = next(iter(options.items()))
        raise argument_error(name, "be left out beside folders of results", f"is {value}")
    finding = find(arguments.first, arguments.second, **options)
    finding.answer().show(arguments.out, as_json=arguments.json)


def _typed(arguments) -> dict[str, Any]:
    """Return the options that were typed, by name, but those of printing and of the answer's folder, which is checked."""
    if arguments.out is not None:
        from foretrain.report.answer import check_folder

        check_folder(arguments.out)
    names = {name[2:].replace("-", "_") for name in ARGUMENTS[arguments.name] if name[0] == "-"}
    names -= {"json", "out", "quiet"}
    typed = {name: value for name, value in vars(arguments).items() if value is not None}
    return {name: typed[name] for name in typed if name in names and typed[name] is not False}


COMMANDS = {
    "predict": (_predict, "what a gated network will learn and when, from its graph and data"),
    "explain": (_explain, "why a network of one's own does not do what theory says"),
    "analyze": (_analyze, "how much of a network is free, where, and what is left of it"),
    "compare": (_compare, "two results side by side, or measured curves and a prediction"),
}
ARGUMENTS = {
    "predict": {
        "files": "graph.toml data.npz; more data files, or more pairs, are ranked",
        "--init-scale": "strength of edges if decoupled (of each: in=1,out=0.1), else of random entries; default 0.01",
        "--init-imbalance": "square of strengths of edges out of hidden nodes less that of edges into them; default 0",
        "--init-law": "decoupled, normal, orthogonal, xavier_normal or xavier_uniform; default decoupled where the "
        "reduction is exact and nothing is trained, else normal",
        "--times": "times at which the loss is wanted",
        "--until": "last time of the expected loss",
        "--approximate": "take the reduction even where the data allow no exact one; the residual is printed",
        "--train": "train the graph from small random weights beside it, and judge it",
        "--seeds": "number of networks trained, and a quarter of the draws followed; default 5",
        "--learning-rate": "step of the networks trained; default 0.02 over the largest curvature",
        "--out": "folder for prediction.json, the page and the figure",
        "--json": JSON,
    },
    "explain": {
        "model": "model.py with apply and init, or model.py:name of a module or its maker, both run; or a file of weights",
        "data": "npz file of x, y, and perhaps x_test, y_test; or npy file of x",
        "--labels": "npy file of y, beside an npy file of x",
        **_READ,
        "--learning-rate": "a number, or npy file of that of every step; default learning_rate(step) of the model's file",
        "--steps": "number of steps",
        "--batch-size": "examples in a minibatch; default all",
        "--loss": "mse or cross_entropy; default the file's, else mse",
        "--optimizer": "sgd (default), momentum, nesterov, adam or adamw",
        "--momentum": "of momentum and nesterov; default 0.9",
        "--betas": "of adam and adamw; default 0.9 0.999",
        "--clip": "largest norm of all gradients together, to which longer ones are scaled; default none are",
        "--order": "npy file of the examples in every minibatch, (step, example); of more rows than steps the first",
        "--weight-decay": "default 0",
        "--seeds": "number of starts; default four, and more up to 16 while an interval leaves the answer open",
        "--measured": "runs of this training made elsewhere: files .csv, .json, .jsonl or .parquet",
        **_COLUMNS,
        "--from-zero": "compare with a theory of a network that begins at zero: the output at the start becomes a cause",
        "--out": "folder of results and the page; default runs/explain-<hash>",
        "--shard": "i/n: only the i-th of n parts of the training, for many machines on one folder",
        "--json": JSON,
    },
    "analyze": {
        "models": "model.py:name, model.py or file of weights, as of explain; several are moments of training, or seeds",
        "--data": "npy file of inputs (example, input), or npz file of x, y",
        "--labels": "npy file of classes (example,) or targets (example, output): the loss of training",
        **_READ,
        "--part": "names of parameters that move; all others stay",
        "--noise-scale": "loss that counts as none, or `seeds`: variance between several models; default from the data",
        "--loss": "mse or kl; default kl with classes as labels, else mse",
        "--modules": "number of modules; default as many as surprise most",
        "--resolution": "of the modules; default from the graph",
        "--wiring": "over training: modules of every moment, too",
        "--points": "points of the integral of an edge; default 5",
        "--gradients": "gradients of all data that sampling may take; default as many as --seconds have",
        "--seconds": "for sampling, of a core that is always the same, 0 for none; default 60",
        "--out": "folder for the page; default runs/analyze-<model>",
        "--json": JSON,
        "--quiet": "no progress",
    },
    "compare": {
        "first": "first folder of results, or a file of curves: .csv, .json, .jsonl, .parquet",
        "second": "second folder of results, or one of predict or explain",
        "--learning-rate": "that of the curves, beside a folder of predict",
        **_COLUMNS,
        "--out": "folder for a page of both",
        "--json": JSON,
    },
}
