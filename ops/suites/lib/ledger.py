"""A ledger of one's own: its folder, its daemon, its commands, and how one talks to it."""

import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time

KEY = "suite-bootstrap-key"

CATALOG = {
    "products": {
        "pro.monthly": {
            "kind": "autoRenewable", "group": "G1", "level": 1, "plan": "P1M",
            "entitlements": ["pro"],
        }
    }
}


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Answer:
    """An answer: status, headers, and the body as a value when it is JSON."""

    def __init__(self, status, headers, body):
        self.status = status
        self.headers = headers
        self.body = body
        kind = headers.get("Content-Type", "")
        self.json = json.loads(body) if body and "json" in kind else None

    def __getitem__(self, name):
        return (self.json or {}).get(name)

    def __str__(self):
        return f"{self.status} {self.body[:400]!r}"


class Client:
    """One connection that is kept, and made again when it was lost or has rested for long."""

    rest = 20  # seconds; the daemon closes what rests for a minute

    def __init__(self, port, key=KEY, timeout=30):
        self.port = port
        self.key = key
        self.timeout = timeout
        self.connection = None
        self.used = 0

    def call(self, method, path, body=None, key="own", headers=None):
        """One request; raises OSError or HTTPException when there is no answer."""
        sent = dict(headers or {})
        key = self.key if key == "own" else key
        if key:
            sent["Authorization"] = f"Bearer {key}"
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
        if body is not None:
            sent.setdefault("Content-Type", "application/json")
        if time.monotonic() - self.used > Client.rest:
            self.close()
        if self.connection is None:
            self.connection = http.client.HTTPConnection(
                "127.0.0.1", self.port, timeout=self.timeout)
            self.connection.connect()
            self.connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            self.connection.request(method, path, body, sent)
            answer = self.connection.getresponse()
            whole = Answer(answer.status, answer.headers, answer.read())
            self.used = time.monotonic()
            return whole
        except (OSError, http.client.HTTPException):
            self.close()
            raise

    def close(self):
        if self.connection is not None:
            self.connection.close()
            self.connection = None


class Ledger:
    """A configuration in a folder of its own, and the processes that use it."""

    def __init__(self, binary, configuration, keep_port=True):
        self.binary = os.path.abspath(binary)
        self.directory = tempfile.mkdtemp(prefix="suite-")
        # A cluster that root starts runs as another user, which must reach its folder.
        os.chmod(self.directory, 0o755)
        self.port = free_port() if keep_port else 0
        self.configuration = {
            "listen": f"127.0.0.1:{self.port}", "dataDirectory": "data", **configuration}
        self.file = os.path.join(self.directory, "subledger.json5")
        self.log = os.path.join(self.directory, "log")
        self.process = None
        self.lines = []
        self.write()

    def write(self, **changes):
        """Writes the configuration, changed."""
        self.configuration.update(changes)
        with open(self.file, "w", encoding="utf-8") as file:
            json.dump(self.configuration, file, indent=2)

    def environment(self, **more):
        clean = {k: v for k, v in os.environ.items() if not k.startswith("SUBLEDGER_")}
        return {**clean, "SUBLEDGER_BOOTSTRAP_KEY": KEY, **more}

    # The daemon.

    def start(self, *options, within=60):
        """Starts the daemon and waits until it listens."""
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [self.binary, "serve", "--config", self.file, *options], stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=log, env=self.environment(), text=True)
        self.lines = []
        listening = threading.Event()
        threading.Thread(target=self._read, args=(self.process, listening), daemon=True).start()
        deadline = time.monotonic() + within
        while not listening.wait(0.005):
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"the daemon does not listen:\n{self.said()}")
        return self

    def _read(self, process, listening):
        for line in process.stdout:
            self.lines.append(line.rstrip("\n"))
            if line.startswith("listening on "):
                self.port = int(line.rsplit(":", 1)[1])
                listening.set()

    def said(self):
        if not os.path.exists(self.log):
            return "the daemon was never started"
        with open(self.log, encoding="utf-8", errors="replace") as file:
            return file.read()[-4000:]

    def kill(self):
        """Ends the daemon without a chance to say anything."""
        self.process.kill()
        self.process.wait()

    def stop(self, within=30):
        """Asks the daemon to end; its exit code."""
        if self.process is None:
            return None
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(within)
        except subprocess.TimeoutExpired:
            self.kill()
            return None

    def client(self, **options):
        return Client(self.port, **options)

    # The embedded cluster.

    def postmaster(self):
        """The number of the cluster's first process; None when there is none."""
        path = os.path.join(self.directory, "data/cluster/data/postmaster.pid")
        try:
            with open(path, encoding="utf-8") as file:
                number = int(file.readline())
            with open(f"/proc/{number}/stat", encoding="utf-8") as file:
                state = file.read().rpartition(")")[2].split()[0]
            return None if state in "ZX" else number
        except (OSError, ValueError, IndexError):
            return None

    # Commands.

    def command(self, *words, stdin=None, within=120, configured=True, environment=None):
        """Runs a command to its end."""
        words = [*words, "--config", self.file] if configured else words
        return subprocess.run(
            [self.binary, *words], input=stdin, capture_output=True, text=True, timeout=within,
            stdin=subprocess.DEVNULL if stdin is None else None, cwd=self.directory,
            env=self.environment(**(environment or {})))

    def spawn(self, *words, **options):
        """Starts a command and does not wait for it."""
        return subprocess.Popen(
            [self.binary, *words, "--config", self.file], stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, cwd=self.directory, env=self.environment(),
            **options)

    def entries(self):
        """Every entry on the record, by `replay`."""
        result = self.command("replay")
        if result.returncode != 0:
            raise RuntimeError(f"replay: {result.returncode} {result.stderr[-600:]}")
        return [json.loads(line) for line in result.stdout.splitlines()]

    def remove(self):
        """Ends what still runs and removes the folder."""
        self.stop()
        number = self.postmaster()
        if number is not None:
            os.kill(number, signal.SIGQUIT)
            deadline = time.monotonic() + 10
            while self.postmaster() == number and time.monotonic() < deadline:
                time.sleep(0.02)
        shutil.rmtree(self.directory, ignore_errors=True)


def resident_kib(process):
    """What a process holds in memory."""
    with open(f"/proc/{process}/status", encoding="utf-8") as file:
        for line in file:
            if line.startswith("VmRSS:"):
                return int(line.split()[1])
    return 0
