"""An fp32 graph -> the same graph with its channel mixes as matrix products, channels last.

Most of a convolutional stem's work is kernels of one place, which mix channels. With the channels of a place
beside each other these are plain matrix products, which are made in 8 bits three times as fast as
convolutions in fp32. What lies between them stays in this layout too: activations, sums, gates. Kernels that
look at neighbours keep theirs. A kernel that is as long as its stride, in one direction, is a matrix product
as well, over places that are laid end to end.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import NodeProto, helper, numpy_helper

Floats = NDArray[np.float32]

NARROWEST = 96
"""Channels that a mix sums: with fewer, turning the layout takes as long as is gained."""
TO_LAST, TO_FIRST = [0, 2, 3, 1], [0, 3, 1, 2]
BY_PLACE = {"Gelu", "Relu", "HardSigmoid", "Add", "Mul"}
"""What treats each value by itself, in any layout."""


@dataclass
class _Layout:
    """The new nodes; which tensors there are channels last, under which name."""

    values: dict[str, NDArray[Any]]
    """The graph's initialisers."""
    nodes: list[NodeProto] = field(default_factory=list)
    last: dict[str, str] = field(default_factory=dict)
    preferred: set[str] = field(default_factory=set)
    """What is made channels last, or soon needed so."""
    missing: set[str] = field(default_factory=set)
    """What there is channels last only, as yet."""
    pooled: set[str] = field(default_factory=set)
    """What has one place: nothing is gained there."""
    added: dict[str, NDArray[Any]] = field(default_factory=dict)
    moved: dict[str, str] = field(default_factory=dict)
    """Weights, and what stands for them: the same, with all axes reversed."""

    def channels_last(self, name: str) -> str:
        if name not in self.last:
            self.last[name] = f"{name}_last"
            self.nodes.append(helper.make_node("Transpose", [name], [f"{name}_last"], perm=TO_LAST))
        return self.last[name]

    def channels_first(self, name: str) -> None:
        if name in self.missing:
            self.missing.remove(name)
            self.nodes.append(helper.make_node("Transpose", [self.last[name]], [name], perm=TO_FIRST))

    def give_last(self, name: str) -> str:
        """The name under which a node is to give a tensor that comes channels last."""
        self.last[name] = f"{name}_last"
        self.preferred.add(name)
        self.missing.add(name)
        return self.last[name]

    def add(self, name: str, values: NDArray[Any]) -> str:
        self.added[name] = values
        return name


def put_channels_last(graph: onnx.GraphProto) -> dict[str, str]:
    """Change a graph; the weights that are now under another name, with all axes reversed, and that name."""
    layout = _Layout({tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer})
    for node in graph.node:
        _note_pooled(node, layout)
        if _mixes(node, layout):
            _mix(node, layout)
        elif _is_mean(node, layout):
            _mean(node, layout)
        elif _by_place(node, layout):
            inputs = [n if n in layout.values else layout.channels_last(n) for n in node.input]
            layout.nodes.append(_with(node, inputs, [layout.give_last(node.output[0])]))
        else:
            _leave(node, layout)
    for output in graph.output:
        layout.channels_first(output.name)
    del graph.node[:]
    graph.node.extend(layout.nodes)
    graph.initializer.extend(numpy_helper.from_array(values, name) for name, values in layout.added.items())
    return layout.moved


def _note_pooled(node: NodeProto, layout: _Layout) -> None:
    gone_on = node.op_type in ("Conv", "Relu", "HardSigmoid") and node.input[0] in layout.pooled
    if node.op_type == "ReduceMean" or gone_on:
        layout.pooled.add(node.output[0])


def _leave(node: NodeProto, layout: _Layout) -> None:
    for name in node.input:
        layout.channels_first(name)
    layout.nodes.append(node)
    if node.op_type == "Conv" and _attribute(node, "group", 1) > 1:
        # A depthwise filter comes before a mix, and all that comes between is to lie as the mix needs it.
        layout.channels_last(node.output[0])
        layout.preferred.add(node.output[0])


def _mixes(node: NodeProto, layout: _Layout) -> bool:
    """Whether a node is a convolution that can be made as a matrix product, and ought to be."""
    weight = layout.values.get(node.input[1]) if node.op_type == "Conv" and len(node.input) == 3 else None
    if weight is None or weight.ndim != 4 or node.input[2] not in layout.values:
        return False
    return (
        weight.shape[2] == 1
        and weight.shape[1] >= NARROWEST
        and _attribute(node, "group", 1) == 1
        and list(_attribute(node, "strides", [1, 1])) == list(weight.shape[2:])
        and not any(_attribute(node, "pads", [0]))
        and node.input[0] not in layout.pooled
    )


def _mix(node: NodeProto, layout: _Layout) -> None:
    source, weight, bias = node.input
    values, out = layout.values[weight], node.output[0]
    columns = np.ascontiguousarray(values.T).reshape(-1, len(values))
    layout.moved[weight] = layout.add(f"{weight}_columns", columns)
    x = layout.channels_last(source)
    if values.shape[3] > 1:
        end_to_end = layout.add(f"{out}_end_to_end", np.array([0, 0, -1, len(columns)]))
        layout.nodes.append(helper.make_node("Reshape", [x, end_to_end], [f"{out}_places"]))
        x = f"{out}_places"
    layout.nodes.append(helper.make_node("MatMul", [x, f"{weight}_columns"], [f"{out}_product"]))
    layout.nodes.append(helper.make_node("Add", [f"{out}_product", bias], [layout.give_last(out)]))


def _is_mean(node: NodeProto, layout: _Layout) -> bool:
    """Whether it is the mean over a picture that is there channels last."""
    if node.op_type != "ReduceMean" or node.input[0] not in layout.preferred or len(node.input) != 2:
        return False
    axes = layout.values.get(node.input[1], np.zeros(0))
    return sorted(axes.tolist()) in ([2, 3], [-2, -1]) and bool(_attribute(node, "keepdims", 1))


def _mean(node: NodeProto, layout: _Layout) -> None:
    x, out = layout.channels_last(node.input[0]), node.output[0]
    axes = layout.add(f"{out}_axes", np.array([1, 2]))
    layout.nodes.append(helper.make_node("ReduceMean", [x, axes], [layout.give_last(out)], keepdims=1))


def _by_place(node: NodeProto, layout: _Layout) -> bool:
    """Whether it takes each value by itself, among them some that lie channels last."""
    plain = [layout.values[name] for name in node.input if name in layout.values]
    return (
        node.op_type in BY_PLACE
        and any(name in layout.preferred for name in node.input)
        and all(values.size == 1 for values in plain)
    )


def _with(node: NodeProto, inputs: list[str], outputs: list[str]) -> NodeProto:
    """The node, between other tensors."""
    result = NodeProto()
    result.CopyFrom(node)
    del result.input[:], result.output[:]
    result.input.extend(inputs)
    result.output.extend(outputs)
    return result


def _attribute(node: NodeProto, name: str, default: Any) -> Any:
    found = [helper.get_attribute_value(entry) for entry in node.attribute if entry.name == name]
    return found[0] if found else default
