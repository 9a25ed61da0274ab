"""usage: environment.py SAPO world|iteration

Wall seconds of an iteration of 64 ALFWorld episodes by the program that comes with the model, and those of
its worlds in it."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

sapo, part = sys.argv[1:3]
PARTS = {
    "world": ["world_seconds"],
    "iteration": ["world_seconds", "actor_seconds", "update_seconds"],
}
settings = ["iterations=3", "episodes=64", "evaluation.episodes=2"]
with tempfile.TemporaryDirectory() as folder:
    run = Path(folder) / "run"
    flags = [flag for setting in settings for flag in ("--set", setting)]
    subprocess.run([sapo, "train", *flags, "--out", run], check=True, capture_output=True)
    iterations = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
seconds = min(sum(iteration[name] for name in PARTS[part]) for iteration in iterations)
print(json.dumps({"bench": f"environment {part}", "seconds": seconds}))
