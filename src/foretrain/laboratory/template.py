"""The smallest study that runs, to start one's own from."""

from pathlib import Path

from foretrain.errors import argument_error, path_argument


def write_template(file: str | Path) -> Path:
    """Write the smallest study that runs as a new file.

    Raises:
        ArgumentError: the name does not end in ``.py``, is no name of a module, or the file exists or cannot be written.
    """
    path = path_argument("file", file)
    if path.suffix != ".py" or not path.stem.isidentifier():
        rule = "be the name of a Python module, such as mine.py"
        raise argument_error("file", rule, f"is {path}")
    if path.exists():
        raise argument_error("file", "be new", f"{path} exists", "Try another name.")
    text = Path(__file__).with_name("template.txt").read_text(encoding="utf-8")
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise argument_error("file", "be writable", f"{path} is not: {error.strerror}") from None
    return path
