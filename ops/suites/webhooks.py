#!/usr/bin/env python3
"""Plays a backend that takes outgoing events, badly, and looks whether it ends with our state.

webhooks.py BINARY [long]
"""

import collections
import http.client
import http.server
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from http.client import HTTPException

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
sys.dont_write_bytecode = True

from ledger import CATALOG, KEY, Ledger, free_port
from signer import BUNDLE, Life, Store
from suite import Suite

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
NOTIFICATIONS = "/v1/apple/notifications"
DAY = 86_400_000
WITHIN = 120  # seconds until something that must come is given up


def library(folder):
    """Makes `standardwebhooks` importable, from PyPI when it is not here; whether it is."""
    try:
        import standardwebhooks  # noqa: F401
        return True
    except ImportError:
        pass
    place = os.path.join(folder, "venv")
    for words in ([sys.executable, "-m", "venv", place],
                  [os.path.join(place, "bin/pip"), "-q", "install", "standardwebhooks"]):
        if subprocess.run(words, stdout=subprocess.DEVNULL, check=False).returncode != 0:
            return False
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    sys.path.append(os.path.join(place, "lib", version, "site-packages"))
    try:
        import standardwebhooks  # noqa: F401
        return True
    except ImportError:
        return False


# The backend: a process of its own, so that it can be killed.


class Taker(http.server.BaseHTTPRequestHandler):
    """Answers as the mode says, and notes what it took before it says so."""

    mode = "take"
    notes = None
    lock = threading.Lock()

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.note({"asked": self.headers["webhook-id"]})
        if self.mode == "hang":
            time.sleep(3_600)
        if self.mode == "refuse":
            self.answer(500)
            return
        self.note({
            "id": int(self.headers["webhook-id"]), "body": body.decode(),
            "headers": {k.lower(): v for k, v in self.headers.items()}})
        self.answer(204)

    def note(self, value):
        with self.lock:
            self.notes.write(json.dumps(value) + "\n")
            self.notes.flush()

    def answer(self, status):
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def take(mode, port, path):
    """The backend's whole life."""
    Taker.mode = mode
    with open(path, "a", encoding="utf-8") as Taker.notes:
        server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Taker)
        server.daemon_threads = True
        server.serve_forever()


