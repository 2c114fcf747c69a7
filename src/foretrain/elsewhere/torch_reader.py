"""PyTorch modules as functions in JAX: `torch.export` writes a module's forward as a graph of some 190 core operations.

The module is exported in evaluation (dropout off, batch normalisation by its stored moments) for one example, and mapped over
the batch. What comes out is compared with the module's own outputs on the data. Needs PyTorch (``foretrain[torch]``).
"""

import copy
import warnings
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
import torch  # pyright: ignore[reportMissingImports]

from foretrain.degeneracy.function import Function, check_outputs
from foretrain.elsewhere.aten import OPERATIONS, operation
from foretrain.elsewhere.torch_layers import network_of_graph, symbols
from foretrain.errors import ArgumentError, argument_error, finite_array
from foretrain.plans.place import place

_BLOCK = 512  # examples that the module answers at a time


def of_torch(module: Any, x: Any, layers: Sequence[str] | None = None) -> Function:
    """Return the function of a PyTorch module, each parameter once under its first name.

    A module that convolves nothing has its `network`: linear layers with a nonlinearity each, other steps (softmax,
    normalisation, a residual block) as sections of their own; see `foretrain.elsewhere.torch_layers`. Parameters of which
    `requires_grad` is False stay as they are: the others are a part of the function, without `network`, and a note says so.

    Args:
        x: Data (n, ...), as the module reads them; whole numbers go to an embedding as they are.
        layers: Names of submodules whose outputs are the layers of the `network`, for any module: nothing may go around them.

    Raises:
        ArgumentError: It uses what is not read, named with its place; it cannot be exported; its outputs are not (n, o); what
            was read does not answer as the module does; no parameter requires a gradient, or `layers` are named and some do
            not.
    """
    if not isinstance(module, torch.nn.Module):
        raise argument_error("model", "be a torch.nn.Module", f"is {type(module).__name__}")
    x = finite_array("x", x)
    if x.ndim < 2 or not len(x):
        rule = "have an axis of examples, at least one, and an axis of inputs"
        raise argument_error("x", rule, f"has shape {x.shape}")
    moving = [name for name, leaf in module.named_parameters() if leaf.requires_grad]
    still = sum(leaf.numel() for leaf in module.parameters() if not leaf.requires_grad)
    if still and (layers is not None or not moving):
        rule = f"have {'only parameters' if moving else 'parameters'} that require a gradient"
        rule += " where layers are named" * bool(moving)
        got = f"has {still:,} that do not"
        raise argument_error("model", rule, got, "Try model.requires_grad_(True).")
    module, batch = _copied(module, x)
    try:
        with torch.no_grad():
            parts = [module(batch[at : at + _BLOCK]) for at in range(0, len(x), _BLOCK)]
    except Exception as error:
        got = f"fails at {place(error)}"[:400].rstrip(". ")
        raise argument_error("model", "answer the data", got) from error
    graph = _Graph(module, batch[:1])
    params = {name: leaf.detach().numpy() for name, leaf in module.named_parameters()}
    network, note, many = None, "", 0
    try:
        many = symbols(graph)
        network = None if still else network_of_graph(graph, params, layers)
    except ArgumentError as error:
        if layers is not None:
            raise
        note = f"No layers for an interaction basis: {error}"
    if still:
        note = (
            f"Network: {still:,} of {sum(leaf.size for leaf in params.values()):,} parameters require no gradient and stay as "
            "they are. Free directions of the others have no sources, and there is no interaction basis."
        )
    function = Function(graph.apply, params, network, (note,) if note else (), many)
    function.check(x)
    with torch.no_grad():
        if not torch.allclose(module(batch[-1:]), parts[-1][-1:], 1e-3, 1e-5):
            rule = "answer every example by itself"
            raise argument_error("model", rule, "mixes them", "Try batch_first=True.")
    check_outputs(function, x, torch.cat(parts).double().numpy())
    return function.part(*moving) if still else function


