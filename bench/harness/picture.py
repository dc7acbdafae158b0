# SPDX-License-Identifier: BSD-3-Clause
"""The picture: one SVG that needs nothing else, and a page around it with the figures in a table."""
from html import escape

from . import report

LEFT, RIGHT, WIDTH, ROW, TOP = 330, 150, 1060, 24, 64
MOST = 1.6  # the end of the axis

# The same raw-socket pair beside SPDK 26.05, polling with huge pages on both ends, on a machine of this kind: for scale.
SPDK = {"null-read-4k-qd1-poll": 0.80, "null-read-4k-qd16-poll": 0.60, "null-read-4k-qd64-poll": 0.67, "null-read-4k-qd128-poll": 0.51,
        "null-read-128k-qd32-poll": 0.74, "null-read-1m-qd16-poll": 0.84}

STYLE = """
svg { background: #fff; font: 12px system-ui, sans-serif; --ink: #1f2430; --dim: #6b7280; --line: #e2e5ea; }
text { fill: var(--ink); } .dim { fill: var(--dim); } .group { font-weight: 600; } .end { text-anchor: end; } .title { font-size: 16px; font-weight: 600; }
.axis { stroke: var(--line); } .one { stroke: var(--dim); } .dot { fill: var(--ink); fill-opacity: .35; } .goal { stroke: var(--ink); stroke-width: 2.5; }
.reached { fill: #2f9e6e; } .short { fill: #d9822b; } .measured { fill: #6c8ebf; } .spdk { fill: none; stroke: #8a3ffc; stroke-width: 2; }
@media (prefers-color-scheme: dark) { svg { background: #14171d; --ink: #e6e8ec; --dim: #9aa2af; --line: #2b303a; } }
"""


def x_of(ratio):
    return LEFT + min(ratio, MOST) / MOST * (WIDTH - LEFT - RIGHT)


def text(x, y, words, kind=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}">{escape(words)}</text>'


def axis(height):
    for tenth in range(0, int(MOST * 10) + 1, 2):
        x = x_of(tenth / 10)
        yield f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{TOP - 8}" y2="{height - 52}" class="{"one" if tenth == 10 else "axis"}"/>'
        yield f'<text x="{x:.1f}" y="{TOP - 14}" text-anchor="middle" class="dim">{tenth / 10:.1f}</text>'


def bar(y, row, r):
    yield text(LEFT - 10, y + 15, row.title, "end")
    if "error" in r:
        yield text(LEFT + 4, y + 15, "did not run")
        return
    yield f'<rect x="{LEFT}" y="{y + 5}" width="{x_of(r["ratio"]) - LEFT:.1f}" height="14" rx="2" class="{r["verdict"]}"/>'
    for ratio in r["ratios"]:
        yield f'<circle cx="{x_of(ratio):.1f}" cy="{y + 12}" r="2.5" class="dot"/>'
    if row.goal:
        yield f'<line x1="{x_of(row.goal):.1f}" x2="{x_of(row.goal):.1f}" y1="{y + 2}" y2="{y + 22}" class="goal"/>'
    if row.name in SPDK:
        x = x_of(SPDK[row.name])
        yield f'<path d="M{x:.1f} {y + 6}l6 6l-6 6l-6 -6z" class="spdk"/>'
    yield text(WIDTH - RIGHT + 12, y + 16, f"{r['ratio']:.2f}")
    yield text(WIDTH - 16, y + 16, report.amount(report.value_of(r["ours"], row.unit), row.unit), "end")


def svg(pairs, stamp):
    body, y, group = [], TOP, None
    for row, r in pairs:
        if row.group != group:
            group = row.group
            body.append(text(16, y + 17, group, "group"))
            y += ROW
        body.extend(bar(y, row, r))
        y += ROW
    height = y + 62
    head = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="nvof beside its limits">',
            f"<style>{STYLE}</style>", text(16, 26, "nvof beside its limits (1.0: as fast)", "title"), *axis(height)]
    legend = "Bars: medians; dots: repetitions; stroke: goal; green: reached, orange: short of it, blue: no goal; ◇ SPDK 26.05 on such a machine."
    return "\n".join([*head, *body, text(16, height - 30, legend, "dim"), text(16, height - 12, stamp, "dim"), "</svg>"])


def page(picture, table, stamp):
    return (f'<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>nvof: benchmark</title>'
            f"<style>body{{margin:2rem auto;max-width:1100px;font:14px system-ui,sans-serif;color-scheme:light dark}}"
            f"pre{{overflow-x:auto;font-size:12px}}svg{{width:100%;height:auto}}</style><h1>nvof: benchmark</h1><p>{escape(stamp)}</p>"
            f"{picture}<pre>{escape(table)}</pre></html>")
