#!/usr/bin/env python3
"""Lets Apple's own client library, and libraries for receipts, ask the store simulator.

library.py BINARY [long]

The libraries are installed into a virtual environment that is thrown away; where no package index
can be reached, nothing is asked, and that is said.
"""

import base64
import http.server
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
sys.dont_write_bytecode = True

PACKAGES = ["app-store-server-library==3.1.2", "inapppy==2.5.2"]
INSIDE = "SUITE_LIBRARY_INSIDE"
BUNDLE = "com.example.app"
APP = 1000000001
DAY = 86_400_000
TOKEN = "a1b2c3d4-0000-4000-8000-000000000001"

SCENARIO = {
    "app": {"bundleId": BUNDLE, "appAppleId": APP, "sharedSecret": "secret"},
    "start": "P1Y", "clock": 1e9, "seed": 4,
    "products": {
        "pro.weekly": {"kind": "autoRenewable", "group": "G1", "level": 2, "plan": "P1W",
                       "trial": "P1W", "entitlements": ["pro"]},
        "plus.monthly": {"kind": "autoRenewable", "group": "G1", "level": 1, "plan": "P1M",
                         "price": 19990, "entitlements": ["pro", "plus"]},
        "pro.lifetime": {"kind": "nonConsumable", "entitlements": ["pro"]},
        "coins.100": {"kind": "consumable"},
    },
    "lives": [
        # A long life: more transactions than two pages have.
        {"customer": "ada", "token": TOKEN,
         "steps": [{"after": "P0D", "do": "buy", "product": "pro.weekly"},
                   {"after": "P1D", "do": "buy", "product": "coins.100", "quantity": 2}]},
        # One of everything that can happen to a subscription.
        {"customer": "bob", "storefront": "DEU", "storefrontId": "143443", "currency": "EUR",
         "steps": [{"after": "P200D", "do": "buy", "product": "pro.weekly"},
                   {"after": "P215D", "do": "upgrade", "product": "plus.monthly"},
                   {"after": "P220D", "do": "refund", "transaction": "previous", "percentage": 40000},
                   {"after": "P225D", "do": "share", "with": "eve"},
                   {"after": "P230D", "do": "raisePrice", "price": 24990},
                   {"after": "P231D", "do": "consent"},
                   {"after": "P250D", "do": "fail"}, {"after": "P298D", "do": "recover"},
                   {"after": "P305D", "do": "extend", "days": 5},
                   {"after": "P310D", "do": "ask", "reason": "FULFILLMENT_ISSUE"},
                   {"after": "P311D", "do": "refund"}, {"after": "P312D", "do": "reverse"},
                   {"after": "P340D", "do": "buy", "product": "pro.weekly"},
                   {"after": "P343D", "do": "cancel"}]},
        {"customer": "sue", "environment": "Sandbox",
         "steps": [{"after": "P350D", "do": "buy", "product": "plus.monthly"}]},
    ],
}


def in_an_environment_of_its_own(name):
    """Runs this program again where the libraries are; its exit code."""
    folder = tempfile.mkdtemp(prefix="library-")
    try:
        python = os.path.join(folder, "venv", "bin", "python3")
        made = subprocess.run(
            [sys.executable, "-m", "venv", os.path.dirname(os.path.dirname(python))])
        installed = made.returncode == 0 and subprocess.run(
            [python, "-m", "pip", "-q", "install", *PACKAGES], stdout=sys.stderr).returncode == 0
        if not installed:
            print(f"!! {', '.join(PACKAGES)} could not be installed: "
                  "THE STORE'S OWN LIBRARY WAS NOT TRIED", flush=True)
            print(f"{name}: 0 passed, 0 failed, 1 skipped")
            return 0
        return subprocess.run(
            [python, os.path.abspath(__file__), *sys.argv[1:]],
            env={**os.environ, INSIDE: "1"}).returncode
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class Door:
    """Takes notifications, as a daemon would."""

    def __init__(self):
        self.payloads = []
        door = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                door.payloads.append(json.loads(body)["signedPayload"])
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *words):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


