"""The store simulator as a process, and how one looks behind its counter."""

import json
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time

from ledger import Client, free_port


class Simulator:
    """A simulator that plays a scenario, in a folder of its own."""

    def __init__(self, binary, scenario, *options):
        self.directory = tempfile.mkdtemp(prefix="store-")
        # Chosen beforehand, so that certificates can say where their status is asked for.
        self.port = free_port()
        self.keys = os.path.join(self.directory, "keys")
        self.file = os.path.join(self.directory, "scenario.json5")
        with open(self.file, "w", encoding="utf-8") as file:
            json.dump(scenario, file)
        self.log = os.path.join(self.directory, "log")
        self.words = [
            os.path.abspath(binary), "store-simulator", "--listen", f"127.0.0.1:{self.port}",
            "--directory", self.keys, "--scenario", self.file, *options]
        self.process = None
        self.start()

    def start(self):
        """Starts the store, with the same past as before."""
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                self.words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, text=True)
        listening = threading.Event()
        threading.Thread(target=self._read, args=(listening,), daemon=True).start()
        if not listening.wait(30):
            self.stop()
            raise RuntimeError(f"the simulator does not listen:\n{self.said()}")

    def _read(self, listening):
        for line in self.process.stdout:
            if line.startswith("listening on "):
                self.port = int(line.rsplit(":", 1)[1])
                listening.set()

    def said(self):
        with open(self.log, encoding="utf-8", errors="replace") as file:
            return file.read()[-2000:]

    @property
    def root(self):
        return os.path.join(self.keys, "root.der")

    @property
    def key(self):
        return os.path.join(self.keys, "AuthKey.p8")

    def names(self):
        """The key's id and the issuer's."""
        with open(os.path.join(self.keys, "simulator.json"), encoding="utf-8") as file:
            return json.load(file)

    def url(self, environment):
        """The base of the server API."""
        return f"http://127.0.0.1:{self.port}/{environment.lower()}"

    def receipts(self, environment):
        prefix = "/sandbox" if environment == "Sandbox" else ""
        return f"http://127.0.0.1:{self.port}{prefix}/verifyReceipt"

    def client(self, **options):
        return Client(self.port, key=None, **options)

    def call(self, method, path, body=None):
        """One request below /simulator."""
        client = self.client()
        try:
            return client.call(method, f"/simulator/{path}", body)
        finally:
            client.close()

    def lives(self):
        """Customers by their id."""
        return {life["customer"]: life for life in self.call("GET", "lives")["lives"]}

    def settle(self, within=120):
        """Waits until everything that was told so far has been delivered, or given up."""
        deadline = time.monotonic() + within
        while time.monotonic() < deadline:
            if self.call("GET", "clock")["underWay"] == 0:
                return True
            time.sleep(0.05)
        return False

    def die(self):
        """Kills the store at once."""
        self.process.kill()
        self.process.wait()

    def stop(self, within=10):
        """Asks the simulator to end; its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(within)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            return None

    def remove(self):
        self.stop()
        shutil.rmtree(self.directory, ignore_errors=True)
