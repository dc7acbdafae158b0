# SPDX-License-Identifier: BSD-3-Clause
"""The table of what is measured.  A pair has two sides and a ratio; a single has a figure with a limit of its own (see singles.py)."""
from dataclasses import dataclass
from typing import Callable, Optional

from .sides import Connect, ConnSetup, Ctrls, Fio, Group, Limit, Nvof, Outage, Removal, Scan, Threads

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
    """To none; to raw sockets that sum up the same data by the same code; and what that costs raw sockets."""
    loads = (("4k-qd64", "4 KiB QD64", Load(64), "IOPS"), ("128k-qd32", "128 KiB QD32", Load(32, 128 * KIB), "B/s"))
    sides = {"none": lambda env, l, b: Nvof(env, "busy", l, b), "ours": lambda env, l, b: Nvof(env, "busy", l, b, more=["-g", "-G"]),
             "raw": lambda env, l, b: Limit(env, "busy", l, b), "raw-crc": lambda env, l, b: Limit(env, "busy", l, b, digest=True)}
    for backend in ("null", "mem"):
        for what, group, base, ours, goal in (("", "header and data digests to none", "none", "ours", 0.92),
                                              ("-limit", "header and data digests to raw sockets with the same CRC32C", "raw-crc", "ours", 0.92),
                                              ("-raw", "raw sockets with CRC32C to without", "raw", "raw-crc", None)):
            for name, title, load, unit in loads:
                yield Pair(f"digests{what}-{name}{'-mem' if backend == 'mem' else ''}", f"{group}, polling, {backend} backend", title,
                           lambda env, s=base, l=load, b=backend: sides[s](env, l, b), lambda env, s=ours, l=load, b=backend: sides[s](env, l, b),
                           goal, unit=unit)


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
    for delay, goal, gain in ((0, 1 / 2.6, 1.0), (5, 1 / 1.5, 30.0)):
        group = f"{QUEUES} I/O queues set up, {delay} ms for each exchange" if delay else f"{QUEUES} I/O queues set up, no delay"
        for how, raw, title, aim in (("serial", "serial", "one by one", None), ("plain", "loop", "all at once, without early links", goal),
                                     ("early", "loop", "all at once", goal)):
            yield Pair(f"connect-{QUEUES}-{how}-{delay}ms", group, f"{title}, to raw connections {'one by one' if raw == 'serial' else 'all at once'}",
                       lambda env, r=raw, d=delay: ConnSetup(env, r, d, QUEUES), lambda env, h=how, d=delay: Connect(env, h, d, QUEUES), aim,
                       less_is_better=True, unit="ms")
        yield Pair(f"connect-{QUEUES}-gain-{delay}ms", group, "all at once to one by one, the whole connect",
                   lambda env, d=delay: Connect(env, "serial", d, QUEUES, "total_ms"),
                   lambda env, d=delay: Connect(env, "early", d, QUEUES, "total_ms"), gain, less_is_better=True, unit="ms")
    group = "the whole connect, 5 ms for each exchange, admin commands among them"
    for queues, goal in ((QUEUES, 1 / 1.3), (1024, 1 / 3)):
        yield Pair(f"connect-{queues}-to-1", group, f"{queues} I/O queues to 1", lambda env: Connect(env, "early", 5, 1, "total_ms", True),
                   lambda env, n=queues: Connect(env, "early", 5, n, "total_ms", True), goal, less_is_better=True, unit="ms")
    for delay in (0, 5):
        yield Pair(f"disconnect-{QUEUES}-{delay}ms", "disconnect", f"{QUEUES} I/O queues to 1, {delay} ms for each exchange",
                   lambda env, d=delay: Connect(env, "early", d, 1, "disconnect_ms", True),
                   lambda env, d=delay: Connect(env, "early", d, QUEUES, "disconnect_ms", True), 1 / 1.5 if delay else None, less_is_better=True,
                   unit="ms")
    for delay in (0, 5):
        yield Pair(f"outage-{QUEUES}-{delay}ms", "all connections cut at once, until the next I/O was answered, to the whole connect with 1 I/O queue",
                   f"{QUEUES} I/O queues, {delay} ms for each exchange", lambda env, d=delay: Connect(env, "early", d, 1, "total_ms", True),
                   lambda env, d=delay: Outage(env, "early", d, QUEUES, "total_ms", True), 1 / 1.5 if delay else None, less_is_better=True, unit="ms")
    yield Pair(f"connect-{QUEUES}-early-to-plain", group, f"{QUEUES} I/O queues, with early links to without",
               lambda env: Connect(env, "plain", 5, QUEUES, "total_ms", True), lambda env: Connect(env, "early", 5, QUEUES, "total_ms", True),
               less_is_better=True, unit="ms")


