"""Time of routing on images: gradient flow from statistics against minibatches of 8, on one core.

    python benchmarks/image_routing.py [--domains 40] [--images 60000] [--init-scale 0.1] [--truncation 0.1]
        [--epoch-steps 200]

Both train M encoders 784 -> 128, a shared hidden matrix and M decoders 128 -> 10 on the same synthetic images, with squared
error on K trained routes a domain. The flow goes to the stopping point of the paper, continuous time 7500: 1000 epochs of
7500 minibatches at learning rate 1e-4 and momentum .9. Its time includes the statistics and the compilation; with
`--truncation` images are projected on the directions that hold all but this share of them. The other is a plain PyTorch
loop in which all encoders are one batched product and all decoders another; its domains share the batch and their pixels are
not permuted, which the encoders absorb. A number of its steps is timed and scaled to an epoch.
"""

import argparse
import importlib.util
import json
import time

IMAGE, WIDTH, CLASSES, BATCH = 28, 128, 10, 8


def synthetic_images(count, random):
    """Smooth blobs, one template a class and smooth noise: pixels in [0, 1], spectrum as steep as that of digits."""
    import numpy as np
    from scipy.ndimage import gaussian_filter

    labels = random.integers(0, CLASSES, count)
    smooth = lambda shape: gaussian_filter(random.normal(size=shape), (0, 2, 2))  # noqa: E731
    templates = 6 * smooth((CLASSES, IMAGE, IMAGE))
    images = np.empty((count, IMAGE, IMAGE), np.float32)
    for start in range(0, count, 5000):
        part = labels[start : start + 5000]
        images[start : start + 5000] = templates[part] + 4 * smooth((len(part), IMAGE, IMAGE))
    return np.clip(images, 0, 1).reshape(count, -1), labels


def time_statistics(images, labels, options):
    import jax
    import numpy as np

    from foretrain.dynamics import chebyshev
    from foretrain.networks import image_routing as network
    from foretrain.tasks import image_domains
    from foretrain.tasks import masks as routing
    from foretrain.tasks.images import LabelledImages

    began = time.perf_counter()
    some = slice(100)
    plain = LabelledImages(images, labels, images[some], labels[some], CLASSES)
    data = image_domains.divided(plain, options.domains, "permutation", 0.0)
    result = image_domains.truncated(image_domains.statistics(data), options.truncation)
    scales, targets = (jax.numpy.asarray(a, "float32") for a in (result.scales, result.targets))
    pairs = jax.numpy.asarray(routing.circulant(options.domains, options.trained), "float32")
    after_statistics = time.perf_counter()

    def velocity(weights, inputs):
        return network.negative_gradient(weights, scales, targets, pairs)

    @jax.jit
    def begin(random):
        size = (options.domains, WIDTH, scales.shape[-1], CLASSES)
        first = network.random_weights(
            random, *size, options.init_scale, law="authors", dtype=jax.numpy.float32
        )
        return chebyshev.start(velocity, first)

    @jax.jit
    def attempt(flow):
        return chebyshev.attempt(velocity, flow, None, 3e-3, (5, 10, 20, 40, 80, 160))

    flow = begin(jax.random.key(0))
    attempts = 0
    while float(flow.time) < options.duration:
        flow, attempts = attempt(flow), attempts + 1
    ended = time.perf_counter()
    excess = network.excess_errors(flow.position, scales, targets)
    share = excess / (0.5 * (targets**2).sum())
    pairs = np.asarray(pairs)
    return {
        "statistics_s": after_statistics - began,
        "flow_s": ended - after_statistics,
        "total_s": ended - began,
        "directions": scales.shape[-1],
        "attempts": attempts,
        "excess_trained": float((share * pairs).sum() / pairs.sum()),
        "excess_untrained": float((share * (1 - pairs)).sum() / (1 - pairs).sum()),
    }


def time_minibatches(images, labels, options):
    import torch

    from foretrain.tasks import masks as routing

    torch.set_num_threads(1)
    torch.manual_seed(0)
    images, labels = torch.tensor(images), torch.tensor(labels)
    pairs = torch.tensor(routing.circulant(options.domains, options.trained), dtype=torch.float32)

    def layer(copies, fan_in, fan_out):
        weights = torch.empty(copies, fan_in, fan_out)
        for matrix in weights:
            torch.nn.init.xavier_normal_(matrix, gain=options.init_scale)
        return weights.requires_grad_(), torch.zeros(copies, 1, fan_out, requires_grad=True)

    encoders, encoder_bias = layer(options.domains, IMAGE**2, WIDTH)
    hidden, hidden_bias = layer(1, WIDTH, WIDTH)
    decoders, decoder_bias = layer(options.domains, WIDTH, CLASSES)
    trained = [encoders, encoder_bias, hidden, hidden_bias, decoders, decoder_bias]
    optimiser = torch.optim.SGD(trained, lr=1e-4, momentum=0.9)

    def step():
        chosen = torch.randint(len(images), (BATCH,))
        target = torch.nn.functional.one_hot(labels[chosen], CLASSES).float()
        first = torch.matmul(images[chosen], encoders) + encoder_bias
        second = first.reshape(-1, WIDTH) @ hidden[0] + hidden_bias[0]
        output = torch.matmul(second, decoders) + decoder_bias
        output = output.reshape(options.domains, options.domains, BATCH, CLASSES)
        error = 0.5 * ((output - target) ** 2).sum(-1).mean(-1)
        # Decoders come first here; the band of trained pairs is transposed accordingly.
        loss = (error * pairs.T).sum() / pairs.sum()
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        optimiser.step()

    for _ in range(10):
        step()
    began = time.perf_counter()
    for _ in range(options.epoch_steps):
        step()
    step_s = (time.perf_counter() - began) / options.epoch_steps
    return {"step_s": step_s, "epoch_s": step_s * len(images) / BATCH}


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--domains", type=int, default=40)
    parser.add_argument("--trained", type=int, default=10, help="trained outputs K")
    parser.add_argument("--images", type=int, default=60_000)
    parser.add_argument("--init-scale", type=float, default=0.1)
    parser.add_argument("--truncation", type=float, default=0.0)
    parser.add_argument("--duration", type=float, default=7500.0)
    parser.add_argument("--epoch-steps", type=int, default=200, help="minibatches that are timed")
    parser.add_argument("--core", type=int, default=0)
    options = parser.parse_args(arguments)
    import numpy as np

    from foretrain.engine.cores import pin_to_one_core

    pin_to_one_core(options.core)

    images, labels = synthetic_images(options.images, np.random.default_rng(0))
    flow = time_statistics(images, labels, options)
    if importlib.util.find_spec("torch") is None:
        print(json.dumps({"flow": flow}, indent=2))
        print("PyTorch is not installed: its comparison is left out.")
        return
    epoch = time_minibatches(images, labels, options)
    # A figure panel is the same number of runs either way, so its ratio is that of one run.
    ratio = {"epochs_in_the_time_of_the_flow": flow["total_s"] / epoch["epoch_s"]}
    ratio["panel_of_1000_epochs"] = 1000 * epoch["epoch_s"] / flow["total_s"]
    print(json.dumps({"flow": flow, "minibatches": epoch, "ratio": ratio}, indent=2))


if __name__ == "__main__":
    main()
