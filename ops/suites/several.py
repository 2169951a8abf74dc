#!/usr/bin/env python3
"""Runs two daemons on one ledger, kills them in turn while both are posted to, and looks whether
anything was lost, doubled or told twice, and how soon the other one takes over.

several.py BINARY [long]
"""

import copy
import os
import sys
import threading
import time
from http.client import HTTPException

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
sys.dont_write_bytecode = True

from ledger import free_port
from signer import Life, Store
from suite import Suite

NOTIFICATIONS = "/v1/apple/notifications"
POSTERS = 8
SECONDS = 10  # until what one daemon kept must be level again at the other
PATIENCE = 60


class Several:
    """One ledger, two daemons, and what was answered by either."""

    def __init__(self, suite, ledger, life):
        self.suite = suite
        self.report = suite.report
        self.life = life
        other = copy.copy(ledger)
        other.port, other.lines = free_port(), []
        self.daemons = [ledger, other]
        self.lock = threading.Lock()
        self.stopping = threading.Event()
        self.answered = {}
        self.odd = []

    def start(self, daemon):
        daemon.start("--listen", f"127.0.0.1:{daemon.port}")

    def at_once(self):
        """The same notification comes to both in the same moment: one event, two answers."""
        wrong = []
        for _ in range(self.suite.choose(20, 500)):
            identity, signed = self.life.notification(self.life.transaction())
            answers, barrier = [None, None], threading.Barrier(2)

            def post(place):
                client = self.daemons[place].client()
                client.call("GET", "/healthz", key=None)
                barrier.wait()
                answers[place] = client.call(
                    "POST", NOTIFICATIONS, {"signedPayload": signed}, key=None)
                client.close()

            threads = [threading.Thread(target=post, args=(place,)) for place in (0, 1)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(PATIENCE)
            said = sorted((a.status, a["appended"], a["duplicate"]) for a in answers)
            if said != [(200, 0, True), (200, 3, False)] \
                    or answers[0]["position"] != answers[1]["position"]:
                wrong.append((identity, [str(answer) for answer in answers]))
        self.report.equal("what comes to both at once is recorded once, and both say so", wrong, [])

    def post(self, number):
        """Posts purchases to whichever daemon answers, each until it is answered."""
        while not self.stopping.is_set():
            with self.lock:
                transaction = self.life.transaction()
                signed = self.life.notification(transaction)[1]
            deadline = time.monotonic() + PATIENCE
            turn = number
            while True:
                client = self.daemons[turn % 2].client(timeout=10)
                turn += 1
                try:
                    answer = client.call(
                        "POST", NOTIFICATIONS, {"signedPayload": signed}, key=None)
                    if answer.status == 200:
                        with self.lock:
                            self.answered[transaction["appAccountToken"]] = answer["position"]
                        break
                    if answer.status != 503:
                        with self.lock:
                            self.odd.append(str(answer))
                        break
                except (OSError, HTTPException):
                    pass
                finally:
                    client.close()
                if time.monotonic() > deadline:
                    with self.lock:
                        self.odd.append(f"{transaction['transactionId']} was never answered")
                    break
                time.sleep(0.02)

    def kills(self):
        """Each daemon is killed in turn; the other answers at once, and is level soon."""
        report = self.report
        threads = [
            threading.Thread(target=self.post, args=(n,), daemon=True) for n in range(POSTERS)]
        for thread in threads:
            thread.start()
        waits, hidden = [], []
        for turn in range(self.suite.choose(4, 30)):
            time.sleep(self.suite.chance.uniform(0.3, 1.2))
            killed, other = self.daemons[turn % 2], self.daemons[1 - turn % 2]
            killed.kill()
            began = time.monotonic()
            client = other.client()
            with self.lock:
                sample = list(self.answered)[-20:]
            for customer in sample:
                told = client.call("GET", f"/v1/customers/{customer}/entitlements/pro")
                if told["active"] is not True:
                    hidden.append((customer, str(told)))
            head = client.call("GET", "/v1/ledger/head")["position"]
            while True:
                listed = client.call("GET", "/v1/projections")["projections"]
                events = client.call("GET", "/v1/events?limit=1")["position"]
                if all(p["position"] >= head for p in listed) and events >= head:
                    break
                if time.monotonic() - began > PATIENCE:
                    break
                time.sleep(0.01)
            waits.append(time.monotonic() - began)
            client.close()
            self.start(killed)
        self.stopping.set()
        for thread in threads:
            thread.join(PATIENCE + 30)
        report.equal("whatever was answered is seen at the other at once", hidden, [])
        report.equal("nothing else was answered", self.odd, [])
        report.check(
            f"projections and events are level again within {SECONDS} s", max(waits) < SECONDS,
            waits)
        report.say("level again after " + ", ".join(f"{seconds:.2f}" for seconds in waits) + " s")
        report.check("there was something to take over", len(self.answered) > len(waits))

    def count(self):
        """What is on the record, and what was told of it."""
        report = self.report
        client = self.daemons[0].client()
        head = client.call("GET", "/v1/ledger/head")["position"]
        entries = self.daemons[0].entries()
        report.equal(
            "positions have no gap", [e["position"] for e in entries], list(range(1, head + 1)))
        bought = [e for e in entries if e["kind"] == "purchased"]
        lines = {e["stream"] for e in bought}
        report.equal("each purchase is on the record once", len(bought), len(lines))
        held = {e["position"] for e in entries}
        report.equal(
            "whatever was answered is on the record",
            [p for p in self.answered.values() if p not in held], [])
        deadline = time.monotonic() + PATIENCE
        while client.call("GET", "/v1/events?limit=1")["position"] < head \
                and time.monotonic() < deadline:
            time.sleep(0.05)
        told, after = [], 0
        while after is not None:
            page = client.call("GET", f"/v1/events?limit=500&after={after}")
            told += page["events"]
            after = page["next"]
        report.equal(
            "events are numbered without gaps", [e["number"] for e in told],
            list(range(1, len(told) + 1)))
        positions = [e["position"] for e in told]
        report.equal("each entry is told once", len(positions), len(set(positions)))
        report.equal(
            "every purchase is told", sorted(e["position"] for e in bought),
            sorted(e["position"] for e in told if e["kind"] == "purchased"))
        for name in ("subscriptions", "entitlements", "periods", "metrics"):
            result = self.daemons[0].command("projections", "verify", name)
            report.equal(f"{name} are what the record says", result.returncode, 0)
        report.equal("the chain holds", self.daemons[0].command("verify").returncode, 0)
        client.close()


def main():
    suite = Suite("several")
    ledger = several = None
    try:
        store = Store()
        ledger = store.ledger(suite.binary)
        several = Several(suite, ledger, Life(store, suite.chance, suite.now()))
        for daemon in several.daemons:
            several.start(daemon)
        several.at_once()
        several.kills()
        several.count()
    except (RuntimeError, OSError, HTTPException) as error:
        suite.report.check("the suite ran to its end", False, repr(error))
    finally:
        if several is not None:
            several.stopping.set()
            several.daemons[1].stop()
        if ledger is not None:
            if suite.report.failed:
                suite.report.say(ledger.said())
            ledger.remove()
    suite.report.finish()


if __name__ == "__main__":
    main()
