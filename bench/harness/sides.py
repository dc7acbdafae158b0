# SPDX-License-Identifier: BSD-3-Clause
"""What a row compares: the raw-socket pair, nvof, fio.  A side starts its server once and then measures as often as it is asked."""
import os

from .process import Accounts, RowFailed, Server, free_port, run_json

NQN = "nqn.2026-11.org.example:bench"
MIB = 1 << 20
SPIN_US = 50
AREA_MIB = {"null": 2, "mem": 256}  # of the limit: as hot or as cold in the cache as the backend it stands beside
DIRECT_FROM = 32 << 10  # the limit receives data of this size straight into its buffers


SHORTEST = 0.5  # of the time a measurement was given: below that something held it up


class Side:
    """measure() gives a figure: iops, bytes_per_s, p50_us, p99_us, host_us and target_us (CPU of one I/O), others_pct."""

    def __init__(self, env):
        self.env = env
        self.server = None
        self.port = free_port()

    def start(self):
        command = self.server_command()
        if command:
            self.server = Server(command, self.env.target_cpu)
            self.prepare()
            self.server.pause()

    def stop(self):
        if self.server:
            self.server.stop()

    def server_command(self):
        return None

    def prepare(self):
        pass

    def measure(self, seconds):
        if self.server:
            self.server.resume()
        accounts = Accounts(self.server)
        said = run_json(self.host_command(seconds), seconds)
        used = accounts.end()
        if self.server:
            self.server.pause()
        return self.figure(said, used, seconds)

    def figure(self, said, used, seconds):
        if said["errors"] or not said["iops"] or said["seconds"] < SHORTEST * seconds:
            raise RowFailed(f"{self.label()}: {said['errors']} errors, {said['iops']} IOPS in {said['seconds']} s of {seconds}")
        host_s = said["cpu"]["user_s"] + said["cpu"]["sys_s"]
        return {
            "value": said["iops"],
            "iops": said["iops"],
            "bytes_per_s": said["bytes_per_s"],
            "p50_us": said["lat_us"]["p50"],
            "p99_us": said["lat_us"]["p99"],
            "host_us": 1e6 * host_s / (said["iops"] * said["seconds"]),
            # The whole run's, its warm-up with it.
            "target_us": 1e6 * used["target_s"] / (said["iops"] * (said["seconds"] + self.env.warmup)),
            "others_pct": used["others_pct"],
        }


class Limit(Side):
    """The raw-socket pair.  mode: busy, spin or epoll, both ends."""

    def __init__(self, env, mode, load, backend="null"):
        super().__init__(env)
        self.mode, self.load, self.area = mode, load, AREA_MIB[backend]

    def label(self):
        return f"raw sockets, {self.mode}"

    def server_command(self):
        how = {"busy": ["-b"], "spin": ["-s", str(SPIN_US)], "epoll": []}[self.mode]
        return [self.env.tool("limit-server"), "-p", str(self.port), "-C", self.env.congestion, "-A", str(self.area), *how]

    def host_command(self, seconds):
        load = self.load
        command = [self.env.tool("limit-client"), "-p", self.port, "-C", self.env.congestion, "-A", self.area, "-m", self.mode, "-s", SPIN_US,
                   "-c", self.env.host_cpu, "-q", load.depth, "-S", load.size, "-d", seconds, "-W", self.env.warmup, "-h", DIRECT_FROM]
        return [str(word) for word in command] + (["-w"] if load.write else [])


class Nvof(Side):
    """Our target and our host.  mode: busy or spin; more: further options of the host."""

    def __init__(self, env, mode, load, backend="null", more=()):
        super().__init__(env)
        self.mode, self.load, self.more = mode, load, list(more)
        self.backend = backend if ":" in backend else {"null": "null:1T", "mem": f"mem:{AREA_MIB['mem']}M,huge=on"}[backend]

    def label(self):
        return f"nvof, {self.mode}, {self.backend.split(':')[0]}"

    def server_command(self):
        how = ["--poll"] if self.mode == "busy" else ["--spin", str(SPIN_US)]
        return [self.env.nvof, "target", "--listen", f"tcp:127.0.0.1:{self.port}", "--no-control", "--subsys", NQN,
                "--ns", f"{self.backend},block=4096", *how]

    def io_command(self, rw, size, depth, *more):
        return [self.env.nvof, "bench", "io", "-t", "tcp", "-a", "127.0.0.1", "-s", str(self.port), "-n", NQN, "--nr-io-queues", "1",
                "--rw", rw, "--bs", str(size), "--iodepth", str(depth), "--cpu", str(self.env.host_cpu), "-o", "json", *more]

    def prepare(self):
        """Memory that was never written is one page of zeroes, hot in the cache: fill it."""
        if self.backend.startswith("mem:"):
            run_json(self.io_command("write", MIB, 16, "--io-size", f"{AREA_MIB['mem']}M", "--runtime", "60"), 60)

    def host_command(self, seconds):
        rw = "randwrite" if self.load.write else "randread"
        poll = ["--poll"] if self.mode == "busy" else []
        return self.io_command(rw, self.load.size, self.load.depth, "--runtime", f"{round(1000 * seconds)}ms",
                               "--warmup", f"{round(1000 * self.env.warmup)}ms", *poll, *self.more)


