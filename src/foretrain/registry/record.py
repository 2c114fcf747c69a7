"""A record of the registry: all verdicts of one study at one size, as one small text file.

``registry/<study>/<size>.toml`` holds where the verdicts come from, then every sentence once with a verdict for each cell
of the grid in which it was judged. Numbers are written so that reading them gives the same bits.
"""

import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import msgspec

from foretrain.claims.cells import gather
from foretrain.claims.claim import Claim, Scalar
from foretrain.errors import FolderError, StoreError, argument_error, nearest
from foretrain.provenance.reading import MOST_TEXT, read_file
from foretrain.registry.ledger import refuse_edited, seal
from foretrain.results import decode
from foretrain.results.files import disk_errors, write_atomic

FOLDER = "registry"
DEFAULT = "default"
# What all verdicts of a sentence have in common.
OF_SENTENCE = ("id", "statement", "source", "rank", "corrects", "among", "unit", "why", "reads")
OF_VERDICT = (
    *("verdict", "cell", "predicted", "measured", "uncertainty", "allowed", "seeds", "left_out"),
    *("method", "reason", "note", "along", "size"),
)
_DEFAULTS = {
    item.name: item.default if item.default_factory is MISSING else item.default_factory()
    for item in fields(Claim)
}
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_NAME = re.compile(r"[a-z0-9][a-z0-9-]*")


@dataclass(frozen=True)
class Record:
    """All verdicts of one study at one size."""

    study: str  # name of the study
    size: str  # name of the size: ``default``, a preset, or a name of its own
    document: str  # document and figure that the study speaks of
    command: str  # command line that makes the runs again
    seeds: int  # number of seeds
    root_seed: int  # root of the random streams
    cost: float  # seconds of wall time that all its runs took
    day: str  # of the last run, YYYY-MM-DD
    device: str  # what the runs were computed on, in words
    precision: str  # precision of the study's own network; "" where the study knows none
    commit: str  # commit of the code that judged; "" where git knows none
    plan: str  # hash (12 hex digits) of parameters, axes and seeds
    makes: str  # hash (12 hex digits) of the code that makes the runs
    predicts: str  # hash of the theory
    judges: str  # hash of all that judges, words left out
    # How its hashes were renewed and the commit, such as "by its small run at 956934b8e1"; "" where they are those of then.
    renewed: str = ""
    # What makes the verdicts worth less than if all had been fixed before.
    remarks: tuple[str, ...] = ()
    # Parameters and axes unlike the defaults.
    settings: dict[str, Any] = field(default_factory=dict)
    runs: dict[str, int] = field(default_factory=dict)  # outcome to number of runs
    versions: dict[str, str] = field(default_factory=dict)  # package to version
    checksums: dict[str, str] = field(default_factory=dict)  # part of the store to its checksum
    # Each hash to the checksums of the parts of small runs that rest on it, see `foretrain.registry.small.small_checksums`.
    small: dict[str, dict[str, str]] = field(default_factory=dict)
    claims: tuple[Claim, ...] = ()  # the verdicts, those of one sentence together

    @property
    def differs(self) -> dict[str, tuple[str, str]] | None:
        """Parameter to its value here and in the document, for all verdicts together; None where that is not known."""
        sizes = [claim.size for claim in self.claims]
        if None in sizes:
            return None
        return {name: values for size in sizes for name, values in (size or {}).items()}


def place(folder: Path, study: str, size: str) -> Path:
    """Return the file of a record; raises `ArgumentError` where a name cannot be a file's."""
    for name, text in (("study", study), ("size", size)):
        if not _NAME.fullmatch(text):
            raise argument_error(name, "be lower-case letters, digits, hyphens", f"is `{text}`")
    return folder / study / f"{size}.toml"


def write(folder: Path, record: Record) -> Path:
    """Write a record in place of the one of that study and size, and into the ledger, which the first record alone begins."""
    path = place(folder, record.study, record.size)
    refuse_edited(folder)
    with disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, toml(record).encode())
    seal(folder, [path])
    return path


def read(path: Path) -> Record:
    """Read a record; raises `StoreError` where the file is none."""
    try:
        return _parsed(read_file(path, MOST_TEXT).decode(), path)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        text = " ".join(str(error).split())
        raise StoreError(f"{path} is no record of verdicts: {text}. Try git checkout.") from None


