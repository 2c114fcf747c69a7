import json
import shutil
import sys
from pathlib import Path

import pytest
from made_claims import sample
from markupsafe import escape
from small_routing import SMALL_ROUTING as SMALL

from foretrain.cli import _FLAG, _KINDS, main
from foretrain.commands import ARGUMENTS, COMMANDS
from foretrain.results.summary import Summary, write_summary


@pytest.fixture
def folder(routing_folder, tmp_path):
    """A copy of the small routing run that a test may write to."""
    return Path(shutil.copytree(routing_folder, tmp_path / "copied"))


def run(capsys, *arguments):
    code = main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def refused(capsys, *arguments):
    """The one line that a command says which ends with code 2."""
    code, out, err = run(capsys, *arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    return err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--trained-outputs", "9"], "-outputs` must be between 1 and `domains` = 7, but is 9."),
        (["--hidden-width", "6.5"], "`--hidden-width` must be a whole number, but is `6.5`."),
        (["--init-scale", "nan"], "Argument `--init-scale` must be finite, but is nan."),
        (["--init-scale", "small"], "Argument `--init-scale` must be a number, but is `small`."),
        (["--init-scal3", "1"], "has `--init-scal3`. Did you mean `--init-scale`?"),
        (["--loss", "mse"], "has `--loss`. Did you mean `--loss-function`?"),
        (["--mask", "circlant"], "Did you mean `circulant`?"),
        (["--shard", "3/2"], "Argument `--shard` must be between 1 and 2, but is 3."),
        (["--shard", "half"], "Argument `--shard` must be i/n, such as 2/8, but is `half`."),
        (["--preset", "papr"], "Did you mean `paper`?"),
    ],
)
def test_bad_options_are_refused_in_one_line(capsys, tmp_path, arguments, message):
    assert message in refused(capsys, "run", "routing", *arguments, "--out", tmp_path / "a")


def test_unknown_studies_commands_and_options_name_the_nearest(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "study.py").touch()
    for words, message in (
        ("run routng", "must name a study, but is `routng`. Did you mean `routing`?"),
        ("run own", "Did you mean `./own`?"),
        ("rnu routing", "Did you mean `run`?"),
        ("--versoin", "has `--versoin`. Did you mean `--version`?"),
        ("run one-mode --foo 3", "has `--foo`. Known: --check"),
        ("run one-mode seeds 3", "an option before a value, but has `seeds`. Did you mean `--"),
        ("explain model.py", "`data` must be given, but is missing. Try foretrain explain --help."),
        ("run one-mode --seeds", "Argument `--seeds` must have a value, but has none."),
        ("run one-mode --seeds 1,2", "must be a whole number, but is `1,2`. Put spaces between"),
        ("completion tcsh", "Argument `shell` must be one of "),
        ("sweep nothing.toml", "nothing.toml does not exist"),
    ):
        assert message in refused(capsys, *words.split())
    with pytest.raises(SystemExit, match="0"):
        main(["--version"])
    assert run(capsys)[0] == 0


@pytest.mark.parametrize("verb", COMMANDS)
def test_an_option_whose_value_is_two_hyphens_has_none_for_every_verb(capsys, verb):
    places = {"study": "one-mode", "action": "list", "shell": "bash"}
    words = [verb, *(places.get(name, "x") for name in ARGUMENTS[verb] if name[0] != "-")]
    words += {"export": ["--to=csv"], "explain": ["--steps=1"], "analyze": ["--data=x"]}.get(
        verb, []
    )
    options = [name.split()[-1] for name in ARGUMENTS[verb] if name[0] == "-"]
    options += {"run": ["--seeds", "--out"], "sweep": ["--out", "--workers"]}.get(verb, [])
    for option in options:
        if _KINDS.get(option) is not _FLAG:
            assert f"`{option}` must have " in refused(capsys, *words, f"{option}=--")


def test_options_may_stand_before_the_study(capsys, tmp_path):
    out = ["--out", tmp_path / "routing", "--workers", "0", "--quiet", "--seeds", "2"]
    assert run(capsys, "run", *out, "one-mode", "--steps", "20")[0] == 0
    assert (tmp_path / "routing" / "summary.json").exists()
    err = refused(capsys, "run", "--steps", "20", "one-mode")
    assert "must name the study before its options, but has `--steps` first" in err
    assert "Did you mean `--steps`?" in refused(capsys, "run", *out, "one-mode", "--stepz", "20")


