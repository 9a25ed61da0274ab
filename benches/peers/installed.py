"""Where setup.sh put things."""

import os
from pathlib import Path

HERE = Path(__file__).parent
PEERS = Path(os.environ.get("PEERS", HERE / "installed"))
PYTHON = PEERS / "venv/bin/python"
CANDLE = PEERS / "candle/release/candle-peer"
TRL_WITH_PPO = PEERS / "trl-1.0.0"
SMOLLM2 = PEERS / "smollm2"
SMOLLM2_GGUF = SMOLLM2 / "model-f32.gguf"
