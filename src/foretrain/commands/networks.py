"""The commands that predict, explain and compare, given their parsed arguments; each returns the exit code."""

import sys

from foretrain.words import columns, encodable, print_json, room, say


def predict(arguments):
    """What gated networks will learn and when."""
    from foretrain.predict import files as prediction_files
    from foretrain.predict import predict as prediction
    from foretrain.predict.text import told

    names = ("init_scale", "init_law", "approximate", "train", "seeds", "learning_rate")
    options = {name: getattr(arguments, name) for name in names}
    options["tell"] = say
    times = prediction_files.read_times(arguments.times, arguments.until)
    candidates = prediction_files.read_candidates(arguments.files)
    if len(candidates) > 1:
        found = prediction.rank(candidates, times=times, **options)
    else:
        ((label, (graph, data)),) = candidates.items()
        found = prediction.predict(graph, data, times=times, label=label, **options)
    return _told(found, told, prediction_files.write, arguments)


def explain(arguments):
    """Why a network does not do what theory says."""
    from foretrain.engine.cores import pin_to_free_core

    # Before JAX starts: it takes eigenvalues of several matrices at once.
    cores = pin_to_free_core()
    from foretrain.explain.explanation_text import text
    from foretrain.explain.model_file import explain_files, write

    names = (
        "labels learning_rate steps batch_size loss optimizer momentum weight_decay seeds measured step_column loss_column "
        "from_zero out"
    )
    options = {name: getattr(arguments, name) for name in names.split()}
    options |= {"cores": cores, "tell": say}
    explanation = explain_files(arguments.model, arguments.data, **options)
    arguments.out = explanation.folder
    return _told(explanation, text, write, arguments)


def compare(arguments):
    """Two folders of results side by side, or measured curves and a folder of a prediction."""
    from foretrain.elsewhere.measured import TABLES

    if arguments.first.suffix.lower() in TABLES:
        from foretrain.explain.compare_curves import compare_curves, text, write

        names = ("learning_rate", "step_column", "loss_column")
        options = {name: getattr(arguments, name) for name in names}
        found = compare_curves(arguments.first, arguments.second, **options)
        return _told(found, text, write, arguments)
    from foretrain.laboratory.compare import compare, told, write_comparison

    def page(found, out):
        return (write_comparison(found, out),)

    found = compare(arguments.first, arguments.second)
    return _told(found, lambda one, _: told(one, columns()), page, arguments)


def answered(find, arguments):
    """Print the answer of what a verb finds, as text or as JSON, and write it into the folder where one is named."""
    from foretrain.report.answer import check_folder

    if arguments.out is not None:
        check_folder(arguments.out)
    answer = find().answer()
    if arguments.json:
        print_json(answer.as_dict())
    else:
        print(encodable(answer.text(room()), sys.stdout.encoding))
    if arguments.out is not None:
        lines = "\n".join(f"Written: {path}" for path in answer.write(arguments.out))
        print(lines, file=sys.stderr if arguments.json else sys.stdout)
    return 0


def _told(found, text, write, arguments):
    """What was found as text or JSON, and in a folder where one is named."""
    if arguments.json:
        print_json(found.as_dict())
    else:
        print(encodable(text(found, room()), sys.stdout.encoding))
    if arguments.out is not None:
        lines = "\n".join(f"Written: {path}" for path in write(found, arguments.out))
        print(lines, file=sys.stderr if arguments.json else sys.stdout)
    return 0
