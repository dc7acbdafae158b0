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
    """The raw-socket pair.  mode: busy, spin or epoll, both ends; digest: both sum up the data that is read."""

    def __init__(self, env, mode, load, backend="null", digest=False):
        super().__init__(env)
        self.mode, self.load, self.area = mode, load, AREA_MIB[backend]
        self.more = ["-g"] if digest else []

    def label(self):
        return f"raw sockets, {self.mode}{', CRC32C' if self.more else ''}"

    def server_command(self):
        how = {"busy": ["-b"], "spin": ["-s", str(SPIN_US)], "epoll": []}[self.mode]
        return [self.env.tool("limit-server"), "-p", str(self.port), "-C", self.env.congestion, "-A", str(self.area), *how, *self.more]

    def host_command(self, seconds):
        load = self.load
        command = [self.env.tool("limit-client"), "-p", self.port, "-C", self.env.congestion, "-A", self.area, "-m", self.mode, "-s", SPIN_US,
                   "-c", self.env.host_cpu, "-q", load.depth, "-S", load.size, "-d", seconds, "-W", self.env.warmup, "-h", DIRECT_FROM]
        return [str(word) for word in command] + (["-w"] if load.write else []) + self.more


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


class Several(Nvof):
    """One submitter with several connections, which the target may cap, or stall.  The value is bytes a second, or 1 / p99."""

    def __init__(self, env, load, words, more, target=(), value="bytes_per_s", seconds=0.0):
        super().__init__(env, "spin", load, more=more)
        self.words, self.target, self.key, self.seconds = words, list(target), value, seconds

    def label(self):
        return f"nvof, {self.words}"

    def server_command(self):
        return super().server_command() + self.target

    def measure(self, seconds):
        return super().measure(max(seconds, self.seconds))

    def figure(self, said, used, seconds):
        figure = super().figure(said, used, seconds)
        return {**figure, "value": figure[self.key]}


class Group(Several):
    """One hctx with so many queues."""

    def __init__(self, env, load, queues, policy="least-bytes", target=(), **how):
        super().__init__(env, load, f"{queues} queue{'s' if queues > 1 else ''}, {policy}",
                         ["--nr-io-queues", str(queues), *(["--queues-per-hctx", str(queues), "--policy", policy] if queues > 1 else [])], target, **how)


class Ctrls(Several):
    """So many ctrls of one I/O queue each, as paths of one subsystem."""

    def __init__(self, env, load, ctrls, iopolicy, target=(), **how):
        super().__init__(env, load, f"{ctrls} ctrls, {iopolicy}", ["--duplicate-connect", str(ctrls), "--iopolicy", iopolicy], target, **how)


class Threads(Group):
    """So many I/O threads, 0 for none; data digests on.  Host and target share both CPUs.  cheap: a target that costs little (cheap.c)."""

    def __init__(self, env, load, queues, threads, cheap):
        super().__init__(env, load, queues)
        self.threads, self.cheap, self.behind, self.behind_port = threads, cheap, None, free_port()
        self.more += ["-G", "--io-threads", str(threads)]
        self.cpus = f"{env.host_cpu},{env.target_cpu}"

    def label(self):
        return f"nvof, {self.threads} I/O threads"

    def start(self):
        if self.cheap:
            target = super().server_command()
            target[target.index("--listen") + 1] = f"tcp:127.0.0.1:{self.behind_port}"
            self.behind = Server(target, self.cpus)
        self.server = Server(self.server_command(), self.cpus)
        self.server.pause()

    def stop(self):
        super().stop()
        if self.behind:
            self.behind.stop()

    def server_command(self):
        if not self.cheap:
            return super().server_command()
        return [self.env.tool("cheap"), "-p", str(self.port), "-t", str(self.behind_port), "-S", str(self.load.size)]

    def host_command(self, seconds):
        command = super().host_command(seconds)
        del command[command.index("--cpu"):command.index("--cpu") + 2]
        return ["taskset", "-c", self.cpus, *command]

    def figure(self, said, used, seconds):
        figure = super().figure(said, used, seconds)
        cpu, ran = said["cpu"], said["seconds"]
        threads = {f"io_{i}_pct": 100 * s / ran for i, s in enumerate(cpu["io_threads_s"])}
        target_pct = figure["target_us"] * figure["iops"] / 1e4
        return {**figure, "submitter_pct": 100 * cpu["submitter_s"] / ran, **threads, "target_pct": target_pct}


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
    """nvof bench connect; the value is the milliseconds of its I/O queues, after the admin queue.  whole: admin commands are delayed, too."""

    def __init__(self, env, how, delay_ms, nr_queues, key="io_queues_ms", whole=False):
        super().__init__(env)
        self.how, self.delay_ms, self.nr_queues, self.key, self.whole = how, delay_ms, nr_queues, key, whole

    def label(self):
        return f"nvof, {self.how}"

    def server_command(self):
        points = ["icreq", "connect", "admin"] if self.whole else ["icreq", "connect"]
        faults = [f"on={point},delay={self.delay_ms}ms" for point in points] if self.delay_ms else []
        return [self.env.nvof, "target", "--listen", f"tcp:127.0.0.1:{self.port}", "--no-control", "--subsys", NQN, "--ns", "null:1T",
                "--max-io-queues", str(max(self.nr_queues, 128)), "--spin", str(SPIN_US), *(word for fault in faults for word in ("--fault", fault))]

    def host_command(self, _seconds):
        how = {"serial": ["--setup-concurrency", "1"], "plain": ["--no-early-links"]}.get(self.how, [])
        return ["taskset", "-c", str(self.env.host_cpu), self.env.nvof, "bench", "connect", "-t", "tcp", "-a", "127.0.0.1", "-s", str(self.port),
                "-n", NQN, "--nr-io-queues", str(self.nr_queues), "--runs", "1", "-o", "json", *how]

    def figure(self, said, used, _seconds):
        if said["nr_io_queues"] != self.nr_queues:
            raise RowFailed(f"{self.label()}: {said['nr_io_queues']} I/O queues instead of {self.nr_queues}")
        return {"value": said["median"][self.key], **said["median"], "others_pct": used["others_pct"]}


