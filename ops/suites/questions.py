#!/usr/bin/env python3
"""Asks every route of the program's own description with values that are good, odd and hostile:
each answer must be whole, clear and soon, and no question may write.

questions.py BINARY [long]
"""

import os
import sys
import time
from http.client import HTTPException
from urllib.parse import quote

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
sys.dont_write_bytecode = True

from ledger import resident_kib
from signer import BUNDLE, Life, Store
from suite import Suite

GROWTH_KIB = 48 * 1024
SLOWEST = 12  # seconds; `atLeast` and `wait` may wait for ten

ODD = [
    "", " ", "0", "-1", "00", "1e3", "1.5", "٣", "NaN", "null", "undefined", "true", "[]", "{}",
    "9223372036854775807", "9223372036854775808", "-9223372036854775809", "1" * 400,
    "'", "\"", "';select 1;--", "%", "%00", "\x00", "\x7f", "\n", "a\r\nb: c", "../../etc/passwd",
    "é", "e\u0301", "\u202e", "\ud7ff", "😀", "\ufeff", "a" * 101, "a" * 4_000, "a,b", ",", "a;b",
    "2025-01-01", "2025-02-30", "2025-06-01T00:00:00Z", "2025-06-01T00:00:00.000Z",
    "2025-06-01T24:00:00Z", "2025-06-01T00:00:00+02:00", "9999-12-31T23:59:59.999Z",
    "0000-01-01T00:00:00Z", "10000-01-01", "1970-01-01T00:00:00Z", "-0001-01-01",
]
GOOD = {
    "environment": ["Production", "Sandbox", "Xcode", "LocalTesting"],
    "limit": ["1", "2", "1000"], "after": ["0", "1", "3"], "wait": ["0"],
    "asKnownPosition": ["0", "1", "5"], "atLeast": ["0", "1"], "app": [BUNDLE],
    "kind": ["purchased", "expired"], "reason": ["wrong_app"],
    "by": ["product", "month", "day,product", "currency", "plan,week"],
    "zone": ["UTC", "Europe/Berlin"],
    "basis": ["as_transacted", "restated"], "profile": ["calendar", "revenuecat"],
    "from": ["2025-01-01"], "to": ["2025-03-01"], "at": ["2025-02-01"],
    "name": ["mrr", "churned", "revenue", "mrr_movement", "pro", "subscriptions"],
}


