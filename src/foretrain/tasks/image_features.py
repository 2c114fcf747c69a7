"""Features of colour images from the first stages of a frozen ResNet, whose weights are a file given by the user.

Needs the extra ``vision`` (PyTorch and torchvision). Nothing is downloaded, and the file is read as plain tensors.
"""

from pathlib import Path

import numpy as np

from foretrain.errors import argument_error, integer, one_of

ARCHITECTURES = ("resnet18", "resnet34", "resnet50")

# What torchvision's own weights were trained with: mean and standard deviation of red, green, blue.
_MEAN, _DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def resnet_features(
    images: np.ndarray,
    weights: str | Path,
    *,
    architecture: str = "resnet18",
    stages: int = 2,
    pooled_size: int = 2,
    batch_size: int = 256,
) -> np.ndarray:
    """Features of images from a frozen torchvision ResNet.

    Args:
        images: Shape (sample, height, width, 3), in [0, 1].
        weights: File with the state dict of the network, as ``torch.save(model.state_dict(), path)`` writes it.
        architecture: "resnet18", "resnet34" or "resnet50".
        stages: Number of residual stages that are used, 1 to 4. Saxe, Sodhani & Lewallen (2022), appendix D, use two.
        pooled_size: Side to which the last stage's maps are averaged; with two stages of a resnet18 2 gives 128 x 2 x 2 =
            512 features, the number of the paper.
        batch_size: Images at a time.

    Returns:
        Features, shape (sample, feature), float32.

    Raises:
        ArgumentError: torchvision is not installed, or the file is no state dict of that architecture.

    Cost: about 20 ms an image and core for 32 x 32 images in two stages of a resnet18.
    """
    one_of("architecture", architecture, ARCHITECTURES)
    stages = integer("stages", stages, minimum=1, maximum=4)
    if images.ndim != 4 or images.shape[3] != 3:
        raise argument_error(
            "images", "have shape (sample, height, width, 3)", f"has shape {images.shape}"
        )
    try:
        # An extra, which need not be installed where types are checked.
        import torch  # pyright: ignore[reportMissingImports]
        import torchvision  # pyright: ignore[reportMissingImports]
    except (ImportError, RuntimeError) as error:  # RuntimeError: builds that do not fit each other
        raise argument_error(
            "weights",
            "be read with torchvision",
            f"it cannot be imported ({' '.join(str(error).split())})",
            'Try pip install "foretrain[vision]".',
        ) from None
    network = _network(torch, torchvision, architecture, Path(weights))
    parts = [network.conv1, network.bn1, network.relu, network.maxpool]
    parts += [getattr(network, f"layer{number}") for number in range(1, stages + 1)]
    body = torch.nn.Sequential(*parts, torch.nn.AdaptiveAvgPool2d(pooled_size), torch.nn.Flatten())
    mean, deviation = torch.tensor(_MEAN), torch.tensor(_DEVIATION)
    found = []
    with torch.inference_mode():
        for start in range(0, len(images), batch_size):
            batch = torch.tensor(images[start : start + batch_size], dtype=torch.float32)
            batch = ((batch - mean) / deviation).permute(0, 3, 1, 2)
            found.append(body(batch).numpy())
    return np.concatenate(found)


def _network(torch, torchvision, architecture, path):
    def refuse(reason):
        rule = f"be a state dict of {architecture}"
        return argument_error("weights", rule, f"{path} {' '.join(str(reason).split())[:200]}")

    if not path.is_file():
        raise refuse("does not exist")
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # torch.load raises many kinds on a foreign file
        raise refuse(f"cannot be read ({error})") from None
    if not isinstance(state, dict) or "fc.weight" not in state:
        raise refuse("holds something else")
    # The classifier is not used, so it may have any number of classes.
    network = getattr(torchvision.models, architecture)(
        weights=None, num_classes=len(state["fc.weight"])
    )
    try:
        network.load_state_dict(state)
    except RuntimeError as error:
        raise refuse(f"does not fit ({error})") from None
    return network.eval()
