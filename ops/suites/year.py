#!/usr/bin/env python3
"""Lets customers live for a year while notifications get lost, come twice and out of order, and the
server API fails now and then; then reconciles, and every answer must be the store's own truth.

year.py BINARY [long]
"""

import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
sys.dont_write_bytecode = True

from ledger import Ledger, free_port
from simulator import Simulator
from suite import Suite

BUNDLE = "com.example.year"
APP = 1000000007
DAY = 86_400_000
# Months of a fortnight: so a year lies within what the store remembers of notifications.
MONTH_DAYS = 14
LENGTH_DAYS = 12 * MONTH_DAYS
# It is over some days ago, so that all of it is compared.
BEGAN_DAYS_AGO = LENGTH_DAYS + 3

PRODUCTS = {
    "pro.weekly": {"kind": "autoRenewable", "group": "G1", "level": 2, "plan": "P1W",
                   "entitlements": ["pro"]},
    "pro.monthly": {"kind": "autoRenewable", "group": "G1", "level": 2, "plan": "P1M",
                    "entitlements": ["pro"]},
    "plus.monthly": {"kind": "autoRenewable", "group": "G1", "level": 1, "plan": "P1M",
                     "entitlements": ["pro", "plus"]},
    "basic.quarterly": {"kind": "autoRenewable", "group": "G1", "level": 3, "plan": "P3M",
                        "entitlements": ["basic"]},
    "news.monthly": {"kind": "autoRenewable", "group": "G2", "level": 1, "plan": "P1M",
                     "entitlements": ["news"]},
    "pro.lifetime": {"kind": "nonConsumable", "entitlements": ["pro"]},
    "pass.30d": {"kind": "nonRenewing", "accessDuration": "P30D", "entitlements": ["pass"]},
    "coins.100": {"kind": "consumable"},
}

FAULTS = {
    "serverAPI": {"limited": 0.02, "failing": 0.05, "slow": 0.02, "slowMilliseconds": 200},
    "notifications": {"lost": 0.1, "doubled": 0.1, "reordered": 0.3, "reorderedBy": "P10D"},
}


