import gzip
import struct

import numpy as np
import pytest

from foretrain.errors import ArgumentError, StoreError
from foretrain.tasks import image_files

RANDOM = lambda: np.random.default_rng(0)  # noqa: E731


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv(image_files.VARIABLE, str(tmp_path))


def head(axes, *sizes):
    return struct.pack(f">HBB{len(sizes)}I", 0, 8, axes, *sizes)


def write_idx(path, array, packed=False):
    data = head(array.ndim, *array.shape) + array.astype(np.uint8).tobytes()
    path.write_bytes(gzip.compress(data) if packed else data)


def write_mnist(folder, part, count, packed=False):
    draw = np.random.default_rng(count)
    ending = ".gz" if packed else ""
    images, labels = draw.integers(0, 256, (count, 28, 28)), draw.integers(0, 10, count)
    write_idx(folder / f"{part}-images-idx3-ubyte{ending}", images, packed)
    write_idx(folder / f"{part}-labels-idx1-ubyte{ending}", labels, packed)
    return images, labels


def test_mnist_with_both_pairs_keeps_their_split(tmp_path):
    (tmp_path / "mnist").mkdir()
    images, labels = write_mnist(tmp_path / "mnist", "train", 30)
    stored, _ = write_mnist(tmp_path / "mnist", "t10k", 12)
    data = image_files.mnist(0.5, RANDOM())
    np.testing.assert_allclose(data.train_images * 255, images, rtol=1e-6)
    np.testing.assert_array_equal(data.train_labels, labels)
    np.testing.assert_allclose(data.heldout_images * 255, stored, rtol=1e-6)
    assert data.classes == 10


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.filterwarnings("ignore:.*usually distributed")
def test_one_pair_of_mnist_is_split_without_loss(tmp_path, packed):
    images, _ = write_mnist(tmp_path, "t10k", 20, packed)
    data = image_files.mnist(0.25, RANDOM())
    assert len(data.train_images) == 15
    both = np.concatenate([data.train_images, data.heldout_images]).sum((1, 2))
    np.testing.assert_allclose(np.sort(both), np.sort(images.sum((1, 2)) / 255), rtol=1e-5)


def test_a_file_under_a_known_name_with_other_contents_makes_a_warning(tmp_path):
    write_mnist(tmp_path, "t10k", 4, packed=True)
    with pytest.warns(UserWarning, match="t10k-labels.* is not the file usually distributed"):
        image_files.read_idx(tmp_path / "t10k-labels-idx1-ubyte.gz")


def test_absent_files_are_named_with_the_place_they_belong(tmp_path, monkeypatch):
    with pytest.raises(ArgumentError, match=r"has none\. Put data_batch_1.bin .*FORETRAIN_DATA"):
        image_files.cifar10(0.2, RANDOM())
    write_idx(tmp_path / "train-images-idx3-ubyte", np.zeros((2, 28, 28)))  # no labels: no pair
    with pytest.raises(ArgumentError, match="has none"):
        image_files.mnist(0.2, RANDOM())
    monkeypatch.delenv(image_files.VARIABLE)
    with pytest.raises(ArgumentError, match=r"`data_dir` must name .* mnist .* is not given\. Put"):
        image_files.mnist(0.2, RANDOM())


@pytest.mark.parametrize(
    ("match", "content"),
    [
        ("has 75 bytes instead of 76", head(3, 3, 4, 5) + bytes(59)),
        ("has more bytes instead of 13", head(1, 5) + bytes(6)),
        ("claims 37000000016 bytes, more", head(3, 37_000_000, 100, 10)),
        ("claims .* bytes, more than it can hold", head(8, *[2**32 - 1] * 8)),
        (r"holds nothing, its shape is \(0, 42949.*5", head(3, 0, 2**32 - 1, 2**32 - 1)),
        ("has 255 axes, of which 2 are given", head(255, 1, 1)),
        ("has 3 axes, of which 1 are given", head(3, 5)),
        ("is no IDX file", b"\x89PNG...."),
    ],
)
def test_idx_files_are_not_believed_beyond_what_they_can_hold(tmp_path, match, content):
    path = tmp_path / "some-idx"
    for packed in (content, gzip.compress(content)):
        path.write_bytes(packed)
        with pytest.raises(ArgumentError, match=f"some-idx {match}") as caught:
            image_files.read_idx(path)
        assert "\n" not in str(caught.value)


def test_idx_files_that_are_truncated_or_missing_are_refused(tmp_path):
    (tmp_path / "some-idx").write_bytes(gzip.compress(head(1, 396) + bytes(396))[:-9])
    with pytest.raises(ArgumentError, match="some-idx cannot be unpacked"):
        image_files.read_idx(tmp_path / "some-idx")
    with pytest.raises(ArgumentError, match="gone cannot be read"):
        image_files.read_idx(tmp_path / "gone")


def test_too_few_images_or_those_of_another_size_are_refused(tmp_path):
    write_mnist(tmp_path, "train", 2)
    with pytest.raises(ArgumentError, match=r"of 2 at 0\.2 none is held out"):
        image_files.mnist(0.2, RANDOM())
    data = image_files.mnist(0.5, RANDOM())
    assert len(data.train_images) == len(data.heldout_images) == 1
    write_idx(tmp_path / "train-images-idx3-ubyte", np.ones((2, 14, 14)))
    with pytest.raises(ArgumentError, match=r"not bytes of shape \(image, 28, 28\)"):
        image_files.mnist(0.2, RANDOM())
    write_idx(tmp_path / "train-images-idx3-ubyte", np.ones((2, 28, 28)))
    write_idx(tmp_path / "train-labels-idx1-ubyte", np.array([3, 200]))
    with pytest.raises(ArgumentError, match="whole numbers from 0 to 9, but holds 200"):
        image_files.mnist(0.2, RANDOM())


