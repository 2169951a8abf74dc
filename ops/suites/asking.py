#!/usr/bin/env python3
"""Asks a stand-in for Apple: histories that are killed on their way, and what notifications missed.

asking.py BINARY [long]
"""

import collections
import json
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
sys.dont_write_bytecode = True

from apple import PAGE, Apple, new_key
from ledger import CATALOG, Ledger, resident_kib
from signer import BUNDLE, Life, Store
from suite import Suite

HOUR = 3_600_000
ALLOWED_KIB = 300 * 1024


class Asking:
    """One ledger, and Apple's servers for its one app."""

    def __init__(self, suite):
        self.suite, self.report = suite, suite.report
        self.store = Store()
        self.life = Life(self.store, suite.chance, suite.now())
        key, text = new_key()
        self.apple = Apple(self.store, key, BUNDLE)
        self.sandbox = Apple(self.store, key, BUNDLE, "Sandbox")
        self.ledger = Ledger(suite.binary, {})
        self.store.write_root(self.ledger.directory)
        with open(os.path.join(self.ledger.directory, "AuthKey.p8"), "wb") as file:
            file.write(text)
        self.ledger.write(
            apps=[{
                "bundleId": BUNDLE, "appAppleId": self.life.app,
                "environments": ["Production", "Sandbox"],
                "serverAPI": {
                    "issuerId": "issuer", "keyId": "SUITE", "privateKey": {"file": "AuthKey.p8"}},
            }],
            apple={
                "rootCertificates": ["root.der"],
                "endpoints": {"serverAPI": {
                    "Production": self.apple.address, "Sandbox": self.sandbox.address}}},
            catalog=CATALOG)

    def run(self, *words, code=0):
        result = self.ledger.command(*words)
        self.report.equal(
            f"{' '.join(words[:2])} ends with {code} {result.stderr[-300:]}",
            result.returncode, code)
        return json.loads(result.stdout) if "--json" in words and result.stdout else {}

    def killed(self):
        """A long history, brought by a process that is killed again and again."""
        pages = self.suite.choose(60, 1_300)
        first = self.life.transaction()
        payloads = [first] + [self.life.transaction() for _ in range(pages * PAGE - 1)]
        name = first["transactionId"]
        self.apple.histories[name] = payloads
        kills, most = 0, 0
        for _ in range(self.suite.choose(6, 25)):
            process = self.ledger.spawn("backfill", name)
            asked = len(self.apple.revisions())
            wanted = asked + self.suite.chance.randrange(1, max(2, pages // 8))
            while process.poll() is None and len(self.apple.revisions()) < wanted:
                most = max(most, self._resident(process.pid))
                time.sleep(0.002)
            time.sleep(self.suite.chance.random() * 0.02)
            if process.poll() is None:
                process.kill()
                kills += 1
            process.communicate()
        found = self.run("backfill", name, "--json")
        self.report.check("a history was killed on its way", kills > 0, kills)
        asked = collections.Counter(self.apple.revisions())
        self.report.check(
            "at most one page is repeated for each kill",
            len(self.apple.revisions()) - len(asked) <= kills, (asked.most_common(3), kills))
        self.report.equal("all pages were asked for", len(asked), pages)
        self.report.check("memory stays bounded", most < ALLOWED_KIB, most)
        self.report.equal("nothing of it is unknown", found.get("unknown"), [])
        lines = collections.Counter(
            entry["stream"] for entry in self.ledger.entries()
            if entry["kind"] not in ("settingsChanged", "catalogChanged"))
        self.report.equal("nothing is lost", len(lines), len(payloads))
        self.report.equal("nothing is there twice", set(lines.values()), {1})
        again = self.run("backfill", name, "--json")
        self.report.equal("a second run finds nothing new", again["transactions"], 0)

    @staticmethod
    def _resident(process):
        try:
            return resident_kib(process)
        except OSError:
            return 0

    def tested(self):
        """A purchase that Sandbox alone knows."""
        payload = self.life.transaction(environment="Sandbox")
        name = payload["transactionId"]
        self.sandbox.histories[name] = [payload]
        self.run("backfill", name)
        client = self.ledger.start().client()
        line = client.call("GET", f"/v1/lines/Sandbox/{name}")
        self.report.equal("a test's purchase is in Sandbox", line["state"], "active")
        line = client.call("GET", f"/v1/lines/Production/{name}")
        self.report.equal("and not in Production", line.status, 404)
        self.run("backfill", "404404", code=1)

    def missed(self):
        """Notifications that never arrived, and a line whose end nobody told."""
        client = self.ledger.client()
        now = self.suite.now()
        told = [self.life.notification(self.life.transaction(
            signedDate=now - 2 * HOUR)) for _ in range(5)]
        self.apple.notifications = [(now - 2 * HOUR, text) for _, text in told]
        for _, text in told[:2]:
            client.call("POST", "/v1/apple/notifications", {"signedPayload": text}, key=None)
        ended = self.life.transaction(
            purchaseDate=now - 40 * 24 * HOUR, expiresDate=now - 10 * 24 * HOUR,
            signedDate=now - 40 * 24 * HOUR)
        name = ended["originalTransactionId"]
        client.call(
            "POST", "/v1/apple/transactions", {"signedTransactions": [self.store.sign(ended)]})
        self.apple.statuses[name] = {
            "environment": "Production", "bundleId": BUNDLE,
            "data": [{"subscriptionGroupIdentifier": "G1", "lastTransactions": [{
                "status": 2, "originalTransactionId": name,
                "signedTransactionInfo": self.store.sign(ended),
                "signedRenewalInfo": self.store.sign(self.life.renewal(
                    ended, autoRenewStatus=0, expirationIntent=1, signedDate=now)),
            }]}]}
        found = self.run("reconcile", "--json", code=3)
        missing = collections.Counter(item["what"] for item in found["missing"])
        self.report.equal(
            "what was missing is listed", missing, {"notification": 3, "overdue": 1})
        held = [day for place in found["places"] for day in place["days"] if day["sent"]]
        self.report.equal("so is what was held", [day["held"] for day in held], [2])
        line = client.call("GET", f"/v1/lines/Production/{name}")
        self.report.equal("an end is known", (line["state"], line["willRenew"]), ("expired", False))
        again = self.run("reconcile", "--json")
        self.report.equal("and nothing is missing any more", again["missingCount"], 0)
        answer = client.call(
            "POST", "/v1/apple/notifications", {"signedPayload": told[4][1]}, key=None)
        self.report.check("what comes late is a repeat", answer["duplicate"], answer)

    def refused(self):
        """Servers that are silent or refuse, a key that is none."""
        self.apple.silence.set()
        process = self.ledger.spawn("reconcile")
        asked = len(self.apple.calls)
        while len(self.apple.calls) == asked and process.poll() is None:
            time.sleep(0.01)
        process.send_signal(2)
        try:
            process.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
        self.report.equal("a command ends when it is told to", process.returncode, 130)
        self.report.equal("and the daemon serves on", self.ledger.client().call(
            "GET", "/readyz", key=None).status, 200)
        self.apple.silence.clear()
        other, text = new_key()
        path = os.path.join(self.ledger.directory, "AuthKey.p8")
        with open(path, "wb") as file:
            file.write(text)
        result = self.ledger.command("backfill", "404404")
        self.report.equal("a wrong key fails", result.returncode, 1)
        self.report.contains("by its code", result.stderr, "SL070")
        with open(path, "w", encoding="utf-8") as file:
            file.write("not a key")
        result = self.ledger.command("reconcile")
        self.report.equal("what is no key is a wrong configuration", result.returncode, 2)
        self.report.contains("by its code", result.stderr, "SL079")
        self.report.check("and is not told", "not a key" not in result.stderr, result.stderr)
        result = self.ledger.command("doctor")
        self.report.contains("doctor knows", result.stdout, "SL079")
        began = time.monotonic()
        self.report.equal("the daemon ends well", self.ledger.stop(), 0)
        self.report.check("and soon", time.monotonic() - began < 15)

    def play(self):
        try:
            self.killed()
            self.tested()
            self.missed()
            self.refused()
            self.run("verify")
        finally:
            self.ledger.remove()
            self.apple.end()
            self.sandbox.end()


suite = Suite("asking")
Asking(suite).play()
suite.report.finish()
