# SPDX-License-Identifier: BSD-3-Clause
"""The table of what is measured.  A pair has two sides and a ratio; a single has a figure with a limit of its own (see singles.py)."""
from dataclasses import dataclass
from typing import Callable, Optional

from .sides import Connect, ConnSetup, Fio, Limit, Nvof

KIB = 1 << 10
MIB = 1 << 20
QUEUES = 64


@dataclass(frozen=True)
class Load:
    depth: int
    size: int = 4 * KIB
    write: bool = False


@dataclass
class Pair:
    """ratio: ours to base, or base to ours where less is better; goal: at least that much; cpu_goal: CPU of one I/O, ours to base, at most."""
    name: str
    group: str
    title: str
    base: Callable
    ours: Callable
    goal: Optional[float] = None
    cpu_goal: Optional[float] = None
    less_is_better: bool = False
    unit: str = "IOPS"


def beside_limit(name, group, title, load, goal=None, mode="busy", backend="null"):
    unit = "IOPS" if load.size < 64 * KIB else "B/s"
    return Pair(name, group, title, lambda env: Limit(env, mode, load, backend), lambda env: Nvof(env, mode, load, backend), goal, unit=unit)


def small_reads():
    for backend, goal in (("null", 0.85), ("mem", 0.9)):
        for depth in (1, 16, 64, 128):
            if backend == "mem" and depth == 1:
                continue
            yield beside_limit(f"{backend}-read-4k-qd{depth}-poll", f"4 KiB reads, {backend} backend, polling", f"QD{depth}", Load(depth), goal,
                               backend=backend)
    for depth in (1, 16, 64, 128):
        yield beside_limit(f"null-read-4k-qd{depth}-spin", "4 KiB reads, null backend, spinning", f"QD{depth}", Load(depth), mode="spin")
    one = Load(1)
    yield Pair("null-read-4k-qd1-sleep", "4 KiB reads, null backend, spinning", "QD1, spinning against plain epoll",
               lambda env: Limit(env, "epoll", one), lambda env: Nvof(env, "spin", one), 1.5, cpu_goal=1.0)


def large_and_writes():
    for backend in ("null", "mem"):
        group = f"large reads, {backend} backend, polling"
        yield beside_limit(f"{backend}-read-128k-qd32-poll", group, "128 KiB QD32", Load(32, 128 * KIB), 0.9, backend=backend)
        yield beside_limit(f"{backend}-read-1m-qd16-poll", group, "1 MiB QD16", Load(16, MIB), 0.9, backend=backend)
    yield beside_limit("null-write-4k-qd64-poll", "writes, polling", "4 KiB in-capsule QD64", Load(64, write=True), 0.85)
    for backend in ("null", "mem"):
        yield Pair(f"{backend}-write-1m-to-read-1m", "writes, polling", f"1 MiB QD16 writes to 1 MiB reads, {backend}",
                   lambda env, b=backend: Nvof(env, "busy", Load(16, MIB), b),
                   lambda env, b=backend: Nvof(env, "busy", Load(16, MIB, True), b), 0.8, unit="B/s")
    yield beside_limit("null-write-1m-qd16-poll", "writes, polling", "1 MiB QD16 writes to raw writes", Load(16, MIB, True))


def digests():
    for name, title, load, unit in (("4k-qd64", "4 KiB QD64", Load(64), "IOPS"), ("128k-qd32", "128 KiB QD32", Load(32, 128 * KIB), "B/s")):
        yield Pair(f"digests-{name}", "header and data digests to none, polling, null backend", title,
                   lambda env, l=load: Nvof(env, "busy", l), lambda env, l=load: Nvof(env, "busy", l, more=["-g", "-G"]), 0.92, unit=unit)


def files():
    loads = (("4k-qd1", "4 KiB reads QD1", Load(1), "IOPS"), ("4k-qd64", "4 KiB reads QD64", Load(64), "IOPS"),
             ("128k-qd32", "128 KiB reads QD32", Load(32, 128 * KIB), "B/s"),
             ("write-4k-qd64", "4 KiB writes QD64", Load(64, write=True), "IOPS"))
    for where, direct in (("tmpfs", False), ("disk", True)):
        for name, title, load, unit in loads:
            yield Pair(f"file-{where}-{name}", f"file backend on {where} to fio on the same file", title,
                       lambda env, l=load, w=where, d=direct: Fio(env, l, env.file(w), d),
                       lambda env, l=load, w=where: Nvof(env, "spin", l, f"file:{env.file(w)}"), unit=unit)


def connects():
    for delay in (0, 5):
        group = f"{QUEUES} I/O queues set up, {delay} ms for each exchange" if delay else f"{QUEUES} I/O queues set up, no delay"
        for how, title in (("serial", "one by one"), ("loop", "all at once")):
            yield Pair(f"connect-{QUEUES}-{how}-{delay}ms", group, f"{title}, to raw connections {title}",
                       lambda env, h=how, d=delay: ConnSetup(env, h, d, QUEUES), lambda env, h=how, d=delay: Connect(env, h, d, QUEUES),
                       less_is_better=True, unit="ms")
        yield Pair(f"connect-{QUEUES}-gain-{delay}ms", group, "all at once to one by one, the whole connect",
                   lambda env, d=delay: Connect(env, "serial", d, QUEUES, "total_ms"),
                   lambda env, d=delay: Connect(env, "loop", d, QUEUES, "total_ms"), less_is_better=True, unit="ms")


def all_pairs():
    for part in (small_reads, large_and_writes, digests, files, connects):
        yield from part()
