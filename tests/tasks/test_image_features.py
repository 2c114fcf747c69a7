import sys

import numpy as np
import pytest

from foretrain.errors import ArgumentError
from foretrain.tasks.image_features import resnet_features

IMAGES = np.random.default_rng(0).random((5, 32, 32, 3)).astype(np.float32)


def weights_file(tmp_path, classes=7):
    torch = pytest.importorskip("torch")
    models = pytest.importorskip("torchvision").models
    torch.manual_seed(0)
    network = models.resnet18(weights=None, num_classes=classes)
    path = tmp_path / "weights.pt"
    torch.save(network.state_dict(), path)
    return network.eval(), path


def test_two_stages_of_a_resnet_give_512_features_whatever_its_classifier(tmp_path):
    _, path = weights_file(tmp_path)
    found = resnet_features(IMAGES, path, batch_size=2)
    assert found.shape == (5, 512)
    np.testing.assert_allclose(found, resnet_features(IMAGES, path, batch_size=5), atol=1e-5)


def test_all_stages_followed_by_the_classifier_are_the_whole_network(tmp_path):
    network, path = weights_file(tmp_path)
    import torch

    found = resnet_features(IMAGES, path, stages=4, pooled_size=1)
    mean, deviation = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])
    batch = torch.tensor((IMAGES - mean) / deviation, dtype=torch.float32).permute(0, 3, 1, 2)
    with torch.inference_mode():
        expected = network(batch).numpy()
        answer = network.fc(torch.tensor(found)).numpy()
    np.testing.assert_allclose(answer, expected, atol=1e-5)


def test_files_that_are_no_weights_are_refused(tmp_path):
    _, path = weights_file(tmp_path)
    import torch

    with pytest.raises(
        ArgumentError, match=r"`weights` must be a state dict of resnet34, but .* does not fit"
    ):
        resnet_features(IMAGES, path, architecture="resnet34")
    with pytest.raises(ArgumentError, match="does not exist"):
        resnet_features(IMAGES, tmp_path / "gone.pt")
    path.write_bytes(b"not a checkpoint")
    with pytest.raises(ArgumentError, match="cannot be read"):
        resnet_features(IMAGES, path)
    torch.save([1, 2], path)
    with pytest.raises(ArgumentError, match="holds something else"):
        resnet_features(IMAGES, path)


def test_grey_images_and_a_missing_torchvision_are_named(tmp_path, monkeypatch):
    with pytest.raises(
        ArgumentError, match=r"`images` must have shape \(sample, height, width, 3\)"
    ):
        resnet_features(IMAGES[..., 0], tmp_path / "x.pt")
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ArgumentError, match=r"cannot be imported .*\. Try pip install"):
        resnet_features(IMAGES, tmp_path / "x.pt")