class Fio(Side):
    """fio on the same file, on the host's CPU, without a network."""

    def __init__(self, env, load, path, direct):
        super().__init__(env)
        self.load, self.path, self.direct = load, path, direct

    def label(self):
        return "fio"

    def host_command(self, seconds):
        return ["fio", "--thread", "--name=bench", f"--filename={self.path}", "--ioengine=io_uring", f"--direct={int(self.direct)}",
                f"--rw={'randwrite' if self.load.write else 'randread'}", f"--bs={self.load.size}", f"--iodepth={self.load.depth}",
                f"--cpus_allowed={self.env.host_cpu}", "--time_based", f"--runtime={round(1000 * seconds)}ms",
                f"--ramp_time={round(1000 * self.env.warmup)}ms", "--norandommap", "--randrepeat=0", "--output-format=json"]

    def figure(self, said, used, seconds):
        job = said["jobs"][0]
        kind = job["write" if self.load.write else "read"]
        ran = kind["runtime"] / 1000
        clat = kind["clat_ns"].get("percentile", {})
        return super().figure({
            "errors": job["error"], "iops": kind["iops"], "bytes_per_s": kind["bw_bytes"], "seconds": ran,
            "lat_us": {"p50": clat.get("50.000000", 0) / 1e3, "p99": clat.get("99.000000", 0) / 1e3},
            "cpu": {"user_s": job["usr_cpu"] * ran / 100, "sys_s": job["sys_cpu"] * ran / 100},
        }, used, seconds)


class ConnSetup(Side):
    """The limit of a set-up; the value is milliseconds."""

    def __init__(self, env, how, delay_ms, nr_queues):
        super().__init__(env)
        self.how, self.delay_ms, self.nr_queues = how, delay_ms, nr_queues

    def label(self):
        return f"raw connections, {self.how}"

    def host_command(self, _seconds):
        return [self.env.tool("limit-connsetup"), "-m", self.how, "-n", str(self.nr_queues), "-d", str(self.delay_ms * 1000),
                "-p", str(free_port()), "-c", str(self.env.host_cpu), "-t", str(self.env.target_cpu)]

    def figure(self, said, used, _seconds):
        return {"value": said["total_ms"], "others_pct": used["others_pct"]}


class Connect(Side):
    """nvof bench connect; the value is the milliseconds of its I/O queues, after the admin queue."""

    def __init__(self, env, how, delay_ms, nr_queues, key="io_queues_ms"):
        super().__init__(env)
        self.how, self.delay_ms, self.nr_queues, self.key = how, delay_ms, nr_queues, key

    def label(self):
        return f"nvof, {self.how}"

    def server_command(self):
        faults = [f"on=icreq,delay={self.delay_ms}ms", f"on=connect,delay={self.delay_ms}ms"] if self.delay_ms else []
        return [self.env.nvof, "target", "--listen", f"tcp:127.0.0.1:{self.port}", "--no-control", "--subsys", NQN, "--ns", "null:1T",
                "--spin", str(SPIN_US), *(word for fault in faults for word in ("--fault", fault))]

    def host_command(self, _seconds):
        return ["taskset", "-c", str(self.env.host_cpu), self.env.nvof, "bench", "connect", "-t", "tcp", "-a", "127.0.0.1", "-s", str(self.port),
                "-n", NQN, "--nr-io-queues", str(self.nr_queues), "--setup-concurrency", "1" if self.how == "serial" else "0", "--runs", "1",
                "-o", "json"]

    def figure(self, said, used, _seconds):
        if said["nr_io_queues"] != self.nr_queues:
            raise RowFailed(f"{self.label()}: {said['nr_io_queues']} I/O queues instead of {self.nr_queues}")
        return {"value": said["median"][self.key], **said["median"], "others_pct": used["others_pct"]}


def make_file(path, size):
    with open(path, "wb") as f:
        for _ in range(size // MIB):
            f.write(os.urandom(MIB))
        f.flush()
        os.fsync(f.fileno())
