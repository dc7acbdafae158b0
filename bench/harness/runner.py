# SPDX-License-Identifier: BSD-3-Clause
"""Runs rows: canary, base, ours, canary, base, ours, ... so that a slow phase of the machine meets both sides alike."""
import os
import shutil
import statistics
import tempfile

from . import machine, sides
from .process import RowFailed
from .rows import Load

FILE_MIB = 256
CANARY_S = 0.1


class Env:
    """Where things are, and how long a measurement takes."""

    def __init__(self, build, seconds, congestion):
        self.build, self.seconds, self.congestion = build, seconds, congestion
        self.warmup = min(0.1, seconds / 2)
        self.nvof = os.path.join(build, "nvof")
        self.host_cpu, self.target_cpu = machine.two_cpus()
        self.files, self.dirs = {}, []

    def tool(self, name):
        return os.path.join(self.build, "bench", name)

    def file(self, where):
        """A file with random content on tmpfs or on a disk, made when it is first asked for."""
        if where not in self.files:
            folder = tempfile.mkdtemp(prefix="bench-", dir={"tmpfs": "/dev/shm", "disk": self.build}[where])
            self.dirs.append(folder)
            path = os.path.join(folder, "file")
            sides.make_file(path, FILE_MIB * sides.MIB)
            self.files[where] = path
        return self.files[where]

    def clean(self):
        for folder in self.dirs:
            shutil.rmtree(folder, ignore_errors=True)


class Canary:
    """The raw-socket pair at QD1, polling: how fast the machine is right now, in I/Os a second."""

    def __init__(self, env):
        self.side = sides.Limit(env, "busy", Load(1))

    def __enter__(self):
        self.side.start()
        return self

    def __exit__(self, *_exc):
        self.side.stop()

    def iops(self):
        return self.side.measure(CANARY_S)["iops"]


def summary(row, figures):
    """Medians; the ratio is that of each repetition, so that both sides met the same phase."""
    def median(side, key):
        known = [f[key] for f in figures[side] if f.get(key) is not None]
        return statistics.median(known) if known else None

    pairs = list(zip(figures["base"], figures["ours"]))
    ratios = [b["value"] / o["value"] if row.less_is_better else o["value"] / b["value"] for b, o in pairs]
    result = {"ratio": statistics.median(ratios), "ratios": ratios, "canary": statistics.median(figures["canary"]),
              "canary_min": min(figures["canary"]), "canary_max": max(figures["canary"]),
              "others_pct": max(median("base", "others_pct"), median("ours", "others_pct"))}
    for side in ("base", "ours"):
        result[side] = {key: median(side, key) for key in figures[side][0] if isinstance(figures[side][0][key], (int, float))}
    if "host_us" in result["base"]:
        cpu = [(o["host_us"] + o["target_us"]) / (b["host_us"] + b["target_us"]) for b, o in pairs]
        result["cpu_ratio"] = statistics.median(cpu)
    return result


def run_pair(env, row, reps, canary):
    base, ours = row.base(env), row.ours(env)
    figures = {"canary": [], "base": [], "ours": []}
    try:
        base.start()
        ours.start()
        for _ in range(reps):
            figures["canary"].append(canary.iops())
            figures["base"].append(base.measure(env.seconds))
            figures["ours"].append(ours.measure(env.seconds))
    finally:
        base.stop()
        ours.stop()
    return {"labels": [base.label(), ours.label()], "commands": [base.host_command(env.seconds), ours.host_command(env.seconds)],
            "figures": figures, **summary(row, figures)}


def run_single(env, single, reps, canary):
    runs, canaries = [], []
    for _ in range(reps):
        canaries.append(canary.iops())
        runs.append(single.measure(env))
    return {"runs": runs, "canary": statistics.median(canaries),
            "medians": {key: statistics.median(run[key] for run in runs) for key in runs[0]}}


def verdict_of_pair(row, result):
    if row.goal is None:
        return "measured"
    if result["ratio"] < row.goal or (row.cpu_goal and result["cpu_ratio"] > row.cpu_goal):
        return "short"
    return "reached"


def verdict_of_single(single, result):
    if not single.goals:
        return "measured"
    return "short" if any(result["medians"][key] > goal for key, goal in single.goals.items()) else "reached"


def attempt(name, what, *args):
    """A row that can't run says so and takes no other row with it."""
    try:
        return what(*args)
    except (RowFailed, OSError, KeyError) as e:
        return {"error": f"{name}: {e if isinstance(e, RowFailed) else repr(e)}", "verdict": "failed"}
