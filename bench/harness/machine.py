# SPDX-License-Identifier: BSD-3-Clause
"""The machine: its CPUs, its congestion control, and who uses its time."""
import os
import platform

TICK = os.sysconf("SC_CLK_TCK")
CONGESTION = "/proc/sys/net/ipv4/tcp_congestion_control"


def read_text(path):
    with open(path, encoding="ascii", errors="replace") as f:
        return f.read()


def process_cpu_s(pid):
    """CPU seconds of all threads of a process, to the nanosecond."""
    total = 0
    for tid in os.listdir(f"/proc/{pid}/task"):
        total += int(read_text(f"/proc/{pid}/task/{tid}/schedstat").split()[0])
    return total / 1e9


def busy_s():
    """CPU seconds everything on this machine used, what the hypervisor took away among them."""
    user, nice, system, _idle, _iowait, irq, softirq, steal = map(int, read_text("/proc/stat").split()[1:9])
    return (user + nice + system + irq + softirq + steal) / TICK


def memory_kib(pid):
    """VmRSS and VmHWM of a process."""
    fields = dict(line.split(":", 1) for line in read_text(f"/proc/{pid}/status").splitlines() if ":" in line)
    return {key: int(fields[key].split()[0]) for key in ("VmRSS", "VmHWM")}


def load():
    return float(read_text("/proc/loadavg").split()[0])


def two_cpus():
    """One CPU for the host, another one for the target."""
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        raise SystemExit("bench: host and target need a CPU each, and this process may use only one")
    return cpus[0], cpus[1]


def describe():
    model = next((line.split(":", 1)[1].strip() for line in read_text("/proc/cpuinfo").splitlines() if line.startswith("model name")), "?")
    return {"cpu": model, "cpus": os.cpu_count(), "kernel": platform.release(), "load": load()}


class Congestion:
    """cubic while the benchmark runs, if that is allowed; afterwards what was there before."""

    def __init__(self):
        self.before = self.now = read_text(CONGESTION).strip()

    def __enter__(self):
        try:
            self._set("cubic")
        except OSError:
            pass  # said in the report: the sockets of the limit are set to the same one
        return self

    def __exit__(self, *_exc):
        if self.now != self.before:
            self._set(self.before)

    def _set(self, name):
        with open(CONGESTION, "w", encoding="ascii") as f:
            f.write(name)
        self.now = name