def acts_otherwise(module: Any, x: Any) -> bool:
    """Return True if a module answers otherwise in PyTorch's training: by chance, by the batch, or by a rule of its own."""
    module, batch = _copied(module, np.asarray(x)[:_BLOCK])
    with torch.no_grad(), torch.random.fork_rng(devices=[]):
        still = module(batch)
        return not torch.allclose(module.train()(batch), still, 1e-4, 1e-6)


def _copied(module, x):
    """Return a copy of a module in evaluation, half precisions widened, and its batch."""
    module = copy.deepcopy(module).cpu().eval()
    if any(leaf.dtype.itemsize == 2 for leaf in (*module.parameters(), *module.buffers())):
        module = module.float()  # bfloat16 and float16
    kind = next((p.dtype for p in module.parameters() if p.is_floating_point()), torch.float32)
    return module, torch.as_tensor(np.array(x), dtype=kind if x.dtype.kind == "f" else torch.int64)


class _Graph:
    """An exported module: nodes in order, and the value of each from those before it."""

    def __init__(self, module, example):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of PyTorch about itself
                program = torch.export.export(module, (example,), strict=False)
                program = program.run_decompositions()
        except Exception as error:
            text = f"fails at {place(error)}"[:400].rstrip(". ")
            repair = "Its forward may take one tensor, and may not branch on values."
            raise argument_error("model", "be exported by torch.export", text, repair) from error
        signature = program.graph_signature
        first = {id(leaf): name for name, leaf in module.named_parameters()}
        self.parameters = {  # name of a node to that of the parameter, the first name of a shared one
            node: first[id(module.get_parameter(name))]
            for node, name in signature.inputs_to_parameters.items()
        }
        stored = {**program.state_dict, **program.constants}
        fixed = {**signature.inputs_to_buffers, **signature.inputs_to_lifted_tensor_constants}
        self.constants = {node: stored[name].detach().numpy() for node, name in fixed.items()}
        inputs, outputs = list(signature.user_inputs), list(signature.user_outputs)
        if len(inputs) != 1 or len(outputs) != 1:
            raise argument_error("model", "give one tensor of outputs", f"gives {len(outputs)}")
        by_name: dict[Any, Any] = {node.name: node for node in program.graph.nodes}
        self.input, self.output = by_name[inputs[0]], by_name[outputs[0]]
        self.nodes = [node for node in program.graph.nodes if node.op == "call_function"]

    def apply(self, params, x):
        """Return outputs (n, o) of a batch."""

        def alone(row):
            outputs = self.value(params, {self.input: row[None]}, self.nodes, self.output)
            return outputs[0] if outputs.ndim > 1 else outputs

        return jax.vmap(alone)(x)

    def value(self, params, known, nodes, wanted):
        """Return the value of a node, computed from known values through `nodes`."""
        known = dict(known)

        def argument(item: Any) -> Any:
            if isinstance(item, list | tuple):
                return [argument(each) for each in item]
            if not hasattr(item, "op"):  # a number, a kind
                return item
            if item not in known:
                if item.name in self.parameters:
                    return params[self.parameters[item.name]]
                return self.constants[item.name]
            return known[item]

        for node in nodes:
            name = operation(node.target)
            try:
                if name not in OPERATIONS:
                    raise TypeError("unknown")
                known[node] = OPERATIONS[name](
                    *(argument(item) for item in node.args),
                    **{key: argument(item) for key, item in node.kwargs.items()},
                )
            except TypeError:  # another overload of an operation that is known, too
                rows = "padding_idx or scale_grad_by_freq" if name == "embedding" else name
                raise _unread(node, rows) from None
        return known[wanted] if wanted in known else argument(wanted)


def _unread(node, name):
    """Return the error that refuses a module by its class name and place."""
    where, kind = next(reversed((node.meta.get("nn_module_stack") or {"": ("", "?")}).values()))
    kind = kind if isinstance(kind, str) else kind.__name__
    short = kind.rsplit(".", 1)[-1]
    short = f"nn.{short}" if kind.startswith("torch.nn.") else short
    place = f"`{where}`" if where else "it"
    rule, repair = "be made of what is read", "Try apply(params, x) in JAX."
    got = f"{place} is a `{short}`, which is not read, for its `{name}`"
    return argument_error("model", rule, got, repair)