def write_cifar(path, images, labels):
    planes = images.transpose(0, 3, 1, 2).reshape(len(images), -1)
    path.write_bytes(np.column_stack([labels, planes]).astype(np.uint8).tobytes())


def test_cifar_batches_keep_colours_in_place_and_join(tmp_path):
    folder = tmp_path / "cifar-10-batches-bin"
    folder.mkdir()
    images = np.random.default_rng(0).integers(0, 256, (9, 32, 32, 3))
    labels = np.arange(9)
    write_cifar(folder / "data_batch_1.bin", images[:4], labels[:4])
    write_cifar(folder / "data_batch_2.bin", images[4:6], labels[4:6])
    write_cifar(folder / "test_batch.bin", images[6:], labels[6:])
    data = image_files.cifar10(0.2, RANDOM())
    np.testing.assert_allclose(data.train_images * 255, images[:6], rtol=1e-6)
    np.testing.assert_array_equal(data.heldout_labels, [6, 7, 8])


@pytest.mark.parametrize(
    ("content", "match"),
    [(b"", "has 3072 bytes, no whole number"), (b"\x0b", "has a label 11 above 9")],
)
def test_bad_cifar_batches_are_refused(tmp_path, content, match):
    (tmp_path / "test_batch.bin").write_bytes(content + bytes(3072))
    with pytest.raises(ArgumentError, match=rf"test_batch\.bin {match}"):
        image_files.cifar10(0.2, RANDOM())


def test_features_come_with_or_without_a_split(tmp_path):
    values, labels = np.random.default_rng(0).normal(size=(10, 3)), np.arange(10) % 4
    np.savez(tmp_path / "a.npz", features=values, labels=labels)
    np.save(tmp_path / "b.npy", values)
    np.save(tmp_path / "b-labels.npy", labels)
    item = image_files.features(tmp_path / "a.npz", 0.3, RANDOM())
    other = image_files.features(tmp_path / "b.npy", 0.3, RANDOM())
    assert item.train_images.shape == (7, 3)
    assert item.classes == 4
    np.testing.assert_array_equal(item.train_images, other.train_images)
    stored = {"heldout_features": values[:2], "heldout_labels": labels[:2] + 5}
    np.savez(tmp_path / "c.npz", features=values, labels=labels, **stored)
    options = image_files.features(tmp_path / "c.npz", 0.3, RANDOM())
    np.testing.assert_array_equal(options.heldout_images, values[:2])
    assert options.classes == 7


GOOD = {"features": np.ones((4, 2)), "labels": np.zeros(4, int)}


@pytest.mark.parametrize(
    ("match", "changed"),
    [
        ("x.npz holds no array `labels`", {"labels": None}),
        ("`features` must have 2 axes", {"features": np.ones(4)}),
        ("`labels` must be as long as `features`", {"features": np.ones((5, 2))}),
        ("`labels` must hold whole numbers", {"labels": [0, 1, 1.5, 2]}),
        ("2 others", {"heldout_features": np.ones((1, 3)), "heldout_labels": [0]}),
        ("x.npz holds no array `heldout_labels`", {"heldout_features": np.ones((1, 2))}),
        ("must hold at least one image", {"features": np.ones((4, 0))}),
        (r"holds one of 1e\+200", {"features": np.full((4, 2), -1e200)}),
        ("`features` must differ from zero", {"features": np.zeros((4, 2))}),
        # Zero as soon as a network sees it.
        ("must differ from zero", {"features": np.full((4, 2), 1e-200)}),
        ("from 0 to 9999, but holds 1e", {"labels": [0, 1, 2, 10**9]}),
        ("from 0 to 9999, but holds -1", {"labels": [0, 1, 2, -1]}),
        ("of 1 at 0.3 none is held out", {"features": np.ones((1, 2)), "labels": [0]}),
        ("pickled objects, which are never loaded", {"features": np.array([{}, {}])}),
    ],
)
def test_features_that_cannot_be_used_are_refused(tmp_path, match, changed):
    arrays = {name: array for name, array in {**GOOD, **changed}.items() if array is not None}
    np.savez(tmp_path / "x.npz", **arrays)
    with pytest.raises((ArgumentError, StoreError), match=match):
        image_files.features(tmp_path / "x.npz", 0.3, RANDOM())


def test_features_may_be_of_any_real_type(tmp_path):
    values = np.arange(1, 13).reshape(6, 2)
    for dtype in ("u1", "u8", "i2", "f2", "f4", "g"):
        labels = np.arange(6, dtype="u8") % 2
        np.savez(tmp_path / "x.npz", features=values.astype(dtype), labels=labels)
        data = image_files.features(tmp_path / "x.npz", 0.5, RANDOM())
        assert data.train_images.dtype == (np.float32 if dtype == "f4" else np.float64)
        both = np.concatenate([data.train_images, data.heldout_images])
        assert sorted(both[:, 0]) == sorted(values[:, 0])
