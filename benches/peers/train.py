"""usage: train.py MODEL ROWS TIME

Forward pass with the logits of all positions, backward pass and AdamW, by PyTorch."""

import sys

import torch
import torch.nn.functional as F
import transformers  # noqa: F401  (imported before memory is measured)

from common import Meter, build

shape = sys.argv[1]
rows, length = map(int, sys.argv[2:4])
meter = Meter()
model = build(shape).train()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
tokens = torch.randint(10, model.config.vocab_size, (rows, length))


def step():
    logits = model(input_ids=tokens, use_cache=False).logits[:, :-1]
    F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten()).backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)


meter.repeat(step)
meter.report("torch train")