class Backend:
    """Starts and kills backends at one address, and reads what they took."""

    def __init__(self, folder):
        self.port = free_port()
        self.path = os.path.join(folder, "taken")
        self.process = None

    def start(self, mode):
        self.process = subprocess.Popen(
            [sys.executable, os.path.abspath(__file__), "--take", mode, str(self.port), self.path])
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.02)
        raise RuntimeError("the backend does not listen")

    def kill(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def notes(self):
        if not os.path.exists(self.path):
            return []
        with open(self.path, encoding="utf-8") as file:
            return [json.loads(line) for line in file if line.endswith("\n")]

    def taken(self):
        return [note for note in self.notes() if "id" in note]


class Webhooks:
    """A ledger, its store, a backend behind a webhook, and one behind the feed."""

    def __init__(self, suite, folder):
        self.suite = suite
        self.report = suite.report
        self.chance = suite.chance
        self.store = Store()
        self.life = Life(self.store, suite.chance, suite.now())
        self.backend = Backend(folder)
        self.ledger = Ledger(suite.binary, {})
        secret = os.path.join(self.ledger.directory, "secret")
        with open(secret, "w", encoding="utf-8") as file:
            file.write(SECRET + "\n")
        self.ledger.write(
            apps=[{"bundleId": BUNDLE, "appAppleId": 1000000001, "environments": ["Production"]}],
            apple={"rootCertificates": [self.store.write_root(self.ledger.directory)]},
            catalog={"products": {**CATALOG["products"], "coins.100": {"kind": "consumable"}}},
            webhooks=[{
                "name": "backend", "url": f"http://127.0.0.1:{self.backend.port}/hook",
                "secret": {"file": secret}}])
        self.customers = []

    def call(self, method, path, body=None, status=(200, 201, 202)):
        client = self.ledger.client()
        answer = client.call(method, path, body)
        client.close()
        self.report.check(f"{method} {path} is taken", answer.status in status, answer)
        return answer

    def notify(self, transaction, **changes):
        signed = self.life.notification(transaction, **changes)[1]
        return self.call("POST", NOTIFICATIONS, {"signedPayload": signed})

    def bound(self, **changes):
        """A customer with a token, and the payload of a first purchase of theirs."""
        transaction = self.life.transaction(**changes)
        customer = f"u_{len(self.customers) + 1}"
        self.customers.append(customer)
        self.call("PUT", f"/v1/customers/{customer}/tokens/{transaction['appAccountToken']}")
        return customer, transaction

    def events(self, query=""):
        """All outgoing events, page by page."""
        found, after = [], 0
        while after is not None:
            page = self.call("GET", f"/v1/events?limit=200&after={after}{query}")
            found += page["events"]
            after = page["next"]
        return found

    def wait(self, name, condition, within=WITHIN):
        deadline = time.monotonic() + within
        while time.monotonic() < deadline:
            found = condition()
            if found:
                return found
            time.sleep(0.05)
        self.report.check(name, False, "it did not come in time")
        return None

    def told(self):
        """Waits until every entry was told, and answers the last number."""
        head = self.call("GET", "/v1/ledger/head")["position"]
        self.wait("every entry is told", lambda: self.call(
            "GET", "/v1/events?limit=1")["position"] >= head)
        return len(self.events())

    def state(self):
        return self.call("GET", "/v1/webhooks")["webhooks"][0]

    # What the cases name.

    def cases(self):
        customer, first = self.bound(
            purchaseDate=self.life.now - 40 * DAY, expiresDate=self.life.now - 10 * DAY,
            signedDate=self.life.now - 40 * DAY)
        line = first["originalTransactionId"]
        second = self.life.transaction(**{
            **first, "transactionId": line + "2", "webOrderLineItemId": line + "3",
            "purchaseDate": first["expiresDate"], "expiresDate": self.life.now + 20 * DAY,
            "signedDate": first["expiresDate"], "transactionReason": "RENEWAL"})
        self.notify(first)
        self.notify(second, notificationType="DID_RENEW", subtype=None)
        refund = {**first, "revocationDate": self.life.now - DAY, "revocationReason": 0,
                  "signedDate": self.life.now - DAY}
        self.notify(refund, notificationType="REFUND", subtype=None)
        self.told()
        mine = self.events(f"&line={line}")
        revoked = [event for event in mine if event["kind"] == "revoked"]
        self.report.equal("A03: one event tells the refund", len(revoked), 1)
        if revoked:
            told = revoked[0]
            self.report.equal(
                "A03: of that period and its money",
                (told["transaction"], told["priceMilliunits"]), (line, 9990))
            self.report.equal(
                "A03: and access goes on", told["entitlementsAfter"]["pro"]["active"], True)
        self.report.equal(
            "A03: nothing expired", [e for e in mine if e["kind"] == "expired"], [])
        self.customers.append("u_other")
        self.call("PUT", f"/v1/customers/u_other/lines/Production/{line}", {})
        self.told()
        moved = [e for e in self.events(f"&line={line}") if e["kind"] == "transferred"]
        self.report.equal(
            "G03: two events, for the old owner and the new one",
            [(e["customer"], e["product"], e["entitlementsAfter"]["pro"]["active"]) for e in moved],
            [(customer, "pro.monthly", False), ("u_other", "pro.monthly", True)])
        coins = self.life.transaction(
            productId="coins.100", type="Consumable", signedDate=self.life.now - DAY)
        for name in ("expiresDate", "webOrderLineItemId", "subscriptionGroupIdentifier"):
            del coins[name]
        line = coins["originalTransactionId"]
        self.call("POST", "/v1/apple/transactions", {"signedTransactions": [self.store.sign(coins)]})
        data = {"appAppleId": self.life.app, "bundleId": BUNDLE, "environment": "Production",
                "signedTransactionInfo": self.store.sign(coins)}
        signed = self.store.sign({
            "notificationType": "ONE_TIME_CHARGE", "notificationUUID": self.life.identifier(),
            "version": "2.0", "signedDate": self.life.now - DAY, "data": data})
        self.call("POST", NOTIFICATIONS, {"signedPayload": signed})
        self.told()
        self.report.equal(
            "I05: one event tells a purchase that is heard of twice",
            [e["kind"] for e in self.events(f"&line={line}")], ["purchased"])

    # Bad backends.

    def trouble(self):
        """Purchases while the backend is down, refuses, hangs, is killed; the daemon, too."""
        report = self.report
        count = self.suite.choose(12, 400)
        for _ in range(count):
            self.notify(self.bound()[1])
        report.check("what a backend that is down lacks, waits", self.state()["pending"] > 0)
        self.backend.start("refuse")
        self.wait("the refusing backend is asked", lambda: self.backend.notes())
        self.backend.kill()
        refused = len(self.backend.notes())
        self.backend.start("hang")
        self.wait("the hanging backend is asked", lambda: len(self.backend.notes()) > refused)
        # The request is under way: both ends are killed in the midst of it.
        self.backend.kill()
        self.ledger.kill()
        self.backend.start("hang")
        self.ledger.start()
        asked = len(self.backend.notes())
        self.wait("it is asked again", lambda: len(self.backend.notes()) > asked)
        self.wait(
            "an attempt times out", lambda: self.state()["lastError"] == "timedOut", within=60)
        report.equal("nothing was taken", self.backend.taken(), [])
        self.backend.kill()
        self.outage(self.suite.choose(2, 3_600))
        self.backend.start("take")
        for _ in range(count):
            self.notify(self.bound()[1])
        self.told()
        self.wait(
            "all is taken", lambda: self.state()["pending"] == 0,
            within=self.suite.choose(WITHIN, 600))

    def outage(self, seconds):
        """For so long nobody listens, while purchases go on."""
        until = time.monotonic() + seconds
        bought = 0
        while time.monotonic() < until:
            self.notify(self.bound()[1])
            bought += 1
            time.sleep(min(5, seconds / 4))
        self.told()
        self.report.check(
            f"what was bought in {seconds} s without a backend waits",
            self.state()["pending"] >= bought and not self.backend.taken(), self.state())

    def compare(self):
        """Whether the backend that took webhooks has exactly our state."""
        from standardwebhooks import Webhook
        report = self.report
        self.told()
        self.wait("nothing waits", lambda: self.state()["pending"] == 0)
        events = {event["number"]: event for event in self.events()}
        report.equal(
            "numbers have no gaps", sorted(events), list(range(1, len(events) + 1)))
        taken = self.backend.taken()
        verifier = Webhook(SECRET)
        wrong = []
        for note in taken:
            try:
                verifier.verify(note["body"], note["headers"])
            except Exception as error:  # whatever the library raises
                wrong.append((note["id"], repr(error)))
        report.equal("standardwebhooks verifies every signature", wrong, [])
        report.equal("every event was taken", sorted({n["id"] for n in taken}), sorted(events))
        differing = [n["id"] for n in taken if json.loads(n["body"])["data"] != events.get(n["id"])]
        report.equal("each as the feed has it", differing, [])
        last = collections.defaultdict(int)
        unordered = []
        for note in taken:
            stream = events[note["id"]]["stream"]
            if note["id"] < last[stream]:
                unordered.append(note["id"])
            last[stream] = max(last[stream], note["id"])
        report.equal("in the order of each line", unordered, [])
        report.equal("nothing is parked", self.state()["parked"], 0)
        self.same("webhooks", [json.loads(n["body"])["data"] for n in taken])
        self.same("feed", list(events.values()))

    def same(self, name, events):
        """Whether the last event about each customer says what we answer now."""
        known = {}
        for event in sorted(events, key=lambda event: event["number"]):
            if event["customer"]:
                known[event["customer"]] = event["entitlementsAfter"]
        differing = []
        for customer in self.customers:
            now = self.call("GET", f"/v1/customers/{customer}/entitlements")["entitlements"]
            if known.get(customer, {}) != now:
                differing.append((customer, known.get(customer), now))
        self.report.equal(f"the {name} end in our state", differing, [])

    # Time.

    def time(self):
        """What time ends while nobody looks is told once, also after kill -9."""
        report = self.report
        now = self.suite.now()
        customer, soon = self.bound(expiresDate=now + 2_500)
        _, sooner = self.bound(expiresDate=now + 1_200)
        self.notify(soon)
        self.notify(sooner)
        self.told()
        line = sooner["originalTransactionId"]
        found = self.call("GET", f"/v1/events?kind=expired&line={line}&wait=10")["events"]
        late = self.suite.now() - sooner["expiresDate"]
        report.equal("B05: time ends a line, once", len(found), 1)
        report.check("within a second", 0 <= late < 1_000, f"{late} ms")
        self.ledger.kill()
        time.sleep(max(0, soon["expiresDate"] - self.suite.now()) / 1000 + 0.3)
        self.ledger.start()
        line = soon["originalTransactionId"]
        self.wait("what ended meanwhile is told", lambda: self.events(f"&kind=expired&line={line}"))
        self.ledger.kill()
        self.ledger.start()
        self.told()
        ends = self.events("&kind=expired")
        report.equal(
            "each end is told once", sorted(e["line"]["originalTransactionId"] for e in ends),
            sorted([line, sooner["originalTransactionId"]]))
        told = [e for e in ends if e["line"]["originalTransactionId"] == line]
        report.equal(
            "at its own instant, with what is left",
            [(e["customer"], e["entitlementsAfter"]["pro"]["active"],
              e["body"]["expired"]["instant"]) for e in told],
            [(customer, False, soon["expiresDate"])])

    # Streams.

    def streams(self):
        """A reader of Server-Sent Events that is cut again and again misses nothing."""
        report = self.report
        for path, name in (("/v1/events", "events"), ("/v1/entries", "entries")):
            seen, last = [], None
            total = self.told() if name == "events" else len(self.ledger.entries())
            while len(seen) < total:
                most = self.chance.randint(1, 40)
                part = self.read(path, last, min(most, total - len(seen)))
                if not part:
                    break
                seen += part
                last = part[-1][0]
            report.equal(
                f"{path} as a stream is whole and in order", [i for i, _, _ in seen],
                list(range(1, total + 1)))
            whole = self.events() if name == "events" else None
            if whole:
                report.equal(f"{path} tells the same both ways", [d for _, _, d in seen], whole)
        connection = self.open("/v1/events", None)
        response = connection.getresponse()
        begun = time.monotonic()
        code = self.ledger.stop()
        report.equal("a daemon with an open stream ends", code, 0)
        report.check(
            "and soon", time.monotonic() - begun < 6, f"{time.monotonic() - begun:.1f} s")
        try:
            response.read()
            whole = True
        except HTTPException:
            whole = False
        report.check("the stream ends whole", whole)
        connection.close()

    def open(self, path, last):
        headers = {"Authorization": f"Bearer {KEY}", "Accept": "text/event-stream"}
        if last is not None:
            headers["Last-Event-ID"] = str(last)
        connection = http.client.HTTPConnection("127.0.0.1", self.ledger.port, timeout=30)
        connection.request("GET", path, headers=headers)
        return connection

    def read(self, path, last, most):
        """Reads so many events of a stream, then cuts it."""
        connection = self.open(path, last)
        response = connection.getresponse()
        found, fields = [], {}
        while len(found) < most:
            line = response.readline().decode().rstrip("\n")
            if line.startswith(":"):
                continue
            if line:
                name, _, value = line.partition(": ")
                fields[name] = value
            elif fields:
                found.append((int(fields["id"]), fields["event"], json.loads(fields["data"])))
                fields = {}
        connection.close()
        return found


def main():
    suite = Suite("webhooks")
    folder = tempfile.mkdtemp(prefix="suite-")
    webhooks = None
    try:
        if not library(folder):
            suite.report.say(
                "!! PyPI's standardwebhooks cannot be installed: THE WEBHOOKS SUITE WAS NOT RUN")
            return
        webhooks = Webhooks(suite, folder)
        webhooks.ledger.start()
        webhooks.cases()
        webhooks.trouble()
        webhooks.time()
        webhooks.compare()
        webhooks.streams()
    except (RuntimeError, OSError, HTTPException) as error:
        suite.report.check("the suite ran to its end", False, repr(error))
    finally:
        if webhooks is not None:
            webhooks.backend.kill()
            if suite.report.failed:
                suite.report.say(webhooks.ledger.said())
            webhooks.ledger.remove()
        shutil.rmtree(folder, ignore_errors=True)
    suite.report.finish()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--take"]:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        take(sys.argv[2], int(sys.argv[3]), sys.argv[4])
    else:
        main()
