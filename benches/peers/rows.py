"""The rows of the table: what of ours is measured, beside what, and what is wanted."""

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from installed import CANDLE, HERE, PYTHON, SMOLLM2, SMOLLM2_GGUF, TRL_WITH_PPO

TARGET = Path(os.environ.get("CARGO_TARGET_DIR", HERE.parents[1] / "target")) / "release"


@dataclass
class Program:
    """A command that prints one JSON line, and the files without which it can't run."""

    name: str
    command: list[str]
    needs: list[Path]


@dataclass
class Target:
    text: str
    ratio: Callable[[float, float], float]
    holds: Callable[[float, float], bool]


@dataclass
class Row:
    name: str
    ours: Program
    peers: list[Program]
    quantity: str
    target: Target


def at_least(times):
    """The best peer takes so many times what ours takes."""
    return Target(f">= {times}", lambda ours, peer: peer / ours, lambda _, ratio: ratio >= times)


def at_most(times):
    """Ours takes so many times what the best peer takes."""
    return Target(f"<= {times}", lambda ours, peer: ours / peer, lambda _, ratio: ratio <= times)


def ours_at_most(mib):
    return Target(f"ours <= {mib}", lambda ours, peer: ours / peer, lambda ours, _: ours <= mib)


def measure(*words):
    binary = TARGET / "measure"
    return Program(" ".join(words), [str(binary), *words], [binary])


def python(name, script, *words, needs=()):
    command = [str(PYTHON), str(HERE / script), *words]
    return Program(name, command, [PYTHON, *needs])


def environment(part):
    script = HERE / "environment.py"
    binary = TARGET / "sapo"
    return Program(part, [sys.executable, str(script), str(binary), part], [binary])


candle = Program("candle", [str(CANDLE), "8", "32", "64"], [CANDLE])
bare_loop = python("PyTorch loop", "generate.py", "loop", "small", "8", "32", "64")
hf_generate = python("HF generate", "generate.py", "hf", "small", "8", "32", "64")
llama_cpp = python(
    "llama.cpp", "llama_cpp.py", str(SMOLLM2_GGUF), "8", "13", "24", needs=[SMOLLM2_GGUF]
)
smollm2 = measure("generate", str(SMOLLM2), "8", "13", "24")
smollm2.needs.append(SMOLLM2 / "model.safetensors")
torch_train = python("PyTorch", "train.py", "small", "4", "512")
trl_grpo = python("TRL GRPO", "trl_iteration.py", "grpo", needs=[SMOLLM2 / "tokenizer.json"])
trl_ppo = python(
    "TRL PPO", "trl_iteration.py", "ppo", needs=[SMOLLM2 / "tokenizer.json", TRL_WITH_PPO]
)
# As TRL's: the prompts have 14 tokens, the optimizer takes one step over one batch.
as_trl = "small-49k 16 --turns 1 --observed 14 --reply 64 --group 8 --micro-batch-tokens 2048".split()
train = measure("train", "small", "4", "512")
sapo_update, ppo_update = (measure("update", method, "mid", "4", "256") for method in ("sapo", "ppo"))
sapo_iteration, ppo_iteration = (measure("iteration", method, "mid", "8") for method in ("sapo", "ppo"))

ROWS = [
    Row("generate", measure("generate", "small", "8", "32", "64"),
        [bare_loop, hf_generate, candle], "cpu_seconds", at_least(1.5)),
    Row("generate-smollm2", smollm2, [llama_cpp], "cpu_seconds", at_least(1.0)),
    Row("train", train, [torch_train], "cpu_seconds", at_least(1.0)),
    Row("train-memory", train, [torch_train], "peak_mib", at_most(0.7)),
    Row("train-responses", measure("train", "small", "4", "512", "0.2"),
        [torch_train], "cpu_seconds", at_least(2.0)),
    Row("grpo-iteration", measure("iteration", "grpo", *as_trl),
        [trl_grpo], "cpu_seconds", at_least(3.0)),
    Row("sapo-iteration", measure("iteration", "sapo", *as_trl, "--reference"),
        [trl_ppo], "cpu_seconds", at_least(3.0)),
    Row("update", sapo_update, [ppo_update], "cpu_seconds", at_least(1.9)),
    Row("update-memory", sapo_update, [ppo_update], "peak_mib", at_least(1.5)),
    Row("iteration", sapo_iteration, [ppo_iteration], "cpu_seconds", at_least(1.5)),
    Row("iteration-memory", sapo_iteration, [ppo_iteration], "peak_mib", at_least(1.4)),
    # 600 MB.
    Row("head-memory", measure("head", "wide-head", "2048"),
        [measure("head", "wide-head", "2048", "--full")], "added_mib", ours_at_most(572)),
    Row("rollout", measure("rollout", "small", "40"),
        [measure("rollout", "small", "10")], "cpu_seconds", at_most(1.4)),
    Row("environment", environment("world"), [environment("iteration")], "seconds", at_most(0.02)),
]
