import errno
import os

import pytest

from foretrain.errors import FolderError, StoreError
from foretrain.results import manifest
from foretrain.results.manifest import claim_folder, read_manifest, write_manifest


def test_what_is_written_is_read(tmp_path):
    content = {"study": "routing", "axes": {"init_scale": [0.1, 0.2]}, "note": "η"}
    write_manifest(tmp_path, content)
    assert read_manifest(tmp_path) == content
    assert os.listdir(tmp_path) == ["manifest.json"]


def test_a_folder_without_one_has_none(tmp_path):
    assert read_manifest(tmp_path) is None
    assert read_manifest(tmp_path / "nowhere") is None


@pytest.mark.parametrize("text", ["", '{"study": "rou', "[1]"])
def test_a_truncated_or_foreign_manifest_is_named(tmp_path, text):
    (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(StoreError, match=r"manifest\.json is (truncated|not a manifest)"):
        read_manifest(tmp_path)


def test_numbers_that_json_does_not_know_are_refused_and_the_old_manifest_stays(tmp_path):
    write_manifest(tmp_path, {"a": 1})
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_manifest(tmp_path, {"a": float("nan")})
    assert read_manifest(tmp_path) == {"a": 1}


def test_claiming_makes_a_new_folder_and_accepts_it_again(tmp_path):
    folder = claim_folder(str(tmp_path / "runs" / "a"))
    assert folder.is_dir()
    assert claim_folder(folder) == folder
    write_manifest(folder, {})
    (folder / "report.html").touch()
    assert claim_folder(folder) == folder


def test_a_file_where_a_folder_is_needed_is_named(tmp_path):
    file = tmp_path / "runs"
    file.touch()
    for path in (file, file / "a"):
        with pytest.raises(FolderError, match=f"must be a folder, but {file} is a file"):
            claim_folder(path)


def test_a_foreign_folder_is_refused(tmp_path):
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(FolderError, match=r"holds `thesis\.tex` and no manifest\.json"):
        claim_folder(tmp_path)


def test_a_folder_that_another_shard_is_just_claiming_is_accepted(tmp_path):
    (tmp_path / "journal").mkdir()
    (tmp_path / "shard-1-of-2.lock").touch()
    (tmp_path / ".manifest.json.12-ab.tmp").touch()
    assert claim_folder(tmp_path) == tmp_path


def test_an_unwritable_folder_is_named(tmp_path, monkeypatch):
    def denied(**_):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(manifest.tempfile, "NamedTemporaryFile", denied)
    with pytest.raises(FolderError, match=r"can be written to, but .* is not: Permission denied"):
        claim_folder(tmp_path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_folder_is_named(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(FolderError, match="can be written to"):
        claim_folder(tmp_path)
