# SPDX-License-Identifier: BSD-3-Clause
"""Programs that are measured: a server that stays, a host that runs and ends."""
import json
import os
import select
import signal
import socket
import subprocess
import time

from . import machine

READY_S = 20
GRACE_S = 30


class RowFailed(Exception):
    """Something did not run: the row has no figure."""


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def words_of(command, text):
    return f"{' '.join(command)}\n    {text.strip()[-600:]}"


def line_from(process, command, seconds):
    """The first line a program prints."""
    if not select.select([process.stdout], [], [], seconds)[0]:
        process.kill()
        raise RowFailed(words_of(command, f"said nothing for {seconds} s"))
    line = process.stdout.readline()
    if not line:
        raise RowFailed(words_of(command, f"ended with status {process.wait()}: {process.stderr.read()}"))
    return line


class Server:
    """A target on a CPU of its own.  Stopped (SIGSTOP) while another one is measured: a polling one would take the CPU away."""

    def __init__(self, command, cpu):
        self.command = ["taskset", "-c", str(cpu), *command]
        self.process = subprocess.Popen(self.command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        line_from(self.process, self.command, READY_S)
        self.pid = self.process.pid

    def pause(self):
        self.process.send_signal(signal.SIGSTOP)

    def resume(self):
        if self.process.poll() is not None:
            raise RowFailed(words_of(self.command, f"ended with status {self.process.returncode}: {self.process.stderr.read()}"))
        self.process.send_signal(signal.SIGCONT)

    def stop(self):
        self.process.send_signal(signal.SIGCONT)
        self.process.terminate()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
        self.process.stderr.close()


def run_json(command, seconds):
    """Runs a program to its end.  Return: the JSON it printed."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds + GRACE_S, check=False)
    except subprocess.TimeoutExpired:
        raise RowFailed(words_of(command, "did not end")) from None
    if done.returncode:
        raise RowFailed(words_of(command, f"status {done.returncode}: {done.stderr or done.stdout}"))
    try:
        return json.loads(done.stdout)
    except ValueError:
        raise RowFailed(words_of(command, f"printed no JSON: {done.stdout!r} {done.stderr}")) from None


class Holder:
    """A host that connected, read one block and now does nothing."""

    def __init__(self, command):
        self.started_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.said = json.loads(line_from(self.process, command, READY_S))
        self.pid = self.process.pid
        self.first_io_ms = (self.said["first_io_ns"] - self.started_ns) / 1e6

    def stop(self):
        self.process.terminate()
        self.process.wait(10)
        self.process.stdout.close()
        self.process.stderr.close()


class Accounts:
    """CPU time of a stretch: the target's, and that of programs that have nothing to do with us."""

    def __init__(self, server):
        self.server = server
        self.start = self._read()

    def _read(self):
        children = os.times()
        return {
            "wall": time.monotonic(),
            "busy": machine.busy_s(),
            "own": children.children_user + children.children_system,
            "target": machine.process_cpu_s(self.server.pid) if self.server else 0,
        }

    def end(self):
        now = self._read()
        used = {key: now[key] - self.start[key] for key in now}
        others = used["busy"] - used["own"] - used["target"]
        return {"target_s": used["target"], "others_pct": max(0, 100 * others / used["wall"])}
