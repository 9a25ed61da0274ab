#!/usr/bin/env python3
"""usage: profile.py PROGRAM [ARGUMENT..]

Samples a program with perf and prints where its time went, in groups. A sample belongs to the first group that
one of its frames matches; making a model is left out. Stacks need the debug information that the release
profile has."""

import re
import subprocess
import sys
import tempfile
from collections import Counter

# What it was spent for: the operation. And how: what the processor did.
PURPOSES = [
    ("head", r"sapo_kernels::head|Player::logits|HeadReads|Partition"),
    ("sampling", r"sapo_models::sample|softmax_numerators"),
    ("optimizer", r"burn_optim|adamw|Optimizer|step_dyn"),
    ("softmax of attention", r"masked_softmax|sapo_kernels::softmax"),
    ("gated unit", r"[Ss]wiglu"),
    ("norms", r"rms_norm|RmsNorm"),
    ("rotary positions", r"rotate|rope|Rotat"),
    ("KV cache", r"sapo_models::cache|KvCache"),
    ("packing the weights", r"PackedMatrix::new|Decoder::packed"),
    ("projections", r"Projection|PackedMatrix"),
    ("products of attention", r"matmul_batched|matmul[\s\S]*Attention::forward"),
    ("projections", r"matmul"),
    ("embedding", r"embedding"),
    ("gradients' sums", r"Gradients::register"),
    ("gradients of slices", r"slice_assign"),
    # Rayon's threads do not know who called; most of it is the head's softmax.
    ("kernels on threads", r"lanes::vectorized"),
    ("the rest", r""),
]
MEANS = [
    ("new tensors", r"FlexTensor::empty|from_bytes_vec|alloc_with_data"),
    ("page faults, freeing", r"page_fault|cfree|munmap|drop_in_place|brk"),
    ("gemm", r"microkernel"),
    ("gemm's packing", r"gemm"),
    ("copies", r"contiguous|copy_2d|__memmove|slice_write"),
    ("kernels", r"sapo_kernels|pulp"),
    ("other", r""),
]
SET_UP = re.compile(r"new_model|load_model")


def main(command):
    with tempfile.TemporaryDirectory() as folder:
        data = f"{folder}/perf.data"
        record = ["perf", "record", "-F", "149", "-g", "--call-graph", "dwarf,65528", "-o", data]
        subprocess.run([*record, *command], check=True, stdout=sys.stderr)
        script = ["perf", "script", "-i", data, "--no-inline", "-F", "comm,ip,sym"]
        text = subprocess.run(script, check=True, capture_output=True, text=True).stdout
    stacks = [stack for stack in text.split("\n\n") if stack.strip() and not SET_UP.search(stack)]
    counts = Counter((group(stack, PURPOSES), group(stack, MEANS)) for stack in stacks)
    print_table(counts, len(stacks))


def group(stack, groups):
    return next(name for name, pattern in groups if re.search(pattern, stack))


def print_table(counts, total):
    """A line for each purpose, a column for each means, in percent."""
    share = lambda purpose, means: 100 * counts[purpose, means] / total
    names = dict(PURPOSES)
    sums = {name: sum(share(name, means) for means, _ in MEANS) for name in names}
    print("| % |", " | ".join(means for means, _ in MEANS), "| all |")
    print("|---|" + "---|" * (len(MEANS) + 1))
    for purpose in sorted(sums, key=sums.get, reverse=True):
        if sums[purpose] >= 0.05:
            cells = [f"{share(purpose, means):.1f}" for means, _ in MEANS]
            cells = ["" if cell == "0.0" else cell for cell in cells]
            print(f"| {purpose} |", " | ".join(cells), f"| {sums[purpose]:.1f} |")
    columns = [f"{sum(share(name, means) for name in names):.1f}" for means, _ in MEANS]
    print("| all |", " | ".join(columns), "| 100 |")
    print(f"\n{total} samples")


main(sys.argv[1:])
