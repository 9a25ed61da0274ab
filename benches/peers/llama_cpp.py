"""usage: llama_cpp.py MODEL.gguf ROWS PROMPT REPLY

Replies sampled at temperature 1 by llama.cpp, all rows at once."""

import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor

import xllamacpp

from common import THREADS, Meter

path = sys.argv[1]
rows, prompt, reply = map(int, sys.argv[2:5])
meter = Meter()
settings = xllamacpp.CommonParams()
settings.model.path = path
settings.cpuparams.n_threads = THREADS
settings.cpuparams_batch.n_threads = THREADS
settings.n_parallel = rows
settings.n_ctx = 256 * rows
settings.n_gpu_layers = 0
server = xllamacpp.Server(settings)


def one(row):
    """A prompt of its own for each row, so that nothing can be shared."""
    request = {
        "prompt": [(1000 + 100 * row + step * 17) % 40_000 for step in range(prompt)],
        "n_predict": reply,
        "temperature": 1.0,
        "top_k": 0,
        "top_p": 1.0,
        "min_p": 0.0,
        "samplers": ["temperature"],
        "ignore_eos": True,
        "cache_prompt": False,
        "seed": row,
    }
    answer = server.handle_completions(request)
    answer = json.loads(answer) if isinstance(answer, (str, bytes)) else answer
    counts = answer["timings"]["prompt_n"], answer["timings"]["predicted_n"]
    assert counts == (prompt, reply), f"read and wrote {counts} tokens"


with ThreadPoolExecutor(rows) as pool:
    meter.repeat(lambda: list(pool.map(one, range(rows))))
meter.report("llama.cpp generate")
# Its threads do not end by themselves.
os._exit(0)
