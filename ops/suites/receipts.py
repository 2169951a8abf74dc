#!/usr/bin/env python3
"""Takes recorded answers of verifyReceipt and genuine receipts, from ../shared/cases beside the project.

receipts.py BINARY [long]
"""

import json
import os
import sys
from http.client import HTTPException

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
sys.dont_write_bytecode = True

from ledger import Ledger
from suite import Suite


def subscription(*entitlements, plan="P1M"):
    return {"kind": "autoRenewable", "group": "G", "level": 1, "plan": plan,
            "entitlements": list(entitlements)}


PRODUCTS = {
    "basic_subscription_1_month": subscription("basic", plan="P1W"),
    "com.sumiapp.GridDiary.pro": {"kind": "nonConsumable", "entitlements": ["diary"]},
    "com.sumiapp.GridDiary.pro.subscription": subscription("cloud"),
    "yearly": subscription("yearly", plan="P1Y"),
}

# By file: the app, who brings it, and the line's members at some instants. Worked out from the
# files by hand: dates are their own, states follow from them.
EXPECTED = {
    "weekly-trial-2021.json": ("com.adapty.sample_app", "Production", "1000000831360853", {
        "2021-05-01T00:00:00Z": {
            "state": "trial", "until": "2021-05-05T19:41:58.000Z", "flags": []},
        # Nothing says what was paid in these weeks.
        "2021-06-15T00:00:00Z": {"state": "expired"},
        "2021-07-28T19:41:57.999Z": {"state": "expired"},
        "2021-07-28T19:41:58Z": {
            "state": "active", "until": "2021-08-11T19:41:58.000Z", "flags": ["gap_unknown"]},
        "2021-08-09T18:26:02.696Z": {"state": "active", "willRenew": True,
                                     "product": "basic_subscription_1_month"},
        "2021-08-11T19:41:58Z": {"state": "expired"},
    }, [
        ("2021-04-28T19:41:58.000Z", "2021-05-05T19:41:58.000Z", "trial"),
        ("2021-07-28T19:41:58.000Z", "2021-08-04T19:41:58.000Z", "paid"),
        ("2021-08-04T19:41:58.000Z", "2021-08-11T19:41:58.000Z", "paid"),
    ]),
    "griddiary-exclude_old_transactions_false-0.json": (
        "com.sumiapp.GridDiary", "Production", "110000267199044", {
            "2017-05-01T00:00:00Z": {"state": "active", "until": "2017-06-11T00:22:23.000Z"},
            "2017-06-11T00:22:22.999Z": {"state": "active"},
            "2017-06-11T00:22:23Z": {"state": "expired"},
            "2018-10-05T11:24:22.108Z": {"state": "expired", "willRenew": False},
        }, [
            ("2017-03-11T01:22:23.000Z", "2017-04-11T00:22:23.000Z", "paid"),
            ("2017-04-11T00:22:23.000Z", "2017-05-11T00:22:23.000Z", "paid"),
            ("2017-05-11T00:22:23.000Z", "2017-06-11T00:22:23.000Z", "paid"),
        ]),
    "griddiary-auto_renewable_receipt-1.json": (
        "com.sumiapp.GridDiary", "Sandbox", "1000000248850692", {
            "2016-11-09T03:46:00Z": {"state": "trial"},
            "2016-11-09T07:34:51.999Z": {"state": "active"},
            "2016-11-09T07:34:52Z": {"state": "expired"},
        }, 14),
    "rc-sample1.json": ("com.revenuecat.sampleapp", "Sandbox", "1000000692878476", {
        "2020-07-14T19:34:00Z": {"state": "trial"},
        "2020-07-22T17:54:46Z": {
            "state": "active", "until": "2020-07-22T18:39:06.000Z",
            "product": "com.revenuecat.annual_39.99.2_week_intro"},
        "2020-07-22T17:54:47Z": {"willRenew": True},
        "2020-07-22T18:39:06Z": {"state": "expired"},
    }, 9),
    "mbaasy-subscription_transaction.json": ("com.mbaasy.ios.demo", "Sandbox", "1000000180636226", {
        "2015-11-20T00:00:00Z": {"state": "active", "until": "2015-11-24T06:34:41.000Z"},
        "2015-11-24T06:34:41Z": {"state": "expired"},
    }, [("2015-11-18T04:34:41.000Z", "2015-11-24T06:34:41.000Z", "paid")]),
    "nov-array_of_latest_receipt_info.json": ("com.musteus.musteus", "Sandbox", "1000000131413546", {
        "2014-11-12T15:08:00Z": {"state": "trial"},
        "2014-11-12T15:30:32.999Z": {"state": "active"},
        "2014-11-12T15:30:33Z": {"state": "expired"},
    }, [
        ("2014-11-12T15:07:34.000Z", "2014-11-12T15:10:33.000Z", "trial"),
        ("2014-11-12T15:10:33.000Z", "2014-11-12T15:15:33.000Z", "paid"),
        ("2014-11-12T15:15:33.000Z", "2014-11-12T15:20:33.000Z", "paid"),
        ("2014-11-12T15:20:33.000Z", "2014-11-12T15:25:33.000Z", "paid"),
        ("2014-11-12T15:25:33.000Z", "2014-11-12T15:30:33.000Z", "paid"),
    ]),
    "venice-receipt_expired_cancelled.json": ("com.foo.bar", "Sandbox", "140000527258824", {
        "2019-02-12T00:00:00Z": {"state": "trial", "until": "2019-02-17T06:49:48.000Z"},
        "2019-02-17T06:49:48Z": {"state": "expired", "willRenew": False},
    }, [("2019-02-10T06:49:48.000Z", "2019-02-17T06:49:48.000Z", "trial")]),
}
OWNER = "owner-of-{}"
REFUSED = {"griddiary-auto_renewable_receipt-0.json": ("com.sumiapp.GridDiary", "status_21007")}