class Outage(Connect):
    """One host whose connections are all cut at once; the value is the milliseconds until it has read its next block."""

    def host_command(self, _seconds):
        return ["taskset", "-c", str(self.env.host_cpu), self.env.nvof, "bench", "storm", "-t", "tcp", "-a", "127.0.0.1", "-s", str(self.port),
                "-n", NQN, "--hosts", "1", "--cut", "host", "--nr-io-queues", str(self.nr_queues), "-o", "json"]

    def figure(self, said, used, _seconds):
        if said["reconnect"]["nr_io_queues"] != self.nr_queues:
            raise RowFailed(f"{self.label()}: {said['reconnect']['nr_io_queues']} I/O queues instead of {self.nr_queues}")
        return {"value": said["reconnect"]["first_io_ms"]["max"], "others_pct": used["others_pct"]}


class Removal(Side):
    """nvof bench disconnect over 4 I/O queues, one read under way on each namespace; the value is the milliseconds until all namespaces were gone."""

    def __init__(self, env, transport, namespaces, serial=False, delay_ms=0):
        super().__init__(env)
        self.transport, self.namespaces, self.serial, self.delay_ms = transport, namespaces, serial, delay_ms

    def label(self):
        return f"nvof, {self.namespaces} namespaces, {'one by one' if self.serial else 'all at once'}"

    def target_args(self):
        fault = ["--fault", f"on=io,opcode=2,delay={self.delay_ms}ms"] if self.delay_ms else []
        return ["--ns", f"null:1M,count={self.namespaces}", *fault]

    def server_command(self):
        if self.transport == "loop":
            return None
        return [self.env.nvof, "target", "--listen", f"tcp:127.0.0.1:{self.port}", "--no-control", "--subsys", NQN, "--spin", str(SPIN_US),
                *self.target_args()]

    def host_command(self, _seconds):
        where = (["-t", "loop", *self.target_args()] if self.transport == "loop" else ["-t", "tcp", "-a", "127.0.0.1", "-s", str(self.port), "-n", NQN])
        cpus = f"{self.env.host_cpu},{self.env.target_cpu}" if self.transport == "loop" else str(self.env.host_cpu)
        return ["taskset", "-c", cpus, self.env.nvof, "bench", "disconnect", *where, "--nr-io-queues", "4", "--queue-size", "512", "--runs", "3",
                "--removal-concurrency", str(int(self.serial)), "-o", "json"]

    def figure(self, said, used, _seconds):
        if said["nr_namespaces"] != self.namespaces or said["reads"]["ok"] != 3 * self.namespaces:
            raise RowFailed(f"{self.label()}: {said['nr_namespaces']} namespaces, reads {said['reads']}")
        return {"value": said["median"]["namespaces_ms"], **said["median"], "others_pct": used["others_pct"]}


class Scan(Side):
    """All namespaces looked at, each admin command delayed; the value is milliseconds."""

    def __init__(self, env, how, namespaces, delay_ms):
        super().__init__(env)
        self.how, self.namespaces, self.delay_ms = how, namespaces, delay_ms

    def label(self):
        return f"nvof, {self.how}"

    def server_command(self):
        return [self.env.nvof, "target", "--listen", f"tcp:127.0.0.1:{self.port}", "--no-control", "--subsys", NQN, "--spin", str(SPIN_US),
                "--ns", f"null:1M,count={self.namespaces}", "--fault", f"on=admin,delay={self.delay_ms}ms"]

    def host_command(self, _seconds):
        return ["taskset", "-c", str(self.env.host_cpu), self.env.tool("scan"), str(self.port), NQN, self.how]

    def figure(self, said, used, _seconds):
        if said["nr_namespaces"] != self.namespaces:
            raise RowFailed(f"{self.label()}: {said['nr_namespaces']} namespaces instead of {self.namespaces}")
        return {"value": said["total_ms"], "others_pct": used["others_pct"]}


def make_file(path, size):
    with open(path, "wb") as f:
        for _ in range(size // MIB):
            f.write(os.urandom(MIB))
        f.flush()
        os.fsync(f.fileno())
