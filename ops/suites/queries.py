#!/usr/bin/env python3
"""Runs every ready query and the notebook of ops/queries as an analyst, over a year of monthly
subscriptions, and works their numbers out again beside them.

queries.py BINARY [long]
"""

import csv
import datetime
import json
import os
import subprocess
import sys
import time
from http.client import HTTPException

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
sys.dont_write_bytecode = True

from signer import Life, Store
from suite import Suite

PRICE = 9990


def month(number):
    """Milliseconds of the beginning of a month of 2025, from 0."""
    year, place = divmod(number, 12)
    start = datetime.datetime(2025 + year, place + 1, 1, tzinfo=datetime.timezone.utc)
    return int(start.timestamp() * 1000)


class Queries:
    def __init__(self, suite):
        self.suite = suite
        self.report = suite.report
        self.store = Store()
        self.life = Life(self.store, suite.chance, month(0))
        self.ledger = self.store.ledger(suite.binary)
        self.folder = os.path.join(suite.root, "ops/queries")
        # Of each line: its first month and how many it paid for.
        self.lives = []

    def fill(self):
        """Lines that begin with a month and are paid for month by month."""
        rows = []
        for _ in range(self.suite.choose(150, 5_000)):
            first = self.suite.chance.randrange(12)
            count = self.suite.chance.randrange(1, 13 - first)
            self.lives.append((first, count))
            start = self.life.transaction()
            for place in range(count):
                at = month(first + place)
                transaction = {
                    **start, "transactionId": f"{start['transactionId']}{place:02}",
                    "webOrderLineItemId": f"{start['transactionId']}{place:02}",
                    "originalPurchaseDate": month(first), "purchaseDate": at,
                    "expiresDate": month(first + place + 1), "signedDate": at + 1000,
                    "price": PRICE, "currency": "USD"}
                rows.append(json.dumps({"signedTransaction": self.store.sign(transaction)}) + "\n")
        self.ledger.start()
        result = self.ledger.command("import", "transactions", "-", stdin="".join(rows), within=600)
        self.report.equal("the import ends well", result.returncode, 0)
        client = self.ledger.client()
        deadline = time.monotonic() + 120
        while any(p["lag"] for p in client.call("GET", "/v1/projections")["projections"]):
            if time.monotonic() > deadline:
                self.report.check("projections come level", False)
                break
            time.sleep(0.1)
        client.close()

    def environment(self):
        """How libpq gets there as an analyst."""
        for found, _, files in os.walk(os.path.join(self.ledger.directory, "data/cluster")):
            if any(n.startswith(".s.PGSQL") and not n.endswith("lock") for n in files):
                return {
                    **os.environ, "PGHOST": found, "PGUSER": "postgres", "PGDATABASE": "postgres",
                    "PGOPTIONS": "-c role=subledger_analyst -c timezone=UTC"}
        raise RuntimeError("the cluster has no socket")

    def psql(self, sql):
        return subprocess.run(
            ["psql", "-X", "--csv", "-v", "ON_ERROR_STOP=1", "-c", sql], capture_output=True,
            text=True, check=False, env=self.environment())

    # What they must say.

    def paying(self, number):
        """How many lines are paid for when a month begins."""
        return sum(1 for first, count in self.lives if first <= number < first + count)

    def queries(self):
        report = self.report
        with open(os.path.join(self.folder, "queries.sql"), encoding="utf-8") as file:
            statements = [part.strip() for part in file.read().split(";\n") if "select" in part]
        report.check("there are ready queries", len(statements) >= 8, len(statements))
        answers = {}
        for statement in statements:
            title = [line for line in statement.splitlines() if line.startswith("--")][-1][3:]
            result = self.psql(statement)
            report.check(f"query runs: {title}", result.returncode == 0, result.stderr)
            answers[title] = list(csv.DictReader(result.stdout.splitlines()))
        mrr = answers["Monthly recurring revenue as each day ends."]
        wanted = []
        for number in range(365):
            day = datetime.date(2025, 1, 1) + datetime.timedelta(days=number)
            ends = day + datetime.timedelta(days=1)
            count = self.paying((ends.year - 2025) * 12 + ends.month - 1)
            wanted += [(str(day), PRICE * count)] if count else []
        report.equal(
            "each day ends with its recurring revenue",
            [(row["day"], round(float(row["mrr"]) * 1000)) for row in mrr], wanted)
        money = answers["Money of each month, on the day it moved."]
        report.equal(
            "each month has its money", [int(row["gross"]) for row in money],
            [PRICE * self.paying(n) for n in range(12) if self.paying(n)])
        churned = answers["Churn of each month."]
        wanted = []
        for number in range(12):
            base = self.paying(number)
            lost = sum(1 for first, count in self.lives
                       if first <= number and first + count == number + 1)
            wanted += [f"{lost / base:.6f}"] if base else []
        report.equal("each month has its churn", [f"{float(r['churn_rate']):.6f}" for r in churned],
                     wanted)
        refused = self.psql("select 1 from ledger.entry limit 1")
        report.check("an analyst may read nothing else", refused.returncode != 0, refused.stdout)

    def notebook(self):
        report = self.report
        place = os.path.join(self.ledger.directory, "venv")
        for words in ([sys.executable, "-m", "venv", place],
                      [os.path.join(place, "bin/pip"), "-q", "install", "pandas", "matplotlib"]):
            if subprocess.run(words, stdout=subprocess.DEVNULL, check=False).returncode != 0:
                report.say("!! PyPI's pandas cannot be installed: THE NOTEBOOK WAS NOT RUN")
                return
        charts = os.path.join(self.ledger.directory, "charts")
        result = subprocess.run(
            [os.path.join(place, "bin/python"), os.path.join(self.folder, "notebook.py"),
             "2025-01", "2025-12", charts], capture_output=True, text=True, check=False,
            env={**self.environment(), "MPLCONFIGDIR": self.ledger.directory})
        report.equal(f"the notebook ends well {result.stderr[-600:]}", result.returncode, 0)
        for name in ("mrr", "churn", "retention"):
            path = os.path.join(charts, name + ".png")
            is_drawn = os.path.exists(path) and open(path, "rb").read(8) == b"\x89PNG\r\n\x1a\n"
            report.check(f"{name} is drawn", is_drawn)
        with open(os.path.join(charts, "retention.csv"), encoding="utf-8") as file:
            rows = {int(row["number"]): row for row in csv.DictReader(file)}
        wrong = []
        for first in {first for first, _ in self.lives}:
            cohort = [count for begun, count in self.lives if begun == first]
            for number in range(1, 13 - first):
                kept = sum(1 for count in cohort if count >= number) / len(cohort)
                said = rows.get(number, {}).get(f"2025-{first + 1:02}") or 0
                if abs(float(said) - kept) > 1e-9:
                    wrong.append((first, number, said, kept))
        report.equal("retention is what was lived", wrong[:3], [])


def main():
    suite = Suite("queries")
    queries = None
    try:
        queries = Queries(suite)
        queries.fill()
        queries.queries()
        queries.notebook()
        suite.report.equal("the daemon ends in order", queries.ledger.stop(), 0)
    except (RuntimeError, OSError, HTTPException) as error:
        suite.report.check("the suite ran to its end", False, repr(error))
    finally:
        if queries is not None:
            if suite.report.failed:
                suite.report.say(queries.ledger.said())
            queries.ledger.remove()
    suite.report.finish()


if __name__ == "__main__":
    main()
