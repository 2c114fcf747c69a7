import gzip
import os
import struct

import numpy as np
import pytest

from foretrain.errors import ArgumentError
from foretrain.tasks import image_files

RANDOM = lambda: np.random.default_rng(0)  # noqa: E731


def write_idx(path, array, packed=False):
    head = struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape)
    data = head + array.astype(np.uint8).tobytes()
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
    held, _ = write_mnist(tmp_path / "mnist", "t10k", 12)
    data = image_files.mnist(tmp_path, 0.5, RANDOM())
    np.testing.assert_allclose(data.train_images * 255, images, rtol=1e-6)
    np.testing.assert_array_equal(data.train_labels, labels)
    np.testing.assert_allclose(data.heldout_images * 255, held, rtol=1e-6)
    assert data.classes == 10


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.filterwarnings("ignore:.*usually distributed")
def test_one_pair_of_mnist_is_split_without_loss(tmp_path, monkeypatch, packed):
    images, _ = write_mnist(tmp_path, "t10k", 20, packed)
    monkeypatch.setenv("FORETRAIN_DATA_DIR", str(tmp_path))
    data = image_files.mnist("", 0.25, RANDOM())
    assert len(data.train_images) == 15
    both = np.concatenate([data.train_images, data.heldout_images]).sum((1, 2))
    np.testing.assert_allclose(np.sort(both), np.sort(images.sum((1, 2)) / 255), rtol=1e-5)


def test_a_file_under_a_known_name_with_other_contents_makes_a_warning(tmp_path):
    write_mnist(tmp_path, "t10k", 4, packed=True)
    with pytest.warns(UserWarning, match="t10k-labels.* is not the file usually distributed"):
        image_files.read_idx(tmp_path / "t10k-labels-idx1-ubyte.gz")


def test_absent_files_are_named_with_the_place_they_belong(tmp_path, monkeypatch):
    monkeypatch.delenv("FORETRAIN_DATA_DIR", raising=False)
    with pytest.raises(
        ArgumentError, match=r"`data_dir` must name .* mnist .* is not given\. Put t"
    ):
        image_files.mnist(None, 0.2, RANDOM())
    with pytest.raises(
        ArgumentError, match=r"has none\. Put data_batch_1.bin .*FORETRAIN_DATA_DIR"
    ):
        image_files.cifar10(tmp_path, 0.2, RANDOM())
    write_idx(tmp_path / "train-images-idx3-ubyte", np.zeros((2, 28, 28)))  # no labels: no pair
    with pytest.raises(ArgumentError, match="has none"):
        image_files.mnist(tmp_path, 0.2, RANDOM())


def test_idx_files_that_are_truncated_or_foreign_are_refused(tmp_path):
    path = tmp_path / "some-idx"
    write_idx(path, np.zeros((3, 4, 5)))
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(ArgumentError, match="some-idx has 75 bytes instead of 76"):
        image_files.read_idx(path)
    path.write_bytes(b"\x89PNG....")
    with pytest.raises(ArgumentError, match="some-idx is no IDX file"):
        image_files.read_idx(path)
    path.write_bytes(gzip.compress(b"\0\0\x08\x01" + bytes(400))[:-9])
    with pytest.raises(ArgumentError, match="some-idx cannot be unpacked"):
        image_files.read_idx(path)
    with pytest.raises(ArgumentError, match="gone cannot be read"):
        image_files.read_idx(tmp_path / "gone")


def test_images_and_labels_of_different_number_are_refused(tmp_path):
    write_mnist(tmp_path, "train", 5)
    write_idx(tmp_path / "train-labels-idx1-ubyte", np.zeros(4))
    with pytest.raises(ArgumentError, match=r"has shape \(5, 28, 28\) beside \(4,\) labels"):
        image_files.mnist(tmp_path, 0.2, RANDOM())


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
    data = image_files.cifar10(tmp_path, 0.2, RANDOM())
    np.testing.assert_allclose(data.train_images * 255, images[:6], rtol=1e-6)
    np.testing.assert_array_equal(data.heldout_labels, [6, 7, 8])


def test_bad_cifar_batches_are_refused(tmp_path):
    (tmp_path / "test_batch.bin").write_bytes(bytes(3072))
    with pytest.raises(ArgumentError, match=r"test_batch\.bin has 3072 bytes, no whole number"):
        image_files.cifar10(tmp_path, 0.2, RANDOM())
    (tmp_path / "test_batch.bin").write_bytes(b"\x0b" + bytes(3072))
    with pytest.raises(ArgumentError, match="a label 11 above 9"):
        image_files.cifar10(tmp_path, 0.2, RANDOM())


def test_features_come_with_or_without_a_split(tmp_path):
    values, labels = np.random.default_rng(0).normal(size=(10, 3)), np.arange(10) % 4
    np.savez(tmp_path / "a.npz", features=values, labels=labels)
    np.save(tmp_path / "b.npy", values)
    np.save(tmp_path / "b-labels.npy", labels)
    one = image_files.features(tmp_path / "a.npz", 0.3, RANDOM())
    other = image_files.features(tmp_path / "b.npy", 0.3, RANDOM())
    assert one.train_images.shape == (7, 3)
    assert one.classes == 4
    np.testing.assert_array_equal(one.train_images, other.train_images)
    held = {"heldout_features": values[:2], "heldout_labels": labels[:2] + 5}
    np.savez(tmp_path / "c.npz", features=values, labels=labels, **held)
    given = image_files.features(tmp_path / "c.npz", 0.3, RANDOM())
    np.testing.assert_array_equal(given.heldout_images, values[:2])
    assert given.classes == 7


def test_features_that_cannot_be_used_are_refused(tmp_path):
    def refuse(match, **arrays):
        np.savez(tmp_path / "x.npz", **arrays)
        with pytest.raises(ArgumentError, match=match):
            image_files.features(tmp_path / "x.npz", 0.3, RANDOM())

    good = {"features": np.zeros((4, 2)), "labels": np.zeros(4, int)}
    refuse("x.npz holds no array `labels`", features=good["features"])
    refuse("`features` must have 2 axes", features=np.zeros(4), labels=good["labels"])
    refuse(
        "`labels` must be as long as `features`", features=np.zeros((5, 2)), labels=good["labels"]
    )
    refuse("`labels` must hold whole numbers", features=good["features"], labels=[0, 1, 1.5, 2])
    refuse("2 others", **good, heldout_features=np.zeros((1, 3)), heldout_labels=[0])
    refuse("`heldout_labels` must be as long", **good, heldout_features=np.zeros((1, 2)))
    refuse("without pickle", features=np.array([{}, {}]), labels=[0, 1])
    with pytest.raises(ArgumentError, match=r"nothing\.npy does not exist"):
        image_files.features(tmp_path / "nothing.npy", 0.3, RANDOM())


@pytest.mark.skipif("FORETRAIN_DATA_DIR" not in os.environ, reason="FORETRAIN_DATA_DIR is not set")
def test_real_mnist_has_its_known_counts():
    try:
        data = image_files.mnist(None, 0.2, RANDOM())
    except ArgumentError as error:
        pytest.skip(str(error))
    labels = np.concatenate([data.train_labels, data.heldout_labels])
    assert len(labels) in (10_000, 60_000, 70_000)
    counts = {10_000: [980, 1135], 60_000: [5923, 6742], 70_000: [6903, 7877]}[len(labels)]
    np.testing.assert_array_equal(np.bincount(labels)[:2], counts)
    assert data.train_images.shape[1:] == (28, 28)
    assert data.train_images.max() == 1
