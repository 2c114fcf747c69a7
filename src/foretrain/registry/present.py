"""A record beside the present code: the study, the plan and the hashes that this has for it. Nothing is run."""

from pathlib import Path

from foretrain.errors import ForetrainError
from foretrain.plans import catalogue
from foretrain.plans.plan import Plan, make_plan
from foretrain.plans.study import Study
from foretrain.provenance.seal import judge_of
from foretrain.registry.ledger import unmatched
from foretrain.registry.record import Record

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"
HASHES = {"makes": "makes the runs", "predicts": "predicts", "judges": "judges"}


def study_of(name: str) -> Study:
    """Return foretrain's own study of a name, in the catalogue or in ``benchmarks``; raises `ArgumentError` without one."""
    path = BENCHMARKS / name.replace("-", "_")
    path = path if path.is_dir() else path.with_suffix(".py")
    inside = name not in catalogue.names() and path.exists()
    return catalogue.load(path) if inside else catalogue.load_by_name(name)


def plan_of(record: Record) -> Plan:
    """Return the plan that a record's settings make now, which may be of other runs than the record's."""
    settings = {n: tuple(v) if isinstance(v, list) else v for n, v in record.settings.items()}
    study, root = study_of(record.study), record.root_seed
    return make_plan(study, settings, seeds=record.seeds, root_seed=root, yes=True)


def hashes(study: Study) -> dict[str, str]:
    """Return the hashes of code that a record of a study has now: of what makes the runs, predicts and judges."""
    seal = study.seal
    return {"makes": study.code, "predicts": seal["predicts"], "judges": judge_of(seal)}


def losses(folder: Path) -> list[str]:
    """Return the records that a ledger names and that are gone, but of a study without code and records: it was taken out."""
    here = {*catalogue.names(), *(path.parent.name for path in folder.glob("*/*.toml"))}
    here |= {path.stem.replace("_", "-") for path in BENCHMARKS.glob("*")}
    return [name for name in unmatched(folder)[1] if name.partition("/")[0] in here]


def changed(record: Record) -> str:
    """Return which code has changed since a record was written, such as "predicts, judges"; "" if none has."""
    try:
        now = hashes(study_of(record.study))
    except ForetrainError:
        return "the study is not here"
    return ", ".join(text for name, text in HASHES.items() if now[name] != getattr(record, name))