def as_stored(record: Record) -> Record:
    """Return a record as it is read from the text of it."""
    return _parsed(toml(record), Path(record.study))


def _parsed(text: str, path: Path) -> Record:
    content = tomllib.loads(text)
    sentences = content.pop("sentences")
    plain = [_plain(words, verdict) for words in sentences for verdict in words["verdicts"]]
    record = replace(msgspec.convert(content, Record), claims=decode.claims(plain, path))
    for entry, claim in zip(plain, record.claims, strict=True):
        if claim.verdict != entry["verdict"]:
            wrong = f"`{entry['verdict']}` does not follow"
            raise ValueError(f"{wrong} from the numbers of `{claim.label}`")
    place(path.parent, record.study, record.size)  # its names make names of files
    return record


def records(folder: Path, study: str = "*") -> list[Record]:
    """Read every record of a registry, or of one study, by study and size, those of the default size first.

    Raises `FolderError` where there is no such folder, `StoreError` where a file is no record, or not as the ledger says.
    """
    if not folder.is_dir():
        raise FolderError(
            f"There is no registry in {folder}: it stands in foretrain's repository. Try the command there, or --registry."
        )
    paths = [*folder.glob(f"{study}/*.toml")]
    known = sorted(map(read, paths), key=lambda r: (r.study, r.size != DEFAULT, r.size))
    refuse_edited(folder, paths)
    return known


def find(known: Iterable[Record], study: str, size: str = "") -> Record:
    """Return the record of a study at a size, by default the default size or its first; raises `ArgumentError` if none."""
    known = list(known)
    sizes = {record.size: record for record in known if record.study == study}
    if not sizes:
        names = nearest(study, {record.study for record in known})
        raise argument_error("study", "stand in the registry", f"is `{study}`", names)
    size = size or (DEFAULT if DEFAULT in sizes else next(iter(sizes)))
    if size not in sizes:
        raise argument_error("size", f"be one of {', '.join(sizes)}", f"is `{size}` of `{study}`")
    return sizes[size]


def toml(record: Record) -> str:
    """Return a record as the text of its file, in an order that does not change."""
    values = {item.name: getattr(record, item.name) for item in fields(Record)}
    tables = {name: value for name, value in values.items() if isinstance(value, dict)}
    lines = [*_entries({n: v for n, v in values.items() if n not in (*tables, "claims")})]
    small = {f"small.{kind}": parts for kind, parts in tables.pop("small").items()}
    for name, table in {**tables, **small}.items():
        lines += ["", f"[{name}]", *_entries(table)] if table or name in small else []
    for group in gather(record.claims):
        lines += ["", "[[sentences]]", *_entries(_unlike_default(group.claims[0], OF_SENTENCE))]
        for claim in group.claims:
            verdict = f"{claim.verdict} at {claim.at}" if claim.at else claim.verdict
            entries = _unlike_default(replace(claim, verdict=verdict), OF_VERDICT)
            lines += ["", "[[sentences.verdicts]]", *_entries(entries)]
    return "\n".join(lines) + "\n"


def _unlike_default(claim: Claim, names: tuple[str, ...]) -> dict[str, Any]:
    """Return these attributes of a claim by name, without those that have their default, and without an interval of none."""
    values = {name: getattr(claim, name) for name in names}
    return {n: v for n, v in values.items() if v is not None and v != _DEFAULTS.get(n)}


def _plain(sentence: Mapping[str, Any], verdict: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entries of a claim from those of its sentence and one of its verdicts."""
    words = {name: text for name, text in sentence.items() if name != "verdicts"}
    name = verdict["verdict"].partition(" at ")[0]
    return {**words, "uncertainty": None, **verdict, "verdict": name}


def _entries(values: Mapping[str, Any]) -> Iterator[str]:
    for name, value in values.items():
        yield f"{name if _BARE.fullmatch(name) else _value(name)} = {_value(value)}"


def _value(value: Scalar | tuple | list | Mapping) -> str:
    """Return a value as TOML writes it."""
    if isinstance(value, Mapping):
        return f"{{ {', '.join(_entries(value))} }}" if value else "{}"
    if isinstance(value, tuple | list):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, bool):
        return str(value).lower()
    return repr(float(value)) if isinstance(value, float) else str(value)