# By file: the app, and for some lines the purchases that the receipt itself tells.
LOCAL = {
    "mac-production-2017-no-iap.b64": ("com.ideasoncanvas.MindNodeMac", {}),
    "mbaasy-5tx.b64": ("com.mbaasy.ios.demo", {
        "1000000180636226": [
            ("2015-11-17T16:34:41.000Z", "2015-11-18T04:34:41.000Z", "trial"),
            ("2015-11-18T04:34:41.000Z", "2015-11-24T06:34:41.000Z", "paid")],
        "1000000180634175": [("2015-11-17T16:24:56.000Z", None, "paid")],
        "1000000180635846": [("2015-11-17T16:30:32.000Z", None, "paid")],
        "1000000180842733": [("2015-11-18T17:13:46.000Z", None, "paid")],
    }),
    "revenuecat-sample-9tx-trial.b64": ("com.revenuecat.sampleapp", {"1000000692878476": 9}),
}


class Receipts:
    """Recorded answers and receipts on ledgers."""

    def __init__(self, suite, cases):
        self.suite = suite
        self.report = suite.report
        self.folder = os.path.join(cases, "verify-receipt")
        self.receipts = os.path.join(cases, "receipts")

    def read(self, name):
        with open(os.path.join(self.folder, name), encoding="utf-8") as file:
            return json.load(file)

    def local(self):
        """Receipts are proved and read here, when an app is configured so."""
        self.report.equal(
            "every receipt is known here",
            sorted(n for n in os.listdir(self.receipts) if n.endswith(".b64")), sorted(LOCAL))
        ledger = Ledger(self.suite.binary, {"apps": [
            {"bundleId": bundle, "appAppleId": 1, "receipts": "local"}
            for bundle in sorted({bundle for bundle, _ in LOCAL.values()})]})
        try:
            ledger.start()
            client = ledger.client()
            for name, (bundle, lines) in LOCAL.items():
                self.genuine(client, name, bundle, lines)
            for name in sorted(os.listdir(os.path.join(self.receipts, "refuse"))):
                answer = self.post(client, os.path.join("refuse", name), "com.mbaasy.ios.demo")
                self.report.equal(f"{name} is refused", answer.status, 422)
            self.report.equal("verify says no faults", ledger.command("verify").returncode, 0)
        except (RuntimeError, OSError, HTTPException) as error:
            self.report.check("the case ran to its end", False, error)
            self.report.say(ledger.said())
        finally:
            ledger.remove()

    def post(self, client, name, bundle):
        with open(os.path.join(self.receipts, name), encoding="utf-8") as file:
            return client.call(
                "POST", "/v1/apple/receipts", {"bundleId": bundle, "receiptData": file.read()})

    def genuine(self, client, name, bundle, lines):
        answer = self.post(client, name, bundle)
        self.report.check(
            f"{name} is believed",
            answer.status == 200 and (answer["appended"] > 0) == bool(lines), answer)
        again = self.post(client, name, bundle)
        self.report.equal(f"{name} again adds nothing", again["appended"], 0)
        for original, periods in lines.items():
            found = client.call("GET", f"/v1/lines/Sandbox/{original}")["periods"] or []
            if isinstance(periods, int):
                self.report.equal(
                    f"{name} has its periods, the first a trial",
                    [period["class"] for period in found], ["trial"] + ["paid"] * (periods - 1))
                self.report.equal(
                    f"{name} ends", found[-1]["until"], "2020-07-22T18:39:06.000Z")
            else:
                self.report.equal(
                    f"{name} has its periods",
                    [(p["from"], p["until"], p["class"]) for p in found], periods)

    def play(self):
        self.report.equal(
            "every recorded answer is known here", sorted(os.listdir(self.folder)),
            sorted([*EXPECTED, *REFUSED]))
        bundles = sorted({case[0] for case in [*EXPECTED.values(), *REFUSED.values()]})
        ledger = Ledger(self.suite.binary, {
            "apps": [{"bundleId": bundle, "appAppleId": 1} for bundle in bundles],
            "catalog": {"products": PRODUCTS}})
        try:
            self.imported(ledger)
            ledger.start()
            self.asked(ledger.client())
            self.report.equal("verify says no faults", ledger.command("verify").returncode, 0)
        except (RuntimeError, OSError, HTTPException) as error:
            self.report.check("the case ran to its end", False, error)
            self.report.say(ledger.said())
        finally:
            ledger.remove()

    def imported(self, ledger):
        lines = []
        for name, (bundle, environment, *_) in EXPECTED.items():
            # Answers of old name no environment; who imports them knows.
            lines.append({"bundleId": bundle, "environment": environment,
                          "customer": OWNER.format(name), "response": self.read(name)})
        for name, (bundle, _) in REFUSED.items():
            lines.append({"bundleId": bundle, "response": self.read(name)})
        text = "".join(json.dumps(line) + "\n" for line in lines)
        first = ledger.command("import", "responses", "--json", "-", stdin=text)
        self.report.equal("the import ends well", first.returncode, 0)
        said = json.loads(first.stdout or "{}")
        self.report.equal("each answer is appended", said.get("appended"), len(EXPECTED))
        self.report.equal(
            "what is no answer is told by its status", said.get("quarantined"),
            {reason: 1 for _, reason in REFUSED.values()})
        again = ledger.command("import", "responses", "--json", "-", stdin=text)
        self.report.equal(
            "imported again, all is known", json.loads(again.stdout or "{}").get("known"),
            len(EXPECTED))

    def asked(self, client):
        for name, (_, environment, original, states, periods) in EXPECTED.items():
            path = f"/v1/lines/{environment}/{original}"
            for at, members in states.items():
                line = client.call("GET", f"{path}?at={at}")
                self.report.equal(
                    f"{name} at {at}", {key: line[key] for key in members}, members)
            found = client.call("GET", path)["periods"] or []
            if isinstance(periods, int):
                self.report.equal(f"{name} has its periods", len(found), periods)
                self.report.equal(
                    f"{name} begins with a trial, the rest is paid",
                    [period["class"] for period in found], ["trial"] + ["paid"] * (periods - 1))
            else:
                self.report.equal(
                    f"{name} has its periods",
                    [(p["from"], p["until"], p["class"]) for p in found], periods)
        owner = OWNER.format("griddiary-auto_renewable_receipt-1.json")
        diary = client.call("GET", f"/v1/customers/{owner}/entitlements?environment=Sandbox")
        held = (diary["entitlements"] or {}).get("diary", {})
        self.report.equal(
            "a permanent purchase lasts", (held.get("active"), held.get("until", "absent")),
            (True, None))


def main():
    suite = Suite("receipts")
    cases = suite.cases("the genuine receipts")
    if cases is None:
        return
    receipts = Receipts(suite, cases)
    receipts.play()
    receipts.local()
    suite.report.finish()


main()
