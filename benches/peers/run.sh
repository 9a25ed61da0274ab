#!/usr/bin/env bash
# Measures ours beside its peers: `run.sh`, or `run.sh generate train` for some rows. `setup.sh` installs the peers.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cargo build --quiet --release --workspace --bins --manifest-path "$here/../../Cargo.toml"
exec python3 "$here/run.py" "$@"
