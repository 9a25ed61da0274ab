"""What the Python peers share: shapes of models, what a workload costs, and the line that says so."""

import json
import os
import resource
import time

import torch

THREADS = int(os.environ.get("THREADS", "1"))
torch.set_num_threads(THREADS)

# The same as in benches/src/bin/measure/models.rs.
SHAPES = {
    "small": (32_000, 256, 688, 8, 8, 2),
    "small-49k": (49_152, 256, 688, 8, 8, 2),
    "mid": (4_096, 512, 1_376, 12, 8, 2),
}


def config(shape, **changes):
    """A Qwen2 configuration with a tied head."""
    from transformers import Qwen2Config

    vocabulary, hidden, inner, layers, heads, groups = SHAPES[shape]
    settings = {
        "vocab_size": vocabulary,
        "hidden_size": hidden,
        "intermediate_size": inner,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": groups,
        "max_position_embeddings": 2048,
        "tie_word_embeddings": True,
        "bos_token_id": 1,
        "eos_token_id": 2,
        "pad_token_id": 0,
    }
    return Qwen2Config(**{**settings, **changes})


def build(shape):
    """A model of random weights, in single precision."""
    from transformers import Qwen2ForCausalLM

    torch.manual_seed(0)
    return Qwen2ForCausalLM(config(shape)).float()


def cpu_seconds():
    """CPU seconds of this process so far, over all threads."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def forget_peak():
    """Sets the peak of memory to what is resident now."""
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")


def peak_mib():
    """The most memory that was resident since then, in MiB."""
    with open("/proc/self/status") as file:
        line = next(line for line in file if line.startswith("VmHWM:"))
    return int(line.split()[1]) / 1024


class Meter:
    """Keeps the least time of the repetitions and the peak of memory.

    Libraries alone are not counted as memory: make the meter when they are imported and nothing is built.
    """

    def __init__(self):
        forget_peak()
        self.libraries_mib = peak_mib()
        self.times = []
        self.start()

    def start(self):
        """Begins a repetition."""
        self.started = (cpu_seconds(), time.perf_counter())

    def stop(self):
        """Ends a repetition and begins the next one."""
        now = (cpu_seconds(), time.perf_counter())
        self.times.append([after - before for before, after in zip(self.started, now)])
        self.started = now

    def repeat(self, work, times=3):
        """Runs `work` once to warm up, then as often as `times` says."""
        work()
        self.start()
        for _ in range(times):
            work()
            self.stop()

    def report(self, bench):
        """Prints the line."""
        cpu, wall = zip(*self.times)
        line = {
            "bench": bench,
            "cpu_seconds": min(cpu),
            "seconds": min(wall),
            "peak_mib": peak_mib() - self.libraries_mib,
        }
        print(json.dumps(line), flush=True)
