#!/usr/bin/env python3
"""Exchange rates, metrics and exports as an analyst meets them, worked out again beside them.

analyst.py BINARY [long]
"""

import csv
import datetime
import hashlib
import io
import json
import os
import sys
import time
from collections import defaultdict
from fractions import Fraction
from http.client import HTTPException

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
sys.dont_write_bytecode = True

from signer import Life, Store
from suite import Suite

DAY = 86_400_000
START = 1_735_689_600_000  # 1 January 2025
CURRENCIES = ["USD", "GBP", "JPY", "PLN", "EUR"]


def date(milliseconds):
    return datetime.datetime.fromtimestamp(milliseconds // 1000, datetime.timezone.utc).date()


def half_even(value):
    return round(value)


class Numbers:
    def __init__(self, suite):
        self.suite = suite
        self.report = suite.report
        self.chance = suite.chance
        self.store = Store()
        self.life = Life(self.store, suite.chance, START)
        self.ledger = self.store.ledger(suite.binary)
        self.bought = []
        self.rates = {}

    def run(self, *words, code=0, **options):
        result = self.ledger.command(*words, **options)
        self.report.check(
            f"`{' '.join(words[:4])}` ends with {code}", result.returncode == code,
            f"{result.returncode}: {result.stdout[-300:]} {result.stderr[-300:]}")
        return result

    def file(self, name, text):
        path = os.path.join(self.ledger.directory, name)
        with open(path, "w", encoding="utf-8", newline="") as file:
            file.write(text)
        return path

    # What is put in.

    def transactions(self):
        """A year of purchases in several currencies, some of them given back in part."""
        lines = []
        for _ in range(20_000 if self.suite.is_long else 1_500):
            at = START + self.chance.randrange(365 * DAY)
            changes = dict(
                purchaseDate=at, originalPurchaseDate=at, expiresDate=at + 30 * DAY,
                signedDate=at + 1000, price=self.chance.randrange(1, 200_000),
                currency=self.chance.choice(CURRENCIES))
            if self.chance.random() < 0.1:
                changes.update(
                    revocationDate=at + 5 * DAY, signedDate=at + 6 * DAY,
                    revocationType="REFUND_PRORATED",
                    revocationPercentage=self.chance.randrange(1, 100_001))
            payload = self.life.transaction(**changes)
            self.bought.append(payload)
            lines.append(json.dumps({"signedTransaction": self.store.sign(payload)}) + "\n")
        self.run("import", "transactions", self.file("bought.jsonl", "".join(lines)))

    def table(self):
        """A table of rates as the bank publishes it: working days, the newest first."""
        names = [name for name in CURRENCIES if name != "EUR"] + ["CYP"]
        lines = []
        for number in range(-10, 366):
            day = date(START + number * DAY)
            if day.weekday() >= 5:
                continue
            values = {
                name: f"{self.chance.uniform(0.5, 200):.{self.chance.choice([2, 4, 5])}f}"
                for name in names if name != "CYP"}
            self.rates[day] = {name: Fraction(value) for name, value in values.items()}
            cells = [values.get(name, "N/A") for name in names]
            lines.append(f"{day},{','.join(cells)},\n")
        return f"Date,{','.join(names)},\n" + "".join(reversed(lines))

    def import_rates(self):
        path = self.file("eurofxref-hist.csv", self.table())
        first = json.loads(self.run("import", "rates", path, "--json").stdout)
        self.report.equal(
            "every day is recorded", first,
            {"appended": len(self.rates), "known": 0, "corrected": 0})
        again = json.loads(self.run("import", "rates", path, "--json").stdout)
        self.report.equal(
            "again, none is", again, {"appended": 0, "known": len(self.rates), "corrected": 0})
        day = date(START + 30 * DAY)
        while day not in self.rates:
            day += datetime.timedelta(days=1)
        self.rates[day]["USD"] = Fraction("1.5")
        words = f"{day.day} {day.strftime('%B %Y')}"
        daily = f"Date, USD, \n{words}, 1.5000, \n"
        fixed = json.loads(self.run("import", "rates", "-", "--json", stdin=daily).stdout)
        self.report.equal(
            "a correction is one entry", fixed, {"appended": 1, "known": 0, "corrected": 1})
        self.run("import", "rates", self.file("bad.csv", "Date,USD,\nyesterday,1,\n"), code=1)

    # What must come out.

    def rate(self, currency, milliseconds):
        if currency == "EUR":
            return Fraction(1)
        day = date(milliseconds)
        while day not in self.rates:
            day -= datetime.timedelta(days=1)
        return self.rates[day][currency]

    def converted(self, payload, amount, currency):
        at = payload["purchaseDate"]
        if payload["currency"] == currency:
            return Fraction(amount)
        return Fraction(amount) * self.rate(currency, at) / self.rate(payload["currency"], at)

    def revenue(self, currency):
        """Gross and refunded by month of the year, rounded once."""
        found = defaultdict(lambda: [Fraction(0), Fraction(0)])
        for payload in self.bought:
            month = str(date(payload["purchaseDate"]))[:7]
            found[month][0] += self.converted(payload, payload["price"], currency)
            if "revocationDate" in payload:
                back = Fraction(payload["price"] * payload["revocationPercentage"], 100_000)
                month = str(date(payload["revocationDate"]))[:7]
                found[month][1] += self.converted(payload, back, currency)
        return {month: (half_even(gross), half_even(back), half_even(gross - back))
                for month, (gross, back) in found.items() if month < "2026"}

    def metrics(self):
        words = ["metrics", "revenue", "--from", "2025-01-01", "--to", "2026-01-01",
                 "--by", "month", "--currency"]
        for currency in CURRENCIES:
            rows = [json.loads(line) for line in self.run(
                *words, currency, "--format", "ndjson").stdout.splitlines()]
            found = {row["key"]["month"]: (row["gross"], row["refunded"], row["net"])
                     for row in rows}
            self.report.equal(f"every month's money in {currency}", found, self.revenue(currency))
        table = self.run(*words, "USD").stdout
        self.report.check("a table has a head and twelve months", len(table.splitlines()) == 14, table)
        self.report.check("and no bars where nobody looks", "█" not in table, table[:200])
        rows = list(csv.DictReader(io.StringIO(self.run(*words, "USD", "--format", "csv").stdout)))
        self.report.equal(
            "CSV says the same", {row["month"]: int(row["net"]) for row in rows},
            {month: net for month, (_, _, net) in self.revenue("USD").items()})
        whole = json.loads(self.run(*words, "GBP", "--json").stdout)
        self.report.check(
            "an answer names the rates' position",
            0 < whole["completeness"]["ratesPosition"] <= whole["position"], whole["completeness"])
        moved = json.loads(self.run(
            "metrics", "mrr_movement", "--from", "2025-03-01", "--to", "2025-09-01", "--by", "month",
            "--currency", "JPY", "--json").stdout)
        identities = moved["completeness"]["identities"]
        self.report.check(
            "movements are the difference of mrr, exactly",
            len(identities) == 6 and all(identity["holds"] for identity in identities), identities)
        missing = self.run(*words, "CHF", code=1)
        self.report.contains("a missing rate is named", missing.stderr, "SL140")
        self.report.contains("by its currency", missing.stderr, "CHF")
        for wrong in (["metrics", "revenu"], ["metrics", "mrr", "--from", "2025-01-01"],
                      ["metrics", "mrr", "--by", "shoe"], ["export", "people"],
                      ["export", "periods", "--format", "xml"]):
            self.run(*wrong, code=2)

    def later(self):
        """A month as it was known is told in the same bytes after many refunds of its purchases."""
        client = self.ledger.client()
        window = "?from=2025-06-01&to=2025-07-01"
        questions = [name + window for name in (
            "revenue", "mrr_movement", "refund_rate", "refunds_happened", "churned", "new_paid",
            "arpu", "realised_ltv")]
        questions += [f"revenue{window}&basis=restated"]
        questions += [f"{name}?at=2025-06-15" for name in ("mrr", "active_paid", "active_customers")]

        def told(suffix=""):
            found = {}
            for question in questions:
                answer = client.call("GET", f"/v1/metrics/{question}{suffix}")
                self.report.check(f"{question} is answered", answer.status == 200, answer)
                found[question] = answer.body
            return found

        position = client.call("GET", f"/v1/metrics/{questions[0]}")["position"]
        known = f"&asKnownPosition={position}"
        before = told(known)
        count = self.suite.choose(300, 10_000)
        kept = [payload for payload in self.bought if "revocationDate" not in payload]
        lines = []
        for payload in kept[:count]:
            at = payload["purchaseDate"]
            payload.update(
                revocationDate=at + 9 * DAY, signedDate=at + 10 * DAY,
                revocationType="REFUND_FULL", revocationPercentage=100_000)
            lines.append(json.dumps({"signedTransaction": self.store.sign(payload)}) + "\n")
        self.run("import", "transactions", self.file("refunds.jsonl", "".join(lines)))
        self.report.equal(f"{len(lines)} refunds later, the same bytes", told(known), before)
        self.level(client)
        self.report.equal("and once rows were made of them", told(known), before)
        now = client.call("GET", f"/v1/metrics/{questions[0]}")
        self.report.check("what is known now differs", now.body != before[questions[0]], now)

    def level(self, client):
        """Waits until no projection is behind the record."""
        deadline = time.monotonic() + self.suite.choose(60, 600)
        while time.monotonic() < deadline:
            listed = client.call("GET", "/v1/projections")["projections"]
            if all(one["lag"] == 0 for one in listed):
                return
            time.sleep(0.2)
        self.report.check("projections get level", False, listed)

    def digests(self, folder):
        with open(os.path.join(folder, "manifest.json"), encoding="utf-8") as file:
            manifest = json.load(file)
        for part in manifest["files"]:
            with open(os.path.join(folder, part["name"]), "rb") as file:
                found = hashlib.sha256(file.read()).hexdigest()
            self.report.equal(f"the digest of {part['name']}", found, part["sha256"])
        return manifest

    def parquet(self, table, folder, manifest):
        """What another program reads from Parquet is what JSON lines say."""
        paths = [os.path.join(folder, part["name"]) for part in manifest["files"]]
        for path in paths:
            with open(path, "rb") as file:
                content = file.read()
            self.report.check(
                "a Parquet file begins and ends as one",
                content[:4] == content[-4:] == b"PAR1", content[:8])
        try:
            import pyarrow.parquet
        except ImportError:
            self.report.say("pyarrow is not installed: Parquet files were not read")
            return
        rows = []
        for path in paths:
            for row in pyarrow.parquet.read_table(path).to_pylist():
                rows.append({
                    name: value.strftime("%Y-%m-%dT%H:%M:%S.") + f"{value.microsecond // 1000:03}Z"
                    if isinstance(value, datetime.datetime) else value
                    for name, value in row.items()})
        expected = [json.loads(line) for line in self.run(
            "export", table, "--format", "ndjson").stdout.splitlines()]
        self.report.equal("Parquet has as many rows", len(rows), len(expected))
        self.report.equal(
            "each of which is the same", [pair for pair in zip(rows, expected) if pair[0] != pair[1]][:1],
            [])

    def exports(self):
        """Exports that are killed and run again are those that were left alone."""
        for table, form in [
                ("periods", "csv"), ("movements", "ndjson"), ("entries", "ndjson"),
                ("periods", "parquet")]:
            whole, broken = (os.path.join(self.ledger.directory, f"{table}-{form}-{kind}")
                             for kind in ("whole", "broken"))
            words = ["export", table, "--format", form, "--rows-per-file", "60"]
            self.run(*words, "--output", whole)
            manifest = self.digests(whole)
            kills = 0
            for _ in range(12):
                process = self.ledger.spawn(*words, "--output", broken)
                deadline = time.monotonic() + 0.2 + self.chance.random() * 0.6
                while process.poll() is None and time.monotonic() < deadline:
                    time.sleep(0.01)
                if process.poll() is None:
                    process.kill()
                    kills += 1
                process.communicate()
                if process.returncode == 0:
                    break
            self.run(*words, "--output", broken)
            self.report.equal(f"{table}: the same after {kills} kills", self.digests(broken), manifest)
            if form == "parquet":
                self.parquet(table, whole, manifest)
                continue
            out = self.run("export", table, "--format", form).stdout
            rows = len(out.splitlines()) - (1 if form == "csv" else 0)
            self.report.equal(f"{table}: as many rows to standard output", rows, manifest["rows"])
        money = [json.loads(line) for line in self.run(
            "export", "movements", "--format", "ndjson").stdout.splitlines()]
        found = defaultdict(int)
        for row in money:
            found[row["currency"], row["kind"]] += row["amount_milliunits"]
        expected = defaultdict(int)
        for payload in self.bought:
            expected[payload["currency"], "purchase"] += payload["price"]
            if "revocationDate" in payload:
                expected[payload["currency"], "refund"] -= half_even(
                    Fraction(payload["price"] * payload["revocationPercentage"], 100_000))
        self.report.equal("movements add up to what was bought and given back", found, expected)


def main():
    suite = Suite("analyst")
    numbers = Numbers(suite)
    try:
        numbers.ledger.start()
        for part in (
                numbers.transactions, numbers.import_rates, numbers.metrics, numbers.exports,
                numbers.later):
            part()
    except (RuntimeError, OSError, HTTPException, LookupError, ValueError) as error:
        suite.report.check("the suite ran to its end", False, repr(error))
    finally:
        if suite.report.failed:
            suite.report.say(numbers.ledger.said())
        numbers.ledger.remove()
    suite.report.finish()


main()
