"""An fp32 ONNX graph -> the same graph with 8-bit weights; and where a graph keeps each parameter.

Matrix products become ONNX Runtime's `MatMulNBits`, 8 bits in blocks along the summed axis. It scales
activations row by row, so a block's result does not depend on the batch it was in, as it would with one scale
for a whole batch. The token embeddings are stored once: the decoder looks rows up in the very table that its
scores are made with. Kernels of convolutions are stored in 8 bits, with a scale an output channel, and become
fp32 when the file is loaded. A graph that is never run on a batch, as the encoder, may be made for speed
instead: mixes of channels are matrix products too (channels_last.py), and products of activations that were
normed are `DynamicQuantizeMatMul`, three times as fast, with one scale for all of a product's activations.
Scales are short numbers, so that values times scales are exact: what was quantised, made float again
(restore.py) and quantised once more is the same to the bit.

The exporter renames, turns and merges weights as it likes. So when a graph is made, every parameter is looked
for by its content, and what was found is noted in the graph's own metadata; quantising brings this map up to
date, and restore.py goes by it. Two parameters with the same content may share an initialiser.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple, TypeAlias, get_args

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import NodeProto, helper, numpy_helper

from tongguocr.training.recogniser.channels_last import put_channels_last

Form: TypeAlias = Literal["plain", "rows", "channels"]
"""Float values; 8-bit rows in blocks, with `_q` and `_scale` behind the name; 8-bit kernels or columns,
likewise, with a scale an output channel."""
FORMS: tuple[Form, ...] = get_args(Form)

MAP_KEY = "tongguocr.parameters"


class StoredParameter(NamedTuple):
    """Where one parameter lies."""

    initialiser: str
    transposed: bool
    form: Form = "plain"


ParameterMap: TypeAlias = dict[str, StoredParameter]


def find_parameters(graph: onnx.GraphProto, parameters: Mapping[str, NDArray[np.float32]]) -> ParameterMap:
    """Those of the parameters that the graph holds, as they are or transposed."""
    held = {
        numpy_helper.to_array(tensor).tobytes(): tensor.name
        for tensor in graph.initializer
        if tensor.data_type == onnx.TensorProto.FLOAT
    }
    note: ParameterMap = {}
    for name, values in parameters.items():
        for transposed in (False, True):
            content = (values.T if transposed else values).tobytes()
            if content in held:
                note[name] = StoredParameter(held[content], transposed)
                break
    return note


def write_parameter_map(model: onnx.ModelProto, note: ParameterMap) -> None:
    """Put the note into the graph's metadata, in place of any that is there."""
    kept = [(entry.key, entry.value) for entry in model.metadata_props if entry.key != MAP_KEY]
    del model.metadata_props[:]
    for key, value in [*kept, (MAP_KEY, json.dumps(note, separators=(",", ":")))]:
        model.metadata_props.add(key=key, value=value)


def read_parameter_map(model: onnx.ModelProto) -> ParameterMap:
    """The note of a graph; empty where there is none that can be understood."""
    written = next((entry.value for entry in model.metadata_props if entry.key == MAP_KEY), "{}")
    try:
        note = {name: StoredParameter(*entry) for name, entry in json.loads(written).items()}
    except (ValueError, TypeError, AttributeError):
        return {}
    return note if all(stored.form in FORMS for stored in note.values()) else {}


def missing(wanted: Iterable[str], notes: Iterable[ParameterMap]) -> list[str]:
    """Parameters that none of the notes knows."""
    known = {name for note in notes for name in note}
    return [name for name in wanted if name not in known]


BITS = 8
BLOCK = 128
"""Weights that share a scale: 3 % more bytes, and all widths of the network are multiples of it."""
ACCURACY_LEVEL = 4
"""Multiply in int8, with a scale for each row and block of the activations: twice as fast as in fp32."""
SMALLEST = 4096
"""Weights with fewer values stay as they are."""
ZERO = 1 << (BITS - 1)
LARGEST_COLUMN = 64
"""In columns values go no further: on processors without VNNI, sums of two larger products could overflow."""
ROUGH = (".attention.out.weight", ".feed.down.weight")
"""What goes into these products was not normed: a few large values would take the scale from all others. With
one scale for all of it the development pages lost 0.3 points of AR, so each row has its own."""
CONTRIB = "com.microsoft"

Floats = NDArray[np.float32]
Bytes = NDArray[np.uint8]


