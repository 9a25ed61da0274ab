"""usage: generate.py loop|hf MODEL ROWS PROMPT REPLY

Replies sampled at temperature 1 by PyTorch, with a KV cache: a bare loop over the model, or transformers'
`generate`."""

import sys

import torch
import transformers  # noqa: F401  (imported before memory is measured)

from common import Meter, build

how, shape = sys.argv[1:3]
rows, prompt, reply = map(int, sys.argv[3:6])
meter = Meter()
model = build(shape).eval()
prompts = torch.randint(10, model.config.vocab_size, (rows, prompt))


@torch.inference_mode()
def loop():
    cache, tokens = None, prompts
    for _ in range(reply):
        output = model(input_ids=tokens, past_key_values=cache, use_cache=True, logits_to_keep=1)
        cache = output.past_key_values
        tokens = torch.multinomial(torch.softmax(output.logits[:, -1], -1), 1)


@torch.inference_mode()
def hf():
    model.generate(
        input_ids=prompts,
        attention_mask=torch.ones_like(prompts),
        max_new_tokens=reply,
        min_new_tokens=reply,
        do_sample=True,
        temperature=1.0,
        top_k=0,
        top_p=1.0,
    )


meter.repeat({"loop": loop, "hf": hf}[how])
meter.report(f"torch generate {how}")
