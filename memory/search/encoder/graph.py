"""Builds the encoder's computation as an ONNX graph from the published weights, with 8-bit weights."""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import QuantType, quantize_dynamic

from memory.search.encoder.encoder import DIMENSIONS, VOCABULARY

Array = NDArray[np.float32]
Tensors = Mapping[str, Array]

OPSET: Final = 20  # the first with Gelu
IR_VERSION: Final = 10
LAYERS: Final = 6
HEADS: Final = 12
HEAD_WIDTH: Final = DIMENSIONS // HEADS
EPSILON: Final = 1e-12  # of the layer normalisation, as the model was trained


class GraphBuilder:
    """Collects nodes and initializers; each ``add`` returns the name of its output."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: list[onnx.TensorProto] = []

    def add(self, operator: str, *inputs: str, output: str = "", **attributes: Any) -> str:
        output = output or f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, inputs, [output], **attributes))
        return output

    def split(self, value: str, count: int) -> list[str]:
        outputs = [f"{value}_{at}" for at in range(count)]
        self.nodes.append(helper.make_node("Split", [value], outputs, num_outputs=count))
        return outputs

    def constant(self, values: NDArray[Any]) -> str:
        name = f"c{len(self.initializers)}"
        self.initializers.append(numpy_helper.from_array(np.ascontiguousarray(values), name))
        return name

    def integers(self, *values: int) -> str:
        return self.constant(np.array(values, dtype=np.int64))


def build_graph(tensors: Tensors, vocabulary: Sequence[str]) -> onnx.ModelProto:
    """Build the graph in full precision. Its input is ``pieces``, the ids of one text, (n,); its output ``vector``,
    (384,) and of length 1. One text a run: so nothing is masked, and no vector depends on its neighbours in a batch."""
    build = GraphBuilder()
    hidden = embed_pieces(build, tensors)
    for layer in range(LAYERS):
        hidden = add_layer(build, hidden, tensors, f"encoder.layer.{layer}.")
    mean = build.add("ReduceMean", hidden, build.integers(0), keepdims=0)
    length = build.add("ReduceL2", mean, keepdims=1)
    build.add("Div", mean, length, output="vector")
    graph = helper.make_graph(
        build.nodes,
        "sentence encoder",
        [helper.make_tensor_value_info("pieces", TensorProto.INT64, ["n"])],
        [helper.make_tensor_value_info("vector", TensorProto.FLOAT, [DIMENSIONS])],
        build.initializers,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION)
    helper.set_model_props(model, {VOCABULARY: "\n".join(vocabulary)})
    return model


def embed_pieces(build: GraphBuilder, tensors: Tensors) -> str:
    """Add, as (n, 384), each piece's embedding and its position's. All are of the same segment."""
    words = build.add("Gather", build.constant(tensors["embeddings.word_embeddings.weight"]), "pieces")
    segment = tensors["embeddings.token_type_embeddings.weight"][0]
    positions = build.constant(tensors["embeddings.position_embeddings.weight"] + segment)
    count = build.add("Shape", "pieces")
    places = build.add("Slice", positions, build.integers(0), count, build.integers(0))
    return normalize(build, build.add("Add", words, places), tensors, "embeddings.LayerNorm.")


def add_layer(build: GraphBuilder, hidden: str, tensors: Tensors, prefix: str) -> str:
    attended = attend(build, hidden, tensors, prefix + "attention.")
    hidden = normalize(build, build.add("Add", attended, hidden), tensors, prefix + "attention.output.LayerNorm.")
    inner = build.add("Gelu", project(build, hidden, *linear(tensors, prefix + "intermediate.dense.")))
    outer = project(build, inner, *linear(tensors, prefix + "output.dense."))
    return normalize(build, build.add("Add", outer, hidden), tensors, prefix + "output.LayerNorm.")


def attend(build: GraphBuilder, hidden: str, tensors: Tensors, prefix: str) -> str:
    """Add self-attention of 12 heads of 32. Queries, keys and values are one product, since each input is quantised
    anew for each product."""
    (query, query_bias), key, value = (linear(tensors, f"{prefix}self.{part}.") for part in ("query", "key", "value"))
    scale = np.float32(HEAD_WIDTH**-0.5)
    weights = np.concatenate([query * scale, key[0], value[0]], axis=1)
    biases = np.concatenate([query_bias * scale, key[1], value[1]])
    joined = build.add("Reshape", project(build, hidden, weights, biases), build.integers(0, 3 * HEADS, HEAD_WIDTH))
    queries, keys, values = build.split(build.add("Transpose", joined, perm=[1, 0, 2]), 3)  # each (12, n, 32)
    scores = build.add("MatMul", queries, build.add("Transpose", keys, perm=[0, 2, 1]))
    mixed = build.add("MatMul", build.add("Softmax", scores, axis=-1), values)
    together = build.add("Reshape", build.add("Transpose", mixed, perm=[1, 0, 2]), build.integers(0, DIMENSIONS))
    return project(build, together, *linear(tensors, prefix + "output.dense."))


def linear(tensors: Tensors, prefix: str) -> tuple[Array, Array]:
    """Return weights as (inputs, outputs), and biases."""
    return tensors[prefix + "weight"].T, tensors[prefix + "bias"]


def project(build: GraphBuilder, hidden: str, weights: Array, biases: Array) -> str:
    return build.add("Add", build.add("MatMul", hidden, build.constant(weights)), build.constant(biases))


def normalize(build: GraphBuilder, hidden: str, tensors: Tensors, prefix: str) -> str:
    scale, bias = build.constant(tensors[prefix + "weight"]), build.constant(tensors[prefix + "bias"])
    return build.add("LayerNormalization", hidden, scale, bias, axis=-1, epsilon=EPSILON)


def quantize(model: onnx.ModelProto) -> bytes:
    """Return the same graph with 8-bit weights, those of a product with a scale for each of its outputs: 24 MB, not
    90."""
    logging.disable(logging.WARNING)  # it warns about what is done already
    try:
        with TemporaryDirectory() as folder:
            target = Path(folder) / "quantized.onnx"
            quantize_dynamic(model, target, per_channel=True, weight_type=QuantType.QInt8)
            return target.read_bytes()
    finally:
        logging.disable(logging.NOTSET)