def quantise(model: onnx.ModelProto, single: bool = False) -> onnx.ModelProto:
    """A new model; the one given stays as it is. `single`: what it is run on is never a batch."""
    result = onnx.ModelProto()
    result.CopyFrom(model)
    graph = result.graph
    moved = put_channels_last(graph) if single else {}
    weights = {w.name: numpy_helper.to_array(w) for w in graph.initializer if _is_weight(w)}
    tables = _Tables(graph)
    rough = {held.initialiser for name, held in read_parameter_map(model).items() if name.endswith(ROUGH)}
    nodes: list[NodeProto] = []
    for node in graph.node:
        fast = single and node.op_type == "MatMul" and node.input[1] not in rough
        if fast and _is_matrix(node.input[1], weights):
            nodes.append(_fast_product(node, weights[node.input[1]], tables))
        elif node.op_type == "Add" and nodes and _takes_bias(nodes[-1], node, graph):
            nodes[-1].input.extend(["", node.input[1]])
            nodes[-1].output[0] = node.output[0]
        else:
            nodes += _quantise_node(node, weights, tables)
    del graph.node[:]
    graph.node.extend(nodes)
    used = {name for node in nodes for name in node.input}
    kept = [w for w in graph.initializer if w.name in used]
    del graph.initializer[:]
    graph.initializer.extend(kept)
    note = {
        name: stored._replace(initialiser=moved[stored.initialiser], transposed=not stored.transposed)
        if stored.initialiser in moved
        else stored
        for name, stored in read_parameter_map(model).items()
    }
    write_parameter_map(result, _renewed(note, tables.stored, {w.name for w in kept}))
    if not any(entry.domain == CONTRIB for entry in result.opset_import):
        result.opset_import.append(helper.make_opsetid(CONTRIB, 1))
    return result


def _renewed(note: ParameterMap, stored: dict[str, StoredParameter], kept: set[str]) -> ParameterMap:
    """The note of where parameters lie, for those that lie in 8-bit tables now."""
    return {
        name: entry
        if entry.initialiser in kept or entry.initialiser not in stored
        else stored[entry.initialiser]._replace(
            transposed=stored[entry.initialiser].transposed != entry.transposed
        )
        for name, entry in note.items()
    }


def _is_weight(tensor: onnx.TensorProto) -> bool:
    return tensor.data_type == onnx.TensorProto.FLOAT and int(np.prod(tensor.dims)) >= SMALLEST


class _Tables:
    """Quantised weights added to a graph, each content once."""

    def __init__(self, graph: onnx.GraphProto) -> None:
        self.graph = graph
        self.names: dict[bytes, str] = {}
        self.stored: dict[str, StoredParameter] = {}
        """What became of each initialiser."""

    def add(self, rows: Floats) -> str:
        """n x k values, to be summed along k; the name's two tensors end in `_q` and `_scale`."""
        key = rows.tobytes()
        if key not in self.names:
            name = self.names[key] = f"table_{len(self.names)}"
            values, scales = quantise_rows(rows)
            self.keep(f"{name}_q", values)
            self.keep(f"{name}_scale", scales)
        return self.names[key]

    def keep(self, name: str, values: NDArray[np.generic]) -> str:
        self.graph.initializer.append(numpy_helper.from_array(values, name))
        return name


def _quantise_node(node: NodeProto, weights: dict[str, Floats], tables: _Tables) -> list[NodeProto]:
    names = list(node.input)
    if node.op_type == "MatMul" and _is_matrix(names[1], weights):
        return [_matrix_product(node, weights[names[1]].T, tables, transposed=True)]
    if node.op_type == "Gemm" and len(names) == 2 and names[1] in weights:
        as_rows = any(attribute.name == "transB" and attribute.i for attribute in node.attribute)
        weight = weights[names[1]]
        return [_matrix_product(node, weight if as_rows else weight.T, tables, transposed=not as_rows)]
    if node.op_type == "Gather" and _is_matrix(names[0], weights):
        return _lookup(node, weights[names[0]], tables)
    if node.op_type == "Conv" and names[1] in weights:
        return _convolution(node, weights[names[1]], tables)
    return [node]


def _matrix_product(node: NodeProto, rows: Floats, tables: _Tables, transposed: bool) -> NodeProto:
    """`rows` are the node's weights, or, if `transposed`, those turned."""
    n, k = rows.shape
    name = tables.add(np.ascontiguousarray(rows))
    tables.stored[node.input[1]] = StoredParameter(name, transposed, "rows")
    return helper.make_node(
        "MatMulNBits",
        [node.input[0], f"{name}_q", f"{name}_scale"],
        list(node.output),
        name=node.name,
        domain=CONTRIB,
        K=k,
        N=n,
        bits=BITS,
        block_size=BLOCK,
        accuracy_level=ACCURACY_LEVEL,
    )


def _is_matrix(name: str, weights: dict[str, Floats]) -> bool:
    return name in weights and weights[name].ndim == 2


