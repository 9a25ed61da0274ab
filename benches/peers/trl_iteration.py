"""usage: trl_iteration.py grpo|ppo

One iteration of a TRL trainer: 16 replies of 64 tokens, then one optimizer step over all of them. GRPO is that
of the newest TRL; PPO is that of TRL 1.0.0, the last that was found to have it, with critic and reference
of the policy's size. The reward costs next to nothing in both."""

import os
import sys
import tempfile

from installed import SMOLLM2, TRL_WITH_PPO

os.environ.update(
    HF_HUB_OFFLINE="1", TOKENIZERS_PARALLELISM="false", TRL_EXPERIMENTAL_SILENCE="1"
)
method = sys.argv[1]
if method == "ppo":
    sys.path.insert(0, str(TRL_WITH_PPO))

import torch
from datasets import Dataset
from transformers import PreTrainedTokenizerFast, Qwen2ForSequenceClassification, TrainerCallback

from common import Meter, build, config

SHAPE, EPISODES, REPLY, GROUP = "small-49k", 16, 64, 8
WARM_UP, REPEATS = 1, 3
QUESTIONS = [f"Question: what is {i % 80 + 10} + {i % 80 + 13}? Answer:" for i in range(128)]

# Both trainers are given it.
ARGUMENTS = {
    "output_dir": tempfile.mkdtemp(),
    "per_device_train_batch_size": EPISODES,
    "learning_rate": 1e-5,
    "temperature": 1.0,
    "report_to": [],
    "use_cpu": True,
    "bf16": False,
    "gradient_checkpointing": False,
    "save_strategy": "no",
    "disable_tqdm": True,
}


class Watch(TrainerCallback):
    """From the end of one optimizer step to the end of the next: an iteration, its rollout included."""

    def __init__(self, meter):
        self.meter, self.steps = meter, 0

    def on_step_end(self, args, state, control, **others):
        self.steps += 1
        if self.steps <= WARM_UP:
            self.meter.start()
        else:
            self.meter.stop()


def grpo(tokenizer, watch):
    from trl import GRPOConfig, GRPOTrainer

    arguments = GRPOConfig(
        num_generations=GROUP,
        max_completion_length=REPLY,
        max_steps=WARM_UP + REPEATS,
        generation_kwargs={"min_new_tokens": REPLY},
        beta=0.0,
        **ARGUMENTS,
    )
    return GRPOTrainer(
        model=build(SHAPE),
        reward_funcs=lambda completions, **others: [float(text.count("e")) for text in completions],
        args=arguments,
        train_dataset=Dataset.from_list([{"prompt": question} for question in QUESTIONS]),
        processing_class=tokenizer,
        callbacks=[watch],
    )


def ppo(tokenizer, watch):
    from trl.experimental.ppo import PPOConfig, PPOTrainer

    arguments = PPOConfig(
        gradient_accumulation_steps=1,
        num_mini_batches=1,
        num_ppo_epochs=1,
        total_episodes=EPISODES * (WARM_UP + REPEATS),
        response_length=REPLY,
        local_rollout_forward_batch_size=EPISODES,
        num_sample_generations=0,
        **ARGUMENTS,
    )
    questions = [{"input_ids": tokenizer(question).input_ids} for question in QUESTIONS]
    questions = Dataset.from_list(questions)
    tiny = {"hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1}
    return PPOTrainer(
        args=arguments,
        processing_class=tokenizer,
        model=build(SHAPE),
        ref_model=build(SHAPE),
        value_model=Qwen2ForSequenceClassification(config(SHAPE, num_labels=1)),
        reward_model=Qwen2ForSequenceClassification(config(SHAPE, num_labels=1, **tiny)),
        train_dataset=questions,
        eval_dataset=questions,
        callbacks=[watch],
    )


tokenizer = PreTrainedTokenizerFast(
    tokenizer_file=str(SMOLLM2 / "tokenizer.json"),
    bos_token="<|im_start|>",
    eos_token="<|im_end|>",
    pad_token="<|endoftext|>",
    padding_side="left",
)
meter = Meter()
torch.manual_seed(0)
trainer = {"grpo": grpo, "ppo": ppo}[method](tokenizer, Watch(meter))
# What a trainer prints is no result.
standard_output, sys.stdout = sys.stdout, sys.stderr
trainer.train()
sys.stdout = standard_output
meter.report(f"trl {method}")
