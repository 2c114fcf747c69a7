import errno
import json
import os

import altered_files
import pytest

from foretrain.errors import FolderError, StoreError
from foretrain.results import manifest
from foretrain.results.manifest import claim_folder, read_manifest, write_manifest

PLAN = altered_files.PLAN | {"revision": 1, "preset": "quick"}
WHOLE = altered_files.MANIFEST | {
    "plan": PLAN,
    "where": "./mine.py",
    "code": {"ab12": 3},
    "data_dir": "/data",
    "history": ["2 runs were kept, η"],
}


def test_what_is_written_is_read(tmp_path):
    write_manifest(tmp_path, WHOLE)
    assert read_manifest(tmp_path) == WHOLE
    assert os.listdir(tmp_path) == ["manifest.json"]


def test_what_a_later_version_added_is_left_out(tmp_path):
    path = write_manifest(tmp_path, {"plan": PLAN})
    path.write_text(json.dumps({"schema": 2, "plan": {**PLAN, "colour": "blue"}, "mood": [[{}]]}))
    assert read_manifest(tmp_path) == {"schema": 2, "plan": PLAN}


def test_what_would_not_be_read_is_not_written(tmp_path):
    write_manifest(tmp_path, WHOLE)
    plans = [{**PLAN, "colour": 1}, {**PLAN, "parameters": {"a": float("nan")}}]
    for odd in (*({"plan": plan} for plan in plans), {"colour": 1}, {"lanes": {"default": 0}}):
        with pytest.raises(ValueError, match=r"to be written|not a manifest|not JSON compliant"):
            write_manifest(tmp_path, {**WHOLE, **odd})
    assert read_manifest(tmp_path) == WHOLE


def test_what_never_ends_or_is_larger_than_any_manifest_is_not_read(tmp_path):
    (tmp_path / "manifest.json").symlink_to("/dev/zero")
    with pytest.raises(FolderError, match=r"Cannot read .*manifest\.json"):
        read_manifest(tmp_path)
    (tmp_path / "manifest.json").unlink()
    with open(tmp_path / "manifest.json", "wb") as file:
        file.truncate(10**10)  # takes no space
    with pytest.raises(StoreError, match="has 10000000000 bytes"):
        read_manifest(tmp_path)


def test_claiming_makes_a_new_folder_and_accepts_it_again_or_one_that_another_shard_is_claiming(
    tmp_path,
):
    folder = claim_folder(str(tmp_path / "runs" / "a"))
    assert folder.is_dir()
    assert claim_folder(folder) == folder
    write_manifest(folder, WHOLE)
    (folder / "report.html").touch()
    assert claim_folder(folder) == folder
    (tmp_path / "b" / "journal").mkdir(parents=True)
    (tmp_path / "b" / "shard-1-of-2.lock").touch()
    (tmp_path / "b" / ".manifest.json.12-ab.tmp").touch()
    assert claim_folder(tmp_path / "b") == tmp_path / "b"


def test_a_file_where_a_folder_is_needed_and_a_foreign_folder_are_named(tmp_path):
    file = tmp_path / "runs"
    file.touch()
    for path in (file, file / "a"):
        with pytest.raises(FolderError, match=f"must be a folder, but {file} is a file"):
            claim_folder(path)
    with pytest.raises(FolderError, match=r"holds `runs` and no manifest\.json"):
        claim_folder(tmp_path)


def test_an_unwritable_folder_is_named(tmp_path, monkeypatch):
    def denied(**_):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(manifest.tempfile, "NamedTemporaryFile", denied)
    with pytest.raises(FolderError, match=r"can be written to, but .* is not: Permission denied"):
        claim_folder(tmp_path)