def _fast_product(node: NodeProto, columns: Floats, tables: _Tables) -> NodeProto:
    """A product of whole pictures: `columns` are the node's weights, as they are."""
    name = node.input[1]
    if name not in tables.stored:
        tables.stored[name] = StoredParameter(name, False, "channels")
        scale = _scale(np.abs(columns).max(0), LARGEST_COLUMN)
        tables.keep(f"{name}_q", np.rint(columns / scale).astype(np.int8))
        tables.keep(f"{name}_scale", scale)
    inputs = [node.input[0], f"{name}_q", f"{name}_scale"]
    return helper.make_node(
        "DynamicQuantizeMatMul", inputs, list(node.output), name=node.name, domain=CONTRIB
    )


def _takes_bias(product: NodeProto, node: NodeProto, graph: onnx.GraphProto) -> bool:
    """Whether a sum adds nothing but a bias to the product before it, which nobody else looks at."""
    if product.op_type != "DynamicQuantizeMatMul" or list(node.input[:1]) != list(product.output):
        return False
    biases = {tensor.name for tensor in graph.initializer if len(tensor.dims) == 1}
    users = sum(product.output[0] in other.input for other in graph.node)
    return len(product.input) == 3 and node.input[1] in biases and users == 1


def _lookup(node: NodeProto, weight: Floats, tables: _Tables) -> list[NodeProto]:
    """Rows of the shared table, made float again; the padding of the last block is cut off."""
    name, out = tables.add(np.ascontiguousarray(weight)), node.output[0]
    tables.stored[node.input[0]] = StoredParameter(name, False, "rows")
    blocks = -(-weight.shape[1] // BLOCK)
    kept = {
        "zero": np.float32(ZERO),
        "scales": np.array([-1, blocks, 1]),
        "row": np.array([0, -1]),
        "start": np.array([0]),
        "stop": np.array([weight.shape[1]]),
        "axis": np.array([-1]),
    }
    for part, value in kept.items():
        tables.keep(f"{out}_{part}", np.asarray(value))
    index = node.input[1]
    make = helper.make_node
    return [
        make("Gather", [f"{name}_q", index], [f"{out}_q"]),
        make("Cast", [f"{out}_q"], [f"{out}_float"], to=onnx.TensorProto.FLOAT),
        make("Sub", [f"{out}_float", f"{out}_zero"], [f"{out}_signed"]),
        make("Reshape", [f"{name}_scale", f"{out}_scales"], [f"{out}_scale_table"]),
        make("Gather", [f"{out}_scale_table", index], [f"{out}_scale"]),
        make("Mul", [f"{out}_signed", f"{out}_scale"], [f"{out}_blocks"]),
        make("Reshape", [f"{out}_blocks", f"{out}_row"], [f"{out}_padded"]),
        make("Slice", [f"{out}_padded", f"{out}_start", f"{out}_stop", f"{out}_axis"], [out]),
    ]


def _convolution(node: NodeProto, weight: Floats, tables: _Tables) -> list[NodeProto]:
    """Nothing but the file is smaller: the two new nodes are folded when the graph is loaded."""
    largest = np.abs(weight).reshape(len(weight), -1).max(1).reshape(-1, *[1] * (weight.ndim - 1))
    scale = _scale(largest)
    name = node.input[1]
    tables.stored[name] = StoredParameter(name, False, "channels")
    tables.keep(f"{name}_q", np.rint(weight / scale).astype(np.int8))
    tables.keep(f"{name}_scale", scale)
    result = NodeProto()
    result.CopyFrom(node)
    result.input[1] = f"{name}_restored"
    return [
        helper.make_node("Cast", [f"{name}_q"], [f"{name}_float"], to=onnx.TensorProto.FLOAT),
        helper.make_node("Mul", [f"{name}_float", f"{name}_scale"], [f"{name}_restored"]),
        result,
    ]


def quantise_rows(rows: Floats) -> tuple[Bytes, Floats]:
    """n x k -> n x blocks x BLOCK bytes around ZERO, and n * blocks scales; the last block is filled up."""
    n, k = rows.shape
    blocks = -(-k // BLOCK)
    padded = np.zeros((n, blocks * BLOCK), np.float32)
    padded[:, :k] = rows
    padded = padded.reshape(n, blocks, BLOCK)
    scales = _scale(np.abs(padded).max(2))
    values = np.rint(padded / scales[:, :, None]) + ZERO
    return values.astype(np.uint8), scales.reshape(-1)


def _scale(largest: Floats, steps: int = ZERO - 1) -> Floats:
    """What one step is worth, rounded to 16 bits: times a whole number of 8 bits it is exact in 24."""
    mantissa, exponent = np.frexp(np.maximum(largest, 1e-12).astype(np.float32) / np.float32(steps))
    return np.ldexp(np.rint(mantissa * 65536) / np.float32(65536), exponent).astype(np.float32)


def restore_rows(values: Bytes, scales: Floats, width: int) -> Floats:
    """What `quantise_rows` made of n x width values, float again."""
    signed = values.astype(np.float32) - ZERO
    rows: Floats = (signed * scales.reshape(*values.shape[:2], 1)).reshape(len(values), -1)
    return rows[:, :width]
