"""usage: run.py [ROW..]

Prints a line for each row: name, ours, the best peer's figure, their ratio, what is wanted of it, and the peer.
Ours and the peers run in turn, so that all see the same noise of the machine; the best of each counts.

Environment: THREADS (1), ROUNDS (2), PEERS (where setup.sh installed)."""

import json
import os
import subprocess
import sys

from rows import ROWS

THREADS = os.environ.get("THREADS", "1")
ROUNDS = int(os.environ.get("ROUNDS", "2"))


class Skipped(Exception):
    """A program could not be run."""


def main(names):
    unknown = set(names) - {row.name for row in ROWS}
    if unknown:
        known = ", ".join(row.name for row in ROWS)
        sys.exit(f"error: no row {', '.join(sorted(unknown))}; there are {known}")
    # Rows of time and of memory are read off the same runs.
    measured = {}
    verdicts = []
    for row in ROWS:
        if not names or row.name in names:
            programs = (row.ours, *row.peers)
            key = tuple(program.name for program in programs)
            if key not in measured:
                measured[key] = measure_in_turn(programs)
            verdicts.append(report(row, *measured[key]))
    return 0 if all(verdicts) else 1


def measure_in_turn(programs):
    """The least of all rounds for each program, and why others were left out."""
    figures, reasons = {}, []
    for round in range(ROUNDS):
        for program in programs:
            if round > 0 and program.name not in figures:
                continue
            try:
                measured = run(program)
            except Skipped as reason:
                figures.pop(program.name, None)
                reasons.append(f"{program.name}: {reason}")
                continue
            before = figures.get(program.name, measured)
            figures[program.name] = {name: min(measured[name], before[name]) for name in measured}
    return figures, reasons


def report(row, figures, reasons):
    """Prints the row's lines and says whether its target is met, which it is not where a peer is missing."""
    for reason in reasons:
        print(f"{row.name:17} skipped: {reason}", flush=True)
    there = [peer.name for peer in row.peers if peer.name in figures]
    if row.ours.name not in figures or not there:
        return False
    best = min(there, key=lambda peer: figures[peer][row.quantity])
    ours, theirs = figures[row.ours.name][row.quantity], figures[best][row.quantity]
    ratio = row.target.ratio(ours, theirs)
    holds = row.target.holds(ours, ratio)
    print(
        f"{row.name:17} {ours:9.4g} {theirs:9.4g} {ratio:9.3g}  {row.target.text:11}"
        f" {'met' if holds else 'MISSED':6} {row.quantity} beside {best}",
        flush=True,
    )
    return holds and not reasons


def run(program):
    """What the program measured."""
    for path in program.needs:
        if not path.exists():
            raise Skipped(f"{path} is missing; benches/peers/setup.sh installs the peers")
    environment = {**os.environ, "THREADS": THREADS, "RAYON_NUM_THREADS": THREADS}
    done = subprocess.run(program.command, env=environment, capture_output=True, text=True)
    if done.returncode != 0 or not done.stdout.strip():
        last = (done.stderr.strip() or "no output").splitlines()[-1]
        raise Skipped(f"it failed with status {done.returncode}: {last}")
    measured = json.loads(done.stdout.splitlines()[-1])
    figures = {name: value for name, value in measured.items() if isinstance(value, (int, float))}
    if "base_mib" in figures:
        figures["added_mib"] = figures["peak_mib"] - figures["base_mib"]
    print(f"  {program.name}: {figures}", file=sys.stderr, flush=True)
    return figures


sys.exit(main(sys.argv[1:]))