def stated(text):
    """What a signed text says, read by hand."""
    part = text.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))


class Library:
    """Apple's library against the simulator: base URL and root changed, and nothing else."""

    def __init__(self, suite, simulator, door):
        from appstoreserverlibrary.models.Environment import Environment

        self.report = suite.report
        self.simulator = simulator
        self.door = door
        self.lives = simulator.lives()
        self.environments = {"Production": Environment.PRODUCTION, "Sandbox": Environment.SANDBOX}
        self.clients = {name: self.make_client(name) for name in self.environments}
        self.verifiers = {name: self.make_verifier(name) for name in self.environments}
        self.api = self.clients["Production"]
        self.verifier = self.verifiers["Production"]

    def make_client(self, environment, key_id=None):
        from appstoreserverlibrary.api_client import AppStoreServerAPIClient

        names = self.simulator.names()
        with open(self.simulator.key, "rb") as file:
            client = AppStoreServerAPIClient(
                file.read(), key_id or names["keyId"], names["issuerId"], BUNDLE,
                self.environments[environment])
        client._base_url = self.simulator.url(environment)
        return client

    def make_verifier(self, environment, online=False):
        from appstoreserverlibrary.signed_data_verifier import SignedDataVerifier

        with open(self.simulator.root, "rb") as file:
            return SignedDataVerifier(
                [file.read()], online, self.environments[environment], BUNDLE, APP)

    def line(self, customer):
        return self.lives[customer]["lines"][0]["originalTransactionId"]

    def whole(self, name, decoded, text):
        """Whether the library decoded all that a text says."""
        from appstoreserverlibrary.models.LibraryUtility import _get_cattrs_converter

        found = _get_cattrs_converter(type(decoded)).unstructure(decoded)
        return self.report.equal(f"{name} is decoded without loss", found, stated(text))

    def refused(self, name, code, call):
        from appstoreserverlibrary.api_client import APIException

        try:
            found = call()
        except APIException as error:
            found = error.raw_api_error if error.raw_api_error else error.http_status_code
            self.check_known(name, error)
        self.report.equal(name, found, code)

    def check_known(self, name, error):
        if error.raw_api_error:
            self.report.check(f"{name}: the code is known to the library", error.api_error)

    # One transaction after another.

    def transactions(self):
        text = self.api.get_transaction_info(self.line("ada")).signedTransactionInfo
        decoded = self.verifier.verify_and_decode_signed_transaction(text)
        self.whole("a transaction", decoded, text)
        self.report.equal(
            "a trial is one", (decoded.price, decoded.offerDiscountType.value, decoded.offerPeriod),
            (0, "FREE_TRIAL", "P1W"))
        text = self.clients["Sandbox"].get_transaction_info(self.line("sue")).signedTransactionInfo
        self.whole(
            "a Sandbox transaction",
            self.verifiers["Sandbox"].verify_and_decode_signed_transaction(text), text)
        self.refused("an unknown transaction", 4040010, lambda: self.api.get_transaction_info("1"))
        self.refused(
            "a Sandbox transaction in Production", 4040010,
            lambda: self.api.get_transaction_info(self.line("sue")))
        self.refused(
            "a key that nobody knows", 401,
            lambda: self.make_client("Production", "OTHER").get_transaction_info("1"))
        answer = self.api.get_app_transaction_info(self.lives["ada"]["appTransactionId"])
        decoded = self.verifier.verify_and_decode_app_transaction(answer.signedAppTransactionInfo)
        self.whole("an app transaction", decoded, answer.signedAppTransactionInfo)

    def online(self):
        """Certificates are asked about, too, as the library does unless told otherwise."""
        text = self.api.get_transaction_info(self.line("ada")).signedTransactionInfo
        verifier = self.make_verifier("Production", online=True)
        self.whole(
            "with online checks a transaction",
            verifier.verify_and_decode_signed_transaction(text), text)

    def history(self):
        from appstoreserverlibrary.api_client import GetTransactionHistoryVersion as Version
        from appstoreserverlibrary.models.TransactionHistoryRequest import (
            Order, ProductType, TransactionHistoryRequest)

        def all_pages(request, revision=None):
            pages = []
            while True:
                page = self.api.get_transaction_history(
                    self.line("ada"), revision, request, Version.V2)
                pages.append(page.signedTransactions)
                revision = page.revision
                if not page.hasMore:
                    return pages, revision

        pages, revision = all_pages(TransactionHistoryRequest(sort=Order.ASCENDING))
        ids = []
        for text in (text for page in pages for text in page):
            decoded = self.verifier.verify_and_decode_signed_transaction(text)
            self.whole("a transaction of a history", decoded, text)
            ids.append(decoded.transactionId)
        self.report.check("a year of weeks has more than two pages", len(pages) > 2, len(pages))
        self.report.check(
            "every page but the last is full",
            all(len(page) == 20 for page in pages[:-1]) and len(pages[-1]) <= 20)
        self.report.equal("no transaction comes twice", len(set(ids)), len(ids))
        again, _ = all_pages(TransactionHistoryRequest(sort=Order.ASCENDING), revision)
        self.report.equal("nothing has changed since", again, [[]])
        coins, _ = all_pages(TransactionHistoryRequest(productTypes=[ProductType.CONSUMABLE]))
        self.report.equal("a filter leaves out the rest", [len(page) for page in coins], [1])
        act = {"customer": "ada", "do": "refund", "transaction": ids[0]}
        self.report.equal(
            "a refund happens when asked for", self.simulator.call("POST", "act", act).status, 200)
        changed, _ = all_pages(TransactionHistoryRequest(sort=Order.ASCENDING), revision)
        decoded = [self.verifier.verify_and_decode_signed_transaction(t) for t in changed[0]]
        self.report.equal(
            "after it just the refunded transaction has",
            [(d.transactionId, d.revocationType.value) for d in decoded],
            [(ids[0], "REFUND_FULL")])
        refunds = self.api.get_refund_history(self.line("ada"), None)
        self.report.equal(
            "the refund history has it",
            [self.verifier.verify_and_decode_signed_transaction(t).transactionId
             for t in refunds.signedTransactions], [ids[0]])

    def statuses(self):
        answer = self.api.get_all_subscription_statuses(self.line("bob"))
        item = answer.data[0].lastTransactions[0]
        renewal = self.verifier.verify_and_decode_renewal_info(item.signedRenewalInfo)
        self.whole("a renewal info", renewal, item.signedRenewalInfo)
        self.report.equal(
            "the status of what ran out is expired, by intent",
            (item.status.value, renewal.expirationIntent.value, renewal.autoRenewStatus.value),
            (2, 1, 0))
        self.report.equal(
            "an order id finds its transactions", self.api.look_up_order_id("M0").status.value, 1)

    # What was told.

    def notifications(self):
        from appstoreserverlibrary.models.NotificationHistoryRequest import (
            NotificationHistoryRequest)

        now = int(time.time() * 1000)
        request = NotificationHistoryRequest(startDate=now - 179 * DAY, endDate=now + DAY)
        kinds, token, count = set(), None, 0
        self.simulator.settle()
        while True:
            page = self.api.get_notification_history(token, request)
            for item in page.notificationHistory:
                count += 1
                kinds.add(self.notification(item.signedPayload))
                self.report.equal(
                    "a notification arrived at once",
                    [a.sendAttemptResult.value for a in item.sendAttempts], ["SUCCESS"])
            token = page.paginationToken
            if not page.hasMore:
                break
        wanted = {
            ("SUBSCRIBED", "INITIAL_BUY"), ("DID_RENEW", None), ("DID_RENEW", "BILLING_RECOVERY"),
            ("DID_CHANGE_RENEWAL_PREF", "UPGRADE"), ("REFUND", None), ("REFUND_REVERSED", None),
            ("PRICE_INCREASE", "PENDING"), ("PRICE_INCREASE", "ACCEPTED"),
            ("DID_FAIL_TO_RENEW", "GRACE_PERIOD"), ("GRACE_PERIOD_EXPIRED", None),
            ("RENEWAL_EXTENDED", None), ("CONSUMPTION_REQUEST", None), ("EXPIRED", "VOLUNTARY"),
            ("DID_CHANGE_RENEWAL_STATUS", "AUTO_RENEW_DISABLED"), ("REVOKE", None),
        }
        self.report.equal("half a year has every kind", wanted - kinds, set())
        self.report.check("and more than a page", count > 20, count)
        texts = set(self.door.payloads)
        self.report.equal("what was sent was sent once", len(texts), len(self.door.payloads))
        for text in texts:
            environment = stated(text)["data"]["environment"]
            self.notification(text, environment)

    def notification(self, text, environment="Production"):
        """Verifies a notification and what is signed inside it; its type and subtype."""
        verifier = self.verifiers[environment]
        decoded = verifier.verify_and_decode_notification(text)
        self.whole("a notification", decoded, text)
        if decoded.data.signedTransactionInfo:
            inner = decoded.data.signedTransactionInfo
            self.whole(
                "its transaction", verifier.verify_and_decode_signed_transaction(inner), inner)
        if decoded.data.signedRenewalInfo:
            inner = decoded.data.signedRenewalInfo
            self.whole("its renewal info", verifier.verify_and_decode_renewal_info(inner), inner)
        return decoded.rawNotificationType, decoded.rawSubtype

    def test(self):
        token = self.api.request_test_notification().testNotificationToken
        deadline = time.monotonic() + 20
        status = None
        while time.monotonic() < deadline and not (status and status.sendAttempts):
            # The limit is one call a second.
            time.sleep(1.1)
            status = self.api.get_test_notification_status(token)
        self.report.equal(
            "a test arrives", [a.sendAttemptResult.value for a in status.sendAttempts], ["SUCCESS"])
        self.report.equal("and is one", self.notification(status.signedPayload), ("TEST", None))
        self.report.check("it is the text that was sent", status.signedPayload in self.door.payloads)

    # What an app's server says.

    def changes(self):
        from appstoreserverlibrary.models.ConsumptionRequest import ConsumptionRequest
        from appstoreserverlibrary.models.DeliveryStatus import DeliveryStatus
        from appstoreserverlibrary.models.ExtendReasonCode import ExtendReasonCode
        from appstoreserverlibrary.models.ExtendRenewalDateRequest import ExtendRenewalDateRequest
        from appstoreserverlibrary.models.UpdateAppAccountTokenRequest import (
            UpdateAppAccountTokenRequest)

        line = self.line("ada")
        before = self.simulator.call("GET", "truth?customer=ada")["entitlements"]["pro"]["spans"]
        answer = self.api.extend_subscription_renewal_date(line, ExtendRenewalDateRequest(
            extendByDays=10, extendReasonCode=ExtendReasonCode.SERVICE_ISSUE_OR_OUTAGE,
            requestIdentifier="suite"))
        after = self.simulator.call("GET", "truth?customer=ada")["entitlements"]["pro"]["spans"]
        self.report.check(
            "an extension moves the end", answer.success and after[-1][1] > before[-1][1], after)
        consumption = ConsumptionRequest(
            customerConsented=True, sampleContentProvided=False,
            deliveryStatus=DeliveryStatus.DELIVERED)
        self.report.equal(
            "consumption is taken", self.api.send_consumption_information(line, consumption), None)
        fresh = "a1b2c3d4-0000-4000-8000-000000000002"
        self.api.set_app_account_token(line, UpdateAppAccountTokenRequest(appAccountToken=fresh))
        item = self.api.get_all_subscription_statuses(line).data[0].lastTransactions[0]
        decoded = self.verifier.verify_and_decode_signed_transaction(item.signedTransactionInfo)
        self.report.equal("a token is set", decoded.appAccountToken, fresh)

    def forgeries(self):
        from appstoreserverlibrary.signed_data_verifier import VerificationException

        text = self.api.get_transaction_info(self.line("ada")).signedTransactionInfo
        changed = text[:-8] + ("A" if text[-8] != "A" else "B") + text[-7:]
        for name, verifier, tried in [
            ("a changed text", self.verifier, changed),
            ("the other environment", self.verifiers["Sandbox"], text),
        ]:
            try:
                verifier.verify_and_decode_signed_transaction(tried)
                self.report.check(f"{name} is refused by the library", False)
            except VerificationException:
                self.report.check(f"{name} is refused by the library", True)

    def limits(self):
        from appstoreserverlibrary.api_client import APIException

        found, line = None, self.line("ada")
        for _ in range(60):
            try:
                self.api.get_refund_history(line, None)
            except APIException as error:
                found = error.raw_api_error
                break
        self.report.equal("who asks too often is told so", found, 4290000)