def test_a_file_where_a_folder_is_needed_and_a_folder_of_something_else_are_left_alone(
    capsys, tmp_path
):
    file = tmp_path / "a"
    file.write_text("mine")
    for out, message in ((file, "must be a folder, but"), (tmp_path, "holds `a`")):
        assert message in refused(capsys, "run", "routing", "--out", out)
    assert file.read_text() == "mine"
    assert list(tmp_path.iterdir()) == [file]


def test_a_folder_with_another_configuration_is_refused(capsys, folder):
    before = (folder / "manifest.json").read_bytes()
    err = refused(capsys, "run", "routing", *SMALL, "--init-scale", "0.3", "--out", folder)
    assert "holds `init_scale` = 0.2 where 0.3 is asked" in err
    manifest = json.loads(before)
    manifest["plan"]["study"] = "one-mode"
    (folder / "manifest.json").write_text(json.dumps(manifest))
    err = refused(capsys, "run", "routing", *SMALL, "--out", folder)
    assert "must be a folder of study `routing`, but holds study `one-mode`" in err


def test_a_finished_run_is_shown_not_trained_again(capsys, folder):
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}
    code, out, _ = run(capsys, "run", "routing", *SMALL, "--out", folder)
    assert code == 0
    assert " more: " in out
    kept = {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}
    assert {p: t for p, t in kept.items() if ".lock" not in p.name} == before


def test_show_and_report_agree_with_the_summary(capsys, folder):
    summary = json.loads((folder / "summary.json").read_text())
    code, out, _ = run(capsys, "show", folder)
    assert code == 0
    assert " more: " in out
    code, out, _ = run(capsys, "show", folder, "-v")
    count = len({claim["corrects"] or claim["id"] for claim in summary["claims"]})
    assert f"{count} claims" in out
    for claim in summary["claims"]:
        assert claim["id"] in out
    (folder / "report.html").unlink()
    assert run(capsys, "report", folder)[0] == 0
    page = (folder / "report.html").read_text()
    assert all(str(escape(claim["statement"])) in page for claim in summary["claims"])


def test_a_terminal_gets_lines_it_has_room_for_and_a_program_gets_whole_ones(
    capsys, monkeypatch, tmp_path
):
    claims = (sample("a-claim", 1.0, scale="paper"), sample("another" * 3, 3.0, why="word " * 40))
    write_summary(tmp_path, Summary("routing", "word " * 40, claims=claims, runs={"converged": 3}))
    code, piped, _ = run(capsys, "list")
    assert code == 0
    assert any(len(line) > 120 for line in piped.splitlines())
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    request = [["list"], ["list", "-v"], ["list", "routing", "--claims"], ["info", "routing"]]
    request += [["info", "routing", "-v"], ["show", "."]]
    monkeypatch.chdir(tmp_path)
    lines = {}
    for command in [*request, ["show", "-v", "."], ["run", "routing", "--mask", "circlant"]]:
        code, out, err = run(capsys, *command)
        assert code == (2 if command[0] == "run" else 0)
        lines[command[0]] = out + err
        assert max(map(len, lines[command[0]].splitlines())) <= 60, command
    assert lines["run"].startswith("foretrain: Argument `--mask` must be one of")


def test_check_exits_with_one_exactly_if_a_claim_fails(capsys, folder):
    summary = json.loads((folder / "summary.json").read_text())
    mended = {claim["corrects"] for claim in summary["claims"] if claim["verdict"] == "holds"}
    failed = [
        claim["id"]
        for claim in summary["claims"]
        if claim["verdict"] == "fails" and claim["id"] not in mended
    ]
    assert run(capsys, "show", folder, "--check")[0] == (1 if failed else 0)


def test_a_truncated_store_is_named_as_such(capsys, folder, tmp_path):
    for file in (folder / "results.zarr").rglob("zarr.json"):
        file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    refused(capsys, "export", folder, "--to", "csv", "--out", tmp_path / "csv")
    for name, *command in (["show"], ["export", "--to", "csv"], ["report"]):
        assert "nothing" in refused(capsys, name, tmp_path / "nothing", *command)


@pytest.mark.parametrize(
    ("name", "arguments", "code"), [("stderr", ["info", "nosuch"], 2), ("stdout", ["list"], 0)]
)
def test_a_command_does_its_work_with_a_stream_closed(monkeypatch, name, arguments, code):
    monkeypatch.setattr(sys, name, None)
    assert main(arguments) == code
    getattr(sys, name).close()
