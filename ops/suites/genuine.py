#!/usr/bin/env python3
"""Feeds genuine store-signed data, from ../shared/cases beside the project, to fresh ledgers.

genuine.py BINARY [long]
"""

import base64
import json
import os
import sys
from http.client import HTTPException

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
sys.dont_write_bytecode = True

from ledger import Ledger
from suite import Suite

NOTIFICATIONS = "/v1/apple/notifications"
TRANSACTIONS = "/v1/apple/transactions"

MESSENGER = {
    "bundleId": "com.loki-project.loki-messenger", "appAppleId": 1470168868,
    "environments": ["Sandbox"],
}
MESSENGER_LINE = "/v1/lines/Sandbox/2000001024993299"


def payload(signed):
    """What a signed text says, unverified."""
    middle = signed.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(middle + "=" * (-len(middle) % 4)))


class Genuine:
    """The cases, each on a ledger of its own."""

    def __init__(self, suite, cases):
        self.suite = suite
        self.report = suite.report
        self.cases = cases

    def read(self, *parts):
        with open(os.path.join(self.cases, *parts), encoding="utf-8") as file:
            return file.read().strip()

    def files(self, *parts):
        return sorted(os.listdir(os.path.join(self.cases, *parts)))

    def on(self, configuration, play):
        """Runs a case on a fresh ledger."""
        ledger = Ledger(self.suite.binary, configuration)
        try:
            ledger.start()
            play(ledger.client())
            verified = ledger.command("verify")
            self.report.equal("verify says no faults", verified.returncode, 0)
            self.report.equal("the daemon ends in order", ledger.stop(), 0)
        except (RuntimeError, OSError, HTTPException) as error:
            self.report.check("the case ran to its end", False, error)
            self.report.say(ledger.said())
        finally:
            ledger.remove()

    # Renewed, cancelled, expired.

    def life(self):
        lines = [json.loads(line) for line in self.read(
            "apple-signed", "renew-cancel-expire.jsonl").splitlines()]
        answers = []
        self.on({"apps": [MESSENGER]}, lambda c: answers.append(self.forwards(c, lines)))
        self.on({"apps": [MESSENGER]}, lambda c: answers.append(self.backwards(c, lines)))
        self.report.check("both orders were played", len(answers) == 2)
        self.report.equal("posted in reverse, the answers are the same", answers[1:], answers[:1])

    def forwards(self, client, lines):
        positions = [self.post(client, line) for line in lines]
        answers = self.messenger(client)
        then = client.call(
            "GET", f"{MESSENGER_LINE}?at=2025-10-02T07:08:00Z&asKnownPosition={positions[1]}")
        self.report.equal("as known at the second post it was to renew", then["willRenew"], True)
        head = client.call("GET", "/v1/ledger/head")["position"]
        for line in lines * 3:
            again = client.call("POST", NOTIFICATIONS, line, key=None)
            self.report.equal("a repeat is answered 200", again.status, 200)
            self.report.equal("a repeat is a duplicate", again["duplicate"], True)
            self.report.equal("a repeat appends nothing", again["appended"], 0)
        self.report.equal(
            "repeats leave the head where it is",
            client.call("GET", "/v1/ledger/head")["position"], head)
        return answers

    def backwards(self, client, lines):
        for line in reversed(lines):
            self.post(client, line)
        return self.messenger(client)

    def post(self, client, line):
        answer = client.call("POST", NOTIFICATIONS, line, key=None)
        self.report.check(
            "a genuine notification is believed",
            answer.status == 200 and answer["duplicate"] is False and answer["appended"] > 0,
            answer)
        return answer["position"]

    def messenger(self, client):
        """The line at two instants; answered without its position, which depends on arrival."""
        at = {
            instant: client.call("GET", f"{MESSENGER_LINE}?at={instant}").json
            for instant in ("2025-10-02T07:08:00Z", "2025-10-02T07:09:07.000Z")}
        running, over = at.values()
        self.report.equal(
            "the line has its two periods",
            [(period["from"], period["until"]) for period in running["periods"]],
            [("2025-10-01T07:09:12.000Z", "2025-10-01T07:12:12.000Z"),
             ("2025-10-02T07:06:07.000Z", "2025-10-02T07:09:07.000Z")])
        self.report.equal(
            "a minute before its end it runs and will not renew",
            (running["state"], running["willRenew"], running["until"]),
            ("active", False, "2025-10-02T07:09:07.000Z"))
        self.report.equal("at its end it has expired", over["state"], "expired")
        return [{k: v for k, v in answer.items() if k != "position"} for answer in at.values()]

    # Single texts of many apps.

    def singles(self):
        texts = {name: self.read("apple-signed", "single", name)
                 for name in self.files("apple-signed", "single")}
        apps = {}
        for text in texts.values():
            said = payload(text)
            data = said.get("data", said)
            if "bundleId" in data:
                app = apps.setdefault(data["bundleId"], {"bundleId": data["bundleId"]})
                app["environments"] = ["Production", "Sandbox"]
                app["appAppleId"] = data.get("appAppleId", 1)
        catalog = {"products": {
            payload(texts["com.example.Pupotty-tx-2000000341049893.jws"])["productId"]:
                {"kind": "autoRenewable", "group": "20965379", "level": 2, "plan": "P1M",
                 "entitlements": ["pro"]},
        }}
        configuration = {"apps": list(apps.values()), "catalog": catalog}
        self.on(configuration, lambda c: self.accepted(c, texts))
        production = [
            dict(app, environments=["Production"]) if "tap4fun" in bundle else app
            for bundle, app in apps.items()]
        self.on({"apps": production}, lambda c: self.undated(c, texts))
        self.on(configuration, self.refused)

    def accepted(self, client, texts):
        for name, text in texts.items():
            if "-n-" in name:
                answer = client.call("POST", NOTIFICATIONS, {"signedPayload": text}, key=None)
                self.report.check(f"{name} is believed", answer.status == 200, answer)
                continue
            member = "signedRenewalInfos" if "-renewal-" in name else "signedTransactions"
            answer = client.call("POST", TRANSACTIONS, {member: [text]})
            result = (answer["results"] or [{}])[0]
            expected = "environment_unknown" if "tap4fun" in name else None
            self.report.check(
                f"{name} is answered with quarantined {expected}",
                answer.status == 200 and result.get("quarantined", "absent") == expected
                and (result["appended"] > 0) == (expected is None), answer)
        self.upgrade(client)
        love = client.call("GET", "/v1/lines/Sandbox/2000000816072421?at=2024-12-26T05:00:00Z")
        self.report.equal(
            "a monthly subscription and its renewal info are one line",
            (love["state"], love["willRenew"], love["until"],
             [(p["priceMilliunits"], p["currency"]) for p in love["periods"]]),
            ("active", True, "2024-12-26T05:46:34.000Z", [(150_000, "TWD")]))
        coins = client.call("GET", "/v1/lines/Sandbox/2000000848445242")
        self.report.equal(
            "a one-time charge is one period", len(coins["periods"] or []), 1)
        first = client.call("GET", "/v1/lines/Sandbox/2000000492007794?at=2024-01-03T03:34:00Z")
        self.report.equal("a first purchase runs", first["state"], "active")

    def upgrade(self, client):
        path = "/v1/lines/Sandbox/2000000125363245"
        before = client.call("GET", f"{path}?at=2023-05-31T04:06:00Z")
        after = client.call("GET", f"{path}?at=2023-05-31T04:08:00Z")
        over = client.call("GET", f"{path}?at=2023-05-31T04:12:00Z")
        second = "com.jonathanxakellis.hound.tenfamilymemberstendogs.monthly"
        self.report.equal("before the upgrade it runs", before["state"], "active")
        self.report.check("with the first product", before["product"] != second, before)
        self.report.equal(
            "after an upgrade shown by overlap just the second product runs",
            (after["state"], after["product"], after["until"]),
            ("active", second, "2023-05-31T04:12:00.000Z"))
        self.report.equal(
            "the first period ends where the second begins",
            [(p["from"], p["until"]) for p in after["periods"]],
            [("2023-05-31T04:03:58.000Z", "2023-05-31T04:07:00.000Z"),
             ("2023-05-31T04:07:00.000Z", "2023-05-31T04:12:00.000Z")])
        self.report.equal("at its end it has expired", over["state"], "expired")

    def undated(self, client, texts):
        """A text without an environment is of the only one that its app lists."""
        name = "com.tap4fun.bz.appstore-tx-20000904312745.jws"
        answer = client.call("POST", TRANSACTIONS, {"signedTransactions": [texts[name]]})
        result = (answer["results"] or [{}])[0]
        self.report.check(
            "with one environment listed it is believed",
            result.get("quarantined", "absent") is None and result["appended"] > 0, answer)
        line = client.call("GET", "/v1/lines/Production/20000904312745")
        period = (line["periods"] or [{}])[0]
        self.report.equal(
            "its refund is dated and of unknown amount",
            (line["state"], period.get("revokedAt"), (period.get("refund") or {}).get("at"),
             (period.get("refund") or {}).get("priceMilliunits", "absent")),
            ("revoked", "2021-12-31T03:36:28.000Z", "2021-12-31T03:36:28.000Z", None))

    def refused(self, client):
        head = client.call("GET", "/v1/ledger/head")["position"]
        reasons = {
            "subscribed-short-signature.jws": "bad_signature",
            "apple-mock-testNotification.jws": "untrusted_root",
            "xcode-signed-transaction.jws": "bad_header",
        }
        found = self.files("apple-signed", "refuse")
        self.report.equal("every text to refuse is known here", found, sorted(reasons))
        for name in found:
            text = self.read("apple-signed", "refuse", name)
            reason = reasons.get(name)
            answer = client.call("POST", NOTIFICATIONS, {"signedPayload": text}, key=None)
            self.report.equal(
                f"{name} as a notification is refused", (answer.status, answer["reason"]),
                (422, reason))
            answer = client.call("POST", TRANSACTIONS, {"signedTransactions": [text]})
            self.report.equal(
                f"{name} as a transaction is refused",
                [r["quarantined"] for r in answer["results"] or []], [reason])
        self.report.equal(
            "what was refused appended nothing",
            client.call("GET", "/v1/ledger/head")["position"], head)

    # The data of the store's own library, under its test root.

    def library(self):
        app = {"bundleId": "com.example", "appAppleId": 1234, "environments": ["Sandbox"]}
        root = os.path.join(self.cases, "apple-library", "certs", "testCA.der")
        self.on({"apps": [app], "apple": {"rootCertificates": [root]}}, self.mocks)

    def mocks(self, client):
        def mock(name):
            return self.read("apple-library", "mock_signed_data", name)

        def notification(name):
            return client.call("POST", NOTIFICATIONS, {"signedPayload": mock(name)}, key=None)

        answer = notification("testNotification")
        self.report.check(
            "testNotification is believed", answer.status == 200 and answer["appended"] > 0, answer)
        answer = notification("wrongBundleId")
        self.report.equal(
            "wrongBundleId is held", (answer.status, answer["quarantined"]), (202, "wrong_app"))
        answer = notification("missingX5CHeaderClaim")
        self.report.equal(
            "missingX5CHeaderClaim is refused", (answer.status, answer["reason"]),
            (422, "bad_header"))
        answer = client.call("POST", TRANSACTIONS, {
            "signedTransactions": [mock("transactionInfo")],
            "signedRenewalInfos": [mock("renewalInfo")]})
        self.report.equal(
            "transactionInfo and renewalInfo carry no id",
            [r["quarantined"] for r in answer["results"] or []], ["unparsable"] * 2)


def main():
    suite = Suite("genuine")
    cases = suite.cases("the genuine data")
    if cases is None:
        return
    genuine = Genuine(suite, cases)
    genuine.life()
    genuine.singles()
    genuine.library()
    suite.report.finish()


main()
