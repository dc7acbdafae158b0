# SPDX-License-Identifier: BSD-3-Clause
"""The table on the terminal."""

WORDS = {"reached": "ok", "short": "SHORT", "failed": "FAILED", "measured": ""}
NOISE_PCT = 10  # others' share of a CPU from which a figure is marked


def amount(value, unit):
    if value is None:
        return "-"
    if unit == "B/s":
        return f"{value / 1e9:.2f} GB/s"
    if unit == "ms":
        return f"{value:.2f} ms"
    return f"{value / 1e3:.1f}k" if value >= 1e5 else f"{value:.0f}"


def value_of(side, unit):
    return side.get("bytes_per_s") if unit == "B/s" else side["value"]


def cpu_of(side):
    if "host_us" not in side:
        return ""
    return f"{side['host_us']:.2f}+{side['target_us']:.2f}"


def spread_of(r):
    return "..".join(f"{ratio:.2f}" if ratio < 10 else f"{ratio:.0f}" for ratio in (min(r["ratios"]), max(r["ratios"])))


def disturbed(result):
    return result["others_pct"] > NOISE_PCT or result["canary_min"] < 0.8 * result["canary_max"]


HEAD = f"{'':45}{'base':>11}{'ours':>12}{'ratio':>7} {'least..most':>12}{'goal':>6} {'':6} {'canary':>8} {'CPU us/IO base':>15} {'ours':>12}"


def threads_of(side):
    """How busy each thread was; "" where there is only one."""
    names = [key for key in side if key.endswith("_pct") and key != "others_pct"]
    return ", ".join(f"{name[:-4].replace('_', '-')} {side[name]:.0f} %" for name in names)


def pair_line(row, r):
    if "error" in r:
        return f"{row.title:45} FAILED: {r['error']}"
    spread = spread_of(r)
    goal = f"{row.goal:.2f}" if row.goal else ""
    mark = " ~" if disturbed(r) else ""
    if threads_of(r["ours"]):
        mark += f"\n    of a CPU: {threads_of(r['base'])}; ours: {threads_of(r['ours'])}"
    return (f"{row.title[:44]:45}{amount(value_of(r['base'], row.unit), row.unit):>11}{amount(value_of(r['ours'], row.unit), row.unit):>12}"
            f"{r['ratio']:>7.2f} {spread:>12}{goal:>6} {WORDS[r['verdict']]:6} {r['canary'] / 1e3:>7.1f}k {cpu_of(r['base']):>15} {cpu_of(r['ours']):>12}{mark}")


def single_lines(single, r):
    if "error" in r:
        yield f"{single.name:45} FAILED: {r['error']}"
        return
    for key, value in r["medians"].items():
        goal = single.goals.get(key)
        word = "" if goal is None else WORDS["short" if value > goal else "reached"]
        yield f"{key:46}{value:>10.2f}{'' if goal is None else f'  at most {goal}':16}{word}"


def foot(results):
    count = {}
    for r in results:
        count[r["verdict"]] = count.get(r["verdict"], 0) + 1
    return ", ".join(f"{count.get(key, 0)} {words}" for key, words in
                     (("reached", "goals reached"), ("short", "short of theirs"), ("measured", "without a goal"), ("failed", "failed to run")))


def markdown_pairs(pairs):
    """The same as a table for README.md."""
    yield "| row | base | ours | ratio | least..most | goal | | CPU us of an I/O: base | ours |"
    yield "|---|---:|---:|---:|---:|---:|---|---:|---:|"
    group = None
    for row, r in pairs:
        if row.group != group:
            group = row.group
            yield f"| **{group}** | | | | | | | | |"
        if "error" in r:
            yield f"| {row.title} | | | | | | did not run | | |"
            continue
        goal = f"{row.goal:.2f}" if row.goal else ""
        yield (f"| {row.title} | {amount(value_of(r['base'], row.unit), row.unit)} | {amount(value_of(r['ours'], row.unit), row.unit)} | {r['ratio']:.2f} "
               f"| {spread_of(r)} | {goal} | {WORDS[r['verdict']]}{' ~' if disturbed(r) else ''} | {cpu_of(r['base'])} | {cpu_of(r['ours'])} |")


def markdown_singles(alone):
    yield "| figure | value | at most | |"
    yield "|---|---:|---:|---|"
    for single, r in alone:
        if "error" in r:
            yield f"| {single.group} | | | did not run |"
            continue
        for key, value in r["medians"].items():
            goal = single.goals.get(key)
            word = "" if goal is None else WORDS["short" if value > goal else "reached"]
            yield f"| {single.group}: {key} | {value:.2f} | {'' if goal is None else goal} | {word} |"
