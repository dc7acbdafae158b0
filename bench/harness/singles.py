# SPDX-License-Identifier: BSD-3-Clause
"""Figures that stand alone: memory, idle CPU, the time to the first I/O."""
import subprocess
import time
from dataclasses import dataclass
from typing import Callable

from . import machine
from .process import Holder, RowFailed, Server, free_port, run_json
from .rows import QUEUES
from .sides import NQN

IDLE_S = 2.0
SETTLE_S = 0.5


@dataclass
class Single:
    """measure(env) gives figures by name; those with a goal must not exceed it."""
    name: str
    group: str
    measure: Callable
    goals: dict


def target(env):
    port = free_port()
    return port, Server([env.nvof, "target", "--listen", f"tcp:127.0.0.1:{port}", "--no-control", "--subsys", NQN, "--ns", "null:1T", "--spin", "50",
                         "--max-io-queues", "256"], env.target_cpu)


class Held:
    """A target and an idle host with so many I/O queues."""

    def __init__(self, env, nr_queues):
        self.port, self.server = target(env)
        try:
            self.host = Holder(["taskset", "-c", str(env.host_cpu), env.tool("hold"), str(self.port), NQN, str(nr_queues)])
            if self.host.said["nr_io_queues"] != nr_queues:
                raise RowFailed(f"hold: {self.host.said['nr_io_queues']} I/O queues instead of {nr_queues}")
        except BaseException:
            self.server.stop()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_exc):
        self.host.stop()
        self.server.stop()


def rss_mib(env, nr_queues):
    with Held(env, nr_queues) as held:
        time.sleep(SETTLE_S)
        return machine.memory_kib(held.host.pid)["VmRSS"] / 1024, machine.memory_kib(held.server.pid)["VmRSS"] / 1024


def idle_memory(env):
    host, target_, = rss_mib(env, QUEUES)
    host2, target2 = rss_mib(env, 2 * QUEUES)
    return {
        f"host, 1 ctrl with {QUEUES} I/O queues, MiB": host,
        f"target, {QUEUES} I/O queues + admin, idle, MiB": target_,
        "host, each further queue, KiB": (host2 - host) * 1024 / QUEUES,
        "target, each further queue, KiB": (target2 - target_) * 1024 / QUEUES,
    }


def busy_memory(env):
    """64 queues with 4 reads of 4 KiB each; what stays 2 s after that, too."""
    port, server = target(env)
    command = [env.nvof, "bench", "io", "-t", "tcp", "-a", "127.0.0.1", "-s", str(port), "-n", NQN, "--nr-io-queues", str(QUEUES), "--iodepth", "4",
               "--runtime", "1", "--cpu", str(env.host_cpu), "-o", "json"]
    try:
        host = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        time.sleep(0.8)
        if host.poll() is not None:
            raise RowFailed(f"{' '.join(command)}: {host.stderr.read()}")
        figures = {f"host, {QUEUES} queues x QD4, busy, MiB": machine.memory_kib(host.pid)["VmRSS"] / 1024,
                   f"target, {QUEUES} queues x QD4, busy, MiB": machine.memory_kib(server.pid)["VmRSS"] / 1024}
        said, errors = host.communicate(timeout=30)
        if host.returncode:
            raise RowFailed(f"{' '.join(command)}: {errors or said}")
        time.sleep(2)
        figures["target, 2 s after they have gone, MiB"] = machine.memory_kib(server.pid)["VmRSS"] / 1024
        return figures
    finally:
        server.stop()


def idle_cpu(env):
    with Held(env, QUEUES) as held:
        time.sleep(SETTLE_S)
        start, host, target_ = time.monotonic(), machine.process_cpu_s(held.host.pid), machine.process_cpu_s(held.server.pid)
        time.sleep(IDLE_S)
        wall = time.monotonic() - start
        return {f"host, {QUEUES} idle queues, % of a CPU": 100 * (machine.process_cpu_s(held.host.pid) - host) / wall,
                f"target, {QUEUES} idle queues, % of a CPU": 100 * (machine.process_cpu_s(held.server.pid) - target_) / wall}


def first_io(env):
    """From the moment the process is asked for until its first read has ended; the tool's whole life beside it."""
    with Held(env, 1) as held:
        one = held.host.first_io_ms
        start = time.monotonic()
        done = subprocess.run([env.nvof, "read", "-a", "127.0.0.1", "-s", str(held.port), "-n", NQN, "--start-block", "0", "--block-count", "0",
                               "--data-size", "512", "--data", "/dev/null"], capture_output=True, text=True, check=False)
        tool = 1000 * (time.monotonic() - start)
        if done.returncode:
            raise RowFailed(f"{' '.join(done.args)}: {done.stderr}")
    with Held(env, QUEUES) as held:
        return {"1 I/O queue, ms": one, f"{QUEUES} I/O queues, ms": held.host.first_io_ms, "nvof read, start to exit, ms": tool}


def loop_speed(env):
    """The in-process transport: what the host core and the target core cost without sockets."""
    command = ["taskset", "-c", str(env.host_cpu), env.nvof, "bench", "io", "-t", "loop", "--ns", "null:1T", "--nr-io-queues", "1", "--iodepth", "64",
               "--runtime", f"{round(1000 * env.seconds)}ms", "-o", "json"]
    said = run_json(command, env.seconds)
    return {"4 KiB reads QD64, ns of CPU for each": 1e9 / said["iops"]}


def all_singles():
    mib32 = {f"host, 1 ctrl with {QUEUES} I/O queues, MiB": 32, f"target, {QUEUES} I/O queues + admin, idle, MiB": 32}
    idle1 = {f"host, {QUEUES} idle queues, % of a CPU": 1, f"target, {QUEUES} idle queues, % of a CPU": 1}
    return [
        Single("memory-idle", "memory, idle", idle_memory, mib32),
        Single("memory-busy", "memory, busy", busy_memory, {}),
        Single("idle-cpu", "idle CPU", idle_cpu, idle1),
        Single("first-io", "first I/O after the start of the process", first_io, {"1 I/O queue, ms": 20, f"{QUEUES} I/O queues, ms": 20}),
        Single("loop-transport", "host and target in one process, no sockets", loop_speed, {}),
    ]