class Questions:
    """The routes, the values, and what was answered."""

    def __init__(self, suite, ledger, customers, lines):
        self.suite = suite
        self.report = suite.report
        self.chance = suite.chance
        self.ledger = ledger
        self.client = ledger.client(timeout=60)
        self.known = {
            **GOOD, "customer": customers, "id": lines, "line": [f"Production/{lines[0]}", lines[0]]}
        self.routes = self.client.call("GET", "/openapi.json")["paths"]
        self.slowest = (0, "")
        self.statuses = {}

    def value(self, name):
        good = self.known.get(name)
        if good and self.chance.random() < 0.7:
            return self.chance.choice(good)
        if self.chance.random() < 0.2:
            return "".join(chr(self.chance.randrange(1, 0x2FF)) for _ in range(9))
        return self.chance.choice(ODD)

    def path(self, template, parameters):
        """A path with values in its places and some of its parameters, now and then one twice."""
        parts = template
        for parameter in parameters:
            if parameter["in"] == "path":
                value = quote(self.value(parameter["name"]), safe="")
                parts = parts.replace("{%s}" % parameter["name"], value or "%20")
        query = []
        for parameter in parameters:
            while parameter["in"] == "query" and self.chance.random() < 0.3:
                query.append(f"{parameter['name']}={quote(self.value(parameter['name']))}")
        if self.chance.random() < 0.05:
            query.append(f"{quote(self.chance.choice(ODD)[:100])}=1")
        return parts + ("?" + "&".join(query) if query else "")

    def ask(self, method, path, body=None, headers=None):
        begun = time.monotonic()
        answer = self.client.call(method, path, body, headers=headers)
        seconds = time.monotonic() - begun
        if seconds > self.slowest[0]:
            self.slowest = (seconds, path[:200])
        self.statuses[answer.status] = self.statuses.get(answer.status, 0) + 1
        return answer

    def judge(self, what, answer):
        """Whether an answer is whole and clear."""
        if answer.status < 400:
            if "json" in answer.headers.get("Content-Type", ""):
                self.report.check(f"{what}: JSON that can be read", answer.json is not None)
            return
        problem = answer.json if isinstance(answer.json, dict) else {}
        clear = (
            answer.headers.get("Content-Type") == "application/problem+json"
            and problem.get("status") == answer.status and problem.get("code", "")[:2] == "SL"
            and problem.get("detail") and "retryable" in problem)
        self.report.check(f"{what}: a refusal that says what is wrong", clear, answer)
        allowed = answer.status < 500 or (answer.status == 503 and problem.get("retryable"))
        self.report.check(f"{what}: no fault of the daemon's", allowed, answer)

    def wait(self):
        """Until every entry was told as an event."""
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            head = self.ask("GET", "/v1/ledger/head")["position"]
            if self.ask("GET", "/v1/events?limit=1")["position"] >= head:
                return
            time.sleep(0.02)

    def read(self, count):
        """Many questions to what only reads."""
        reads = [
            (template, route["get"].get("parameters", []))
            for template, route in self.routes.items() if "get" in route]
        self.report.check("the description has routes", len(reads) > 15, reads)
        for _ in range(count):
            template, parameters = self.chance.choice(reads)
            path = self.path(template, parameters)
            headers = self.chance.choice([{}, {"Accept": "text/csv"}, {"If-None-Match": "\"x\""}])
            self.judge(f"GET {path[:300]}", self.ask("GET", path, headers=headers))

    def lists(self):
        """Every list has a cursor and a position, and takes limits."""
        customer = self.known["customer"][0]
        for path, items in (
                ("/v1/entries", "entries"), ("/v1/events", "events"),
                (f"/v1/customers/{customer}/lines", "lines"),
                (f"/v1/customers/{customer}/timeline", "timeline"),
                ("/v1/quarantine", "quarantine"), ("/v1/projections", "projections"),
                ("/v1/webhooks", "webhooks"), ("/v1/metrics", "metrics")):
            fixed = "at=2026-01-01&" if "customers" in path else ""
            whole = self.ask("GET", f"{path}?{fixed}")
            for member in (items, "next", "position"):
                self.report.check(f"{path} answers {member}", member in whole.json, whole)
            found, after = [], None
            for _ in range(len(whole[items] or []) + 2):
                page = self.ask(
                    "GET", f"{path}?{fixed}limit=1" + (f"&after={after}" if after else ""))
                found += page[items] or []
                after = page["next"]
                if after is None:
                    break
            self.report.equal(f"{path} page by page is the whole", found, whole[items])
            for limit in ("0", "-1", "1001", "x", ""):
                refused = self.ask("GET", f"{path}?limit={limit}")
                self.report.equal(f"{path}?limit={limit} is refused", refused.status, 400)

    def write(self, count):
        """Bodies of the wrong shape to what writes: nothing is changed by any of them."""
        writes = [
            (method, template, route[method].get("parameters", []))
            for template, route in self.routes.items() for method in ("post", "put")
            if method in route and "requestBody" in route[method]
            and not any(taken in template for taken in ("apple", "tokens", "lines"))]
        bodies = [
            b"", b"{", b"null", b"[]", b"0", b"\"\"", b"{}x", b"\xff", b"[" * 3_000, b"{\"a\":}",
            b"{\"products\":1}", b"{\"customers\":1}", b"{\"customers\":[1]}", b"{\"into\":1}",
            b"{\"entitlement\":\"\"}", b"{\"entitlement\":1,\"reason\":2}", b"{\"from\":true}",
            b"{\"webhook\":[],\"from\":-1}", b"{\"products\":{\"a\":{\"kind\":\"odd\"}}}",
            b"{\"into\":\"" + b"a" * 200 + b"\"}", b"{\"at\":\"yesterday\",\"into\":\"u\"}"]
        for _ in range(count):
            method, template, parameters = self.chance.choice(writes)
            path = self.path(template, parameters)
            body = self.chance.choice(bodies)
            self.judge(
                f"{method.upper()} {path[:300]} {body[:60]!r}",
                self.ask(method.upper(), path, body))


def main():
    suite = Suite("questions")
    report = suite.report
    ledger = None
    try:
        store = Store()
        ledger = store.ledger(suite.binary)
        ledger.start()
        life = Life(store, suite.chance, suite.now())
        client = ledger.client()
        customers, lines = [], []
        for number in range(8):
            transaction = life.transaction()
            customers.append(f"u_{number}")
            lines.append(transaction["originalTransactionId"])
            client.call("POST", "/v1/apple/transactions", {
                "signedTransactions": [store.sign(transaction)], "customer": customers[-1]})
        questions = Questions(suite, ledger, customers, lines)
        questions.wait()
        questions.lists()
        head = client.call("GET", "/v1/ledger/head")["position"]
        count = suite.choose(1_500, 30_000)
        questions.read(count // 3)
        before = resident_kib(ledger.process.pid)
        questions.read(count)
        growth = resident_kib(ledger.process.pid) - before
        questions.write(count // 5)
        report.equal(
            "nothing was written", questions.ask("GET", "/v1/ledger/head")["position"], head)
        report.check("memory stays flat", growth < GROWTH_KIB, f"{growth} KiB")
        report.check("every answer came soon", questions.slowest[0] < SLOWEST, questions.slowest)
        report.check("some were refused, some answered",
                     questions.statuses.get(200, 0) > 100 and questions.statuses.get(400, 0) > 100,
                     questions.statuses)
        report.say(f"answered: {questions.statuses}; slowest {questions.slowest[0]:.2f} s; "
                   f"resident {growth:+} KiB")
        report.equal("the daemon ends in order", ledger.stop(), 0)
    except (RuntimeError, OSError, HTTPException) as error:
        report.check("the suite ran to its end", False, repr(error))
    finally:
        if ledger is not None:
            if report.failed:
                report.say(ledger.said())
            ledger.remove()
    report.finish()


if __name__ == "__main__":
    main()
