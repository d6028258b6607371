"""Which initialiser of an exported graph holds which parameter of the network, and in what form.

The exporter renames, turns and merges weights as it likes. So when a graph is made, every parameter is looked
for by its content, and what was found is noted in the graph's own metadata; quantising brings the note up to
date, and `restore.py` goes by it. Two parameters with the same content may share an initialiser.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple, TypeAlias, get_args

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import numpy_helper

Form: TypeAlias = Literal["plain", "rows", "channels"]
"""Float values; 8-bit rows in blocks, with `_q` and `_scale` behind the name; 8-bit kernels, likewise."""
FORMS: tuple[Form, ...] = get_args(Form)

NOTE = "tongguocr.parameters"


class Stored(NamedTuple):
    """Where one parameter lies."""

    initialiser: str
    transposed: bool
    form: Form = "plain"


Note: TypeAlias = dict[str, Stored]


def find_parameters(graph: onnx.GraphProto, parameters: Mapping[str, NDArray[np.float32]]) -> Note:
    """Those of the parameters that the graph holds, as they are or transposed."""
    held = {
        numpy_helper.to_array(tensor).tobytes(): tensor.name
        for tensor in graph.initializer
        if tensor.data_type == onnx.TensorProto.FLOAT
    }
    note: Note = {}
    for name, values in parameters.items():
        for transposed in (False, True):
            content = (values.T if transposed else values).tobytes()
            if content in held:
                note[name] = Stored(held[content], transposed)
                break
    return note


def write_note(model: onnx.ModelProto, note: Note) -> None:
    """Put the note into the graph's metadata, in place of any that is there."""
    kept = [(entry.key, entry.value) for entry in model.metadata_props if entry.key != NOTE]
    del model.metadata_props[:]
    for key, value in [*kept, (NOTE, json.dumps(note, separators=(",", ":")))]:
        model.metadata_props.add(key=key, value=value)


def read_note(model: onnx.ModelProto) -> Note:
    """The note of a graph; empty where there is none that can be understood."""
    written = next((entry.value for entry in model.metadata_props if entry.key == NOTE), "{}")
    try:
        note = {name: Stored(*entry) for name, entry in json.loads(written).items()}
    except (ValueError, TypeError, AttributeError):
        return {}
    return note if all(stored.form in FORMS for stored in note.values()) else {}


def missing(wanted: Iterable[str], notes: Iterable[Note]) -> list[str]:
    """Parameters that none of the notes knows."""
    known = {name for note in notes for name in note}
    return [name for name in wanted if name not in known]