class Receipts:
    """A library for receipts against the simulator."""

    def __init__(self, suite, simulator):
        self.report = suite.report
        self.simulator = simulator
        self.lives = simulator.lives()

    def validator(self, **options):
        from inapppy import AppStoreValidator

        simulator = self.simulator

        class Validator(AppStoreValidator):
            def _change_url_by_sandbox(self):
                self.url = simulator.receipts("Sandbox" if self.sandbox else "Production")

        return Validator(**options)

    def run(self):
        from inapppy.errors import InAppPyValidationError

        answer = self.validator().validate(self.lives["ada"]["receipt"], "secret")
        self.report.equal(
            "a receipt is valid, of its environment",
            (answer["status"], answer["environment"], answer["receipt"]["bundle_id"]),
            (0, "Production", BUNDLE))
        self.report.check("it has its rows", len(answer["latest_receipt_info"]) > 40)
        newest = self.validator().validate(
            self.lives["ada"]["receipt"], "secret", exclude_old_transactions=True)
        self.report.equal(
            "or the newest alone", [r["product_id"] for r in newest["latest_receipt_info"]],
            ["pro.weekly"])
        elsewhere = self.validator(auto_retry_wrong_env_request=True).validate(
            self.lives["sue"]["receipt"], "secret")
        self.report.equal("a Sandbox receipt is found", elsewhere["environment"], "Sandbox")
        for name, receipt, secret, status in [
            ("a wrong secret", self.lives["ada"]["receipt"], "other", 21004),
            ("no receipt at all", "%%%", "secret", 21002),
            ("a Sandbox receipt in Production", self.lives["sue"]["receipt"], "secret", 21007),
        ]:
            found = None
            try:
                self.validator().validate(receipt, secret)
            except InAppPyValidationError as error:
                found = error.raw_response["status"]
            self.report.equal(f"{name} is refused", found, status)


def main():
    if os.environ.get(INSIDE) != "1":
        sys.exit(in_an_environment_of_its_own("library"))
    # What runs here is asked here, whatever proxy leads elsewhere.
    os.environ["NO_PROXY"] = os.environ["no_proxy"] = "127.0.0.1"
    from simulator import Simulator
    from suite import Suite

    suite = Suite("library")
    door = Door()
    simulator = Simulator(
        suite.binary, {**SCENARIO, "notify": f"http://127.0.0.1:{door.port}/"})
    try:
        library = Library(suite, simulator, door)
        library.transactions()
        library.online()
        library.statuses()
        library.notifications()
        library.history()
        library.test()
        library.changes()
        library.forgeries()
        Receipts(suite, simulator).run()
        library.limits()
        suite.report.equal("the simulator ends when told to", simulator.stop(), 0)
    finally:
        simulator.remove()
        door.close()
    suite.report.finish()


main()