CAP = ["--pace", "200M"]
SLOW_CAP = ["--pace", "4M"]
STALL = [*SLOW_CAP, "--fault", "on=io,qid=1,every=500ms,for=50ms"]


def groups():
    """One submitter over several queues, to the same over one."""
    large, one, p99 = Load(16, MIB), Load(1, 8 * MIB), {"value": "p99_us"}
    capped = "one hctx, each connection capped at 200 MB/s"
    for queues, goal in ((4, 3.8), (8, 7.4)):
        yield Pair(f"group-{queues}-capped-1m-qd16", capped, f"1 MiB reads QD16, {queues} queues to 1", lambda env: Group(env, large, 1, target=CAP, seconds=1),
                   lambda env, n=queues: Group(env, large, n, target=CAP, seconds=1), goal, unit="B/s")
    yield Pair("group-4-capped-1m-qd16-p99", capped, "1 MiB reads QD16, p99, 4 queues to 1", lambda env: Group(env, large, 1, target=CAP, seconds=1, **p99),
               lambda env: Group(env, large, 4, target=CAP, seconds=1, **p99), 1 / 0.3, less_is_better=True, unit="us")
    yield Pair("group-4-capped-8m-qd1", capped, "a single 8 MiB read, 4 queues to 1", lambda env: Group(env, one, 1, target=CAP, seconds=1),
               lambda env: Group(env, one, 4, target=CAP, seconds=1), 3.5, unit="B/s")
    yield Pair("group-4-stall-4k-qd64-p99", "one hctx of 4 queues capped at 4 MB/s, one of which stalls for 50 of every 500 ms",
               "4 KiB reads QD64, p99, least-bytes to round-robin",
               lambda env: Group(env, Load(64), 4, "round-robin", STALL, seconds=2, **p99),
               lambda env: Group(env, Load(64), 4, "least-bytes", STALL, seconds=2, **p99), 2.0, less_is_better=True, unit="us")
    for name, title, load, goal in (("4k-qd1", "4 KiB reads QD1", Load(1), 0.97), ("4k-qd4", "4 KiB reads QD4", Load(4), 0.97),
                                    ("128k-qd1", "128 KiB reads QD1", Load(1, 128 * KIB), 0.97), ("4k-qd64", "4 KiB reads QD64", Load(64), 0.95)):
        yield Pair(f"group-4-{name}", "one hctx, connections without a cap", f"{title}, 4 queues to 1", lambda env, l=load: Group(env, l, 1),
                   lambda env, l=load: Group(env, l, 4), goal, unit="B/s")
    yield Pair("group-4-4k-qd64-rr", "one hctx, connections without a cap", "4 KiB reads QD64, 4 queues round-robin to 1", lambda env: Group(env, Load(64), 1),
               lambda env: Group(env, Load(64), 4, "round-robin"), unit="B/s")


