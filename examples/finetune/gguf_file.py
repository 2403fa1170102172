"""Write a GGUF file like another one, with changes added to some of its weights. Runs in the environment of the training (package `gguf`).

Everything else, such as the chat template and the vocabulary, is copied as it is. Changed weights are stored with 8 bits (Q8_0).
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

# The names of a Llama model's linear layers, in transformers and in GGUF.
LAYERS = {
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}
_Q8_0_FILE = 7  # the value of `general.file_type` for files whose weights are mostly Q8_0


def write_with_changes(source: Path, target: Path, changes: Mapping[str, Any], *, heads: Mapping[str, int]) -> None:
    """Write `target` like `source`, with the changes added to its weights.

    Args:
        source: A GGUF file of the Llama architecture.
        target: The file to write.
        changes: Arrays by the name of the weight in GGUF (`blk.0.attn_q.weight`), with rows as transformers orders them.
        heads: Number of heads of the weights whose rows GGUF orders in another way: `{"attn_q": 9, "attn_k": 3}`.
    """
    import gguf
    from gguf import quants

    reader = gguf.GGUFReader(source)
    architecture = reader.fields["general.architecture"].contents()
    writer = gguf.GGUFWriter(target, architecture)
    for name, field in reader.fields.items():
        if name.startswith("GGUF.") or name in ("general.architecture", "general.file_type"):
            continue
        kind = field.types[0]
        writer.add_key_value(name, field.contents(), kind, field.types[-1] if kind == gguf.GGUFValueType.ARRAY else None)
    writer.add_file_type(_Q8_0_FILE)
    missing = set(changes) - {tensor.name for tensor in reader.tensors}
    if missing:
        raise ValueError(f"{source} has no weights named {', '.join(sorted(missing))}")
    for tensor in reader.tensors:
        if tensor.name not in changes:
            writer.add_tensor(tensor.name, tensor.data, raw_dtype=tensor.tensor_type)
            continue
        count = heads.get(tensor.name.split(".")[-2])
        change = changes[tensor.name] if count is None else interleave(changes[tensor.name], count)
        weights = quants.dequantize(tensor.data, tensor.tensor_type) + change
        eight_bits = gguf.GGMLQuantizationType.Q8_0
        writer.add_tensor(tensor.name, quants.quantize(weights, eight_bits), raw_dtype=eight_bits)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def interleave(rows: Any, heads: int) -> Any:
    """Return the rows of each head in the order of GGUF: those of the first and the second half alternate."""
    count, width = rows.shape
    return rows.reshape(heads, 2, count // heads // 2, width).swapaxes(1, 2).reshape(count, width)