class Year:
    """One year of some customers, from the first purchase to the last comparison."""

    def __init__(self, suite):
        self.suite = suite
        self.report = suite.report
        self.customers = suite.choose(20, 200)
        self.seconds = suite.choose(12, 60)
        self.began = suite.now() - BEGAN_DAYS_AGO * DAY
        self.ended = self.began + LENGTH_DAYS * DAY
        port = free_port()
        self.simulator = Simulator(
            suite.binary, self.scenario(),
            "--notify", f"http://127.0.0.1:{port}/v1/apple/notifications",
            "--start", self.instant(self.began), "--clock", "0")
        self.ledger = Ledger(suite.binary, self.configuration())
        self.ledger.write(listen=f"127.0.0.1:{port}")
        self.ledger.port = port
        self.ids = {}

    @staticmethod
    def instant(milliseconds):
        whole, rest = divmod(milliseconds, 1000)
        return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(whole)) + f".{rest:03}Z"

    def scenario(self):
        trials = {"pro.weekly": "P1W", "news.monthly": "P1M"}
        return {
            "app": {"bundleId": BUNDLE, "appAppleId": APP},
            "products": {name: {**product, **({"trial": trials[name]} if name in trials else {})}
                         for name, product in PRODUCTS.items()},
            "month": f"P{MONTH_DAYS}D", "length": "P1Y", "seed": self.report.seed,
            "customers": self.customers, "faults": FAULTS,
        }

    def configuration(self):
        names = self.simulator.names()
        return {
            "apps": [{
                "bundleId": BUNDLE, "appAppleId": APP, "environments": ["Production", "Sandbox"],
                "serverAPI": {**names, "privateKey": {"file": self.simulator.key}}}],
            "apple": {
                "rootCertificates": [self.simulator.root], "reconcileMinutes": 0,
                "endpoints": {"serverAPI": {
                    e: self.simulator.url(e) for e in ("Production", "Sandbox")}}},
            "catalog": {"products": PRODUCTS},
        }

    def run(self):
        try:
            self.ledger.start()
            self.client = self.ledger.client()
            self.live()
            self.reconcile()
            self.compare()
            self.report.equal("the daemon ends in order", self.ledger.stop(), 0)
        finally:
            self.ledger.remove()
            self.simulator.remove()

    def live(self):
        """Lets the year pass, and waits until all that was told has arrived or got lost."""
        lives = self.simulator.lives()
        for number, (customer, life) in enumerate(sorted(lives.items())):
            # Every other customer is known by the token alone.
            self.ids[customer] = life["appAccountToken"]
            if number % 2:
                path = f"/v1/customers/{customer}/tokens/{life['appAccountToken']}"
                answer = self.client.call("PUT", path)
                self.report.equal("a token is bound", answer.status, 200)
                self.ids[customer] = customer
        speed = LENGTH_DAYS * 86_400 / self.seconds
        self.simulator.call("POST", "clock", {"factor": speed})
        deadline = time.monotonic() + 20 * self.seconds
        end = self.instant(self.ended)
        while self.simulator.call("GET", "clock")["now"] < end and time.monotonic() < deadline:
            time.sleep(0.2)
        self.report.check("a year has passed and all has been told", self.simulator.settle(300))
        # The daemon has closed what was idle meanwhile.
        self.client.close()
        told = self.simulator.call("GET", "clock")["notifications"]
        self.report.check("much has happened", told > 5 * self.customers, told)
        # A family member's purchases carry no token: the app says whose they are.
        for customer, life in self.simulator.lives().items():
            for line in life["lines"]:
                if line["ownership"] == "FAMILY_SHARED":
                    self.ids[customer] = customer
                    path = (f"/v1/customers/{customer}/lines/Production/"
                            f"{line['originalTransactionId']}")
                    answer = self.client.call("PUT", path, {"from": self.instant(self.began)})
                    self.report.equal("a member's line is bound", answer.status, 200)

    def reconcile(self):
        # How much is missing before is told; how much that is, is chance's.
        self.wrong_answers(self.suite.choose(10, 20))
        for code in (3, 0):
            result = self.ledger.command("reconcile", "--app", BUNDLE, within=600)
            self.report.check(
                f"reconciling ends with {code}", result.returncode == code,
                f"{result.returncode} {result.stderr[-600:]} {result.stdout[-600:]}")

    def compare(self):
        self.client.close()
        wrong = self.wrong_answers(100)
        self.report.equal("answers that are not the store's own truth", wrong[:5], [])
        result = self.ledger.command("verify", within=600)
        self.report.equal("the ledger proves itself", result.returncode, 0)

    def wrong_answers(self, count):
        """Asks about every customer at so many random instants, and near every change."""
        wrong = []
        asked = 0
        for customer, identity in sorted(self.ids.items()):
            truth = self.simulator.call("GET", f"truth?customer={customer}")["entitlements"]
            instants = [
                self.instant(self.suite.chance.randrange(self.began - DAY, self.ended))
                for _ in range(count)]
            edges = [edge for held in truth.values() for span in held["spans"] for edge in span]
            instants += [edge for edge in edges if edge and edge < self.instant(self.ended)]
            for instant in instants:
                asked += 1
                answer = self.client.call(
                    "GET", f"/v1/customers/{identity}/entitlements?at={instant}")
                found = {n for n, e in (answer["entitlements"] or {}).items() if e["active"]}
                expected = {
                    name for name, held in truth.items()
                    if any(span[0] <= instant and (span[1] is None or instant < span[1])
                           for span in held["spans"])}
                if answer.status != 200 or found != expected:
                    wrong.append(f"{customer} at {instant}: {sorted(found)}, "
                                 f"expected {sorted(expected)}")
        self.report.say(f"year: {asked} questions, {len(wrong)} wrong answers")
        return wrong


def main():
    suite = Suite("year")
    Year(suite).run()
    suite.report.finish()


main()