def paths():
    """Several ctrls of one subsystem: what choosing a path costs, and the same number of connections by other means."""
    large, p99 = Load(16, MIB), {"value": "p99_us"}
    cost = "two paths, all I/O on the first, to one ctrl without paths"
    for name, title, load in (("4k-qd1", "4 KiB reads QD1", Load(1)), ("4k-qd64", "4 KiB reads QD64", Load(64)),
                              ("128k-qd32", "128 KiB reads QD32", Load(32, 128 * KIB))):
        yield Pair(f"paths-cost-{name}", cost, title, lambda env, l=load: Group(env, l, 1), lambda env, l=load: Ctrls(env, l, 2, "numa"), 0.97, unit="B/s")
    same = "one hctx of 4 queues to 4 ctrls"
    for policy in ("round-robin", "queue-depth"):
        yield Pair(f"group-to-ctrls-{policy}-4k-qd64", same, f"4 KiB reads QD64, {policy}", lambda env, p=policy: Ctrls(env, Load(64), 4, p),
                   lambda env: Group(env, Load(64), 4), unit="B/s")
    capped = "one hctx of 4 queues to 4 ctrls, each connection capped at 200 MB/s"
    for policy in ("round-robin", "queue-depth"):
        yield Pair(f"group-to-ctrls-{policy}-capped-1m-qd16", capped, f"1 MiB reads QD16, {policy}",
                   lambda env, p=policy: Ctrls(env, large, 4, p, CAP, seconds=1), lambda env: Group(env, large, 4, target=CAP, seconds=1), unit="B/s")
        yield Pair(f"group-to-ctrls-{policy}-capped-1m-qd16-p99", capped, f"1 MiB reads QD16, p99, {policy}",
                   lambda env, p=policy: Ctrls(env, large, 4, p, CAP, seconds=1, **p99), lambda env: Group(env, large, 4, target=CAP, seconds=1, **p99),
                   less_is_better=True, unit="us")


def threads():
    """One submitter with I/O threads to the same without; more than one CPU can do shows only where the target leaves some of the other one."""
    group = "one hctx of 4 queues, data digests, 2 I/O threads to none, host and target on the same 2 CPUs"
    large = Load(32, 128 * KIB)
    for name, title, load, cheap, goal in (("write-128k-qd32", "128 KiB writes QD32, a cheap target", Load(32, 128 * KIB, True), True, 1.3),
                                           ("read-128k-qd32", "128 KiB reads QD32, a cheap target", large, True, None),
                                           ("read-128k-qd32-own", "128 KiB reads QD32, our target", large, False, None),
                                           ("read-4k-qd64-own", "4 KiB reads QD64, our target", Load(64), False, None)):
        yield Pair(f"threads-2-{name}", group, title, lambda env, l=load, c=cheap: Threads(env, l, 4, 0, c),
                   lambda env, l=load, c=cheap: Threads(env, l, 4, 2, c), goal, unit="B/s")


def namespaces():
    """A read under way on each, then a disconnect: until the last namespace is gone."""
    for transport in ("tcp", "loop"):
        group = f"namespaces removed by a disconnect, a read under way on each, {transport}"
        for nr in (8, 32, 64, 1024):
            yield Pair(f"removal-{transport}-{nr}", group, f"{nr}, all at once to one by one", lambda env, t=transport, n=nr: Removal(env, t, n, True),
                       lambda env, t=transport, n=nr: Removal(env, t, n), less_is_better=True, unit="ms")
        for nr, goal in ((64, 1 / 1.5), (1024, 1 / 3)):
            yield Pair(f"removal-{transport}-{nr}-20ms", group, f"{nr} to 1, each read takes 20 ms", lambda env, t=transport: Removal(env, t, 1, delay_ms=20),
                       lambda env, t=transport, n=nr: Removal(env, t, n, delay_ms=20), goal, less_is_better=True, unit="ms")
    yield Pair("scan-1024-5ms", "1024 namespaces looked at, 5 ms for each admin command", "together to one by one", lambda env: Scan(env, "serial", 1024, 5),
               lambda env: Scan(env, "parallel", 1024, 5), 20, less_is_better=True, unit="ms")


def all_pairs():
    for part in (small_reads, large_and_writes, digests, files, connects, groups, paths, threads, namespaces):
        yield from part()
