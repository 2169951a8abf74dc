#!/usr/bin/env python3
"""Kills both ends of a backfill, the daemon's and the store's, again and again.

interrupted.py BINARY [long]
"""

import collections
import os
import signal
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
sys.dont_write_bytecode = True

from ledger import Ledger
from simulator import Simulator
from suite import Suite

BUNDLE = "com.example.app"
APP = 1000000001
DAY = 86_400_000
PRODUCTS = {
    "pro.monthly": {"kind": "autoRenewable", "group": "G1", "level": 1, "plan": "P1M",
                    "entitlements": ["pro"]},
}


class Interrupted:
    """A store whose customers' histories are brought while both ends die."""

    def __init__(self, suite):
        self.suite, self.report = suite, suite.report
        began = suite.now() - 400 * DAY
        start = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(began // 1000))
        self.simulator = Simulator(
            suite.binary, {
                "app": {"bundleId": BUNDLE, "appAppleId": APP}, "products": PRODUCTS,
                # Months of three days make histories of several pages.
                "month": "P3D", "length": "P1Y", "seed": suite.report.seed,
                "customers": suite.choose(12, 100)},
            "--start", start, "--clock", "0")
        self.ledger = Ledger(suite.binary, {
            "apps": [{
                "bundleId": BUNDLE, "appAppleId": APP, "environments": ["Production", "Sandbox"],
                "serverAPI": {
                    **self.simulator.names(), "privateKey": {"file": self.simulator.key}}}],
            "apple": {
                "rootCertificates": [self.simulator.root], "reconcileMinutes": 0,
                "endpoints": {"serverAPI": {
                    e: self.simulator.url(e) for e in ("Production", "Sandbox")}}},
            "catalog": {"products": PRODUCTS}})

    def history(self):
        """Every transaction of the store, by line."""
        self.simulator.call("POST", "clock", {"by": "P1Y"})
        lines = {}
        for life in self.simulator.lives().values():
            for line in life["lines"]:
                lines[(life["environment"], line["originalTransactionId"])] = line["transactions"]
        return lines

    def play(self):
        try:
            lines = self.history()
            self.report.check("there is a history", len(lines) > 5, len(lines))
            kills = self.interrupt(sorted(original for _, original in lines))
            self.report.check("both ends were killed", min(kills.values()) > 0, kills)
            self.compare(lines)
        finally:
            self.ledger.remove()
            self.simulator.remove()

    def interrupt(self, ids):
        """Brings the histories; the store comes back with the same past each time it dies."""
        kills = {"store": 0, "backfill": 0}
        deadline = time.monotonic() + self.suite.choose(60, 300)
        wanted = self.suite.choose(4, 20)
        while time.monotonic() < deadline:
            process = self.ledger.spawn("backfill", *ids)
            if sum(kills.values()) >= wanted and min(kills.values()) > 0:
                said = process.communicate(timeout=300)
                self.report.equal(
                    f"the last backfill ends well {said[1][-300:]}", process.returncode, 0)
                return kills
            time.sleep(self.suite.chance.uniform(0.1, 1.2))
            if process.poll() is None and self.suite.chance.random() < 0.5:
                self.simulator.die()
                kills["store"] += 1
                time.sleep(self.suite.chance.uniform(0.05, 0.5))
                self.simulator.start()
                self.simulator.call("POST", "clock", {"by": "P1Y"})
                time.sleep(self.suite.chance.uniform(0.1, 0.8))
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
                kills["backfill"] += 1
            process.communicate(timeout=60)
        return kills

    def compare(self, lines):
        learnt, stated = collections.Counter(), collections.defaultdict(set)
        for entry in self.ledger.entries():
            transaction = entry["body"].get("transaction", {}).get("transactionId")
            if transaction is None:
                continue
            _, environment, original = entry["stream"].split("/")
            stated[(environment, original)].add(transaction)
            if entry["kind"] in ("purchased", "renewed", "recovered"):
                learnt[transaction] += 1
        self.report.equal(
            "no transaction is learnt twice", [t for t, n in learnt.items() if n > 1][:5], [])
        self.report.equal(
            "no transaction is lost", {line: len(ids) for line, ids in stated.items()}, lines)
        self.report.equal("verify says no faults", self.ledger.command("verify").returncode, 0)


def main():
    suite = Suite("interrupted")
    Interrupted(suite).play()
    suite.report.finish()


main()
