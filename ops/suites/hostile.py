#!/usr/bin/env python3
"""Sends what nobody should send, while good requests go on and half-open connections are held.

hostile.py BINARY [long]
"""

import base64
import json
import os
import socket
import sys
import threading
import time
from http.client import HTTPException

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
sys.dont_write_bytecode = True

from ledger import KEY, resident_kib
from signer import BUNDLE, Life, Store, base64url, compact
from suite import Suite

NOTIFICATIONS = "/v1/apple/notifications"
TRANSACTIONS = "/v1/apple/transactions"
GROWTH_KIB = 32 * 1024
WIRE_SECONDS = 5


class Bodies:
    """Makes bodies that are wrong in one way or another; each says what it may be answered."""

    def __init__(self, chance, store, life):
        self.chance = chance
        self.store = store
        self.life = life
        self.identity, self.good = life.notification(life.transaction())
        self.makers = [
            self.truncated, self.flipped, self.random_bytes, self.wrong_type, self.deep,
            self.huge_number, self.bad_utf8, self.nul, self.duplicate_members, self.odd_header,
            self.odd_segments, self.odd_payload, self.changed_payload, self.long_text,
            self.odd_transactions,
        ]

    def next(self):
        """The path, the body, the statuses that are clear answers, and its kind."""
        maker = self.chance.choice(self.makers)
        body, statuses, *path = maker()
        return path[0] if path else NOTIFICATIONS, body, statuses, maker.__name__

    def body(self, text):
        return json.dumps({"signedPayload": text}).encode()

    def truncated(self):
        whole = self.body(self.good)
        return whole[: self.chance.randrange(len(whole))], {400}

    def flipped(self):
        whole = bytearray(self.body(self.good))
        for _ in range(self.chance.randrange(1, 4)):
            at = self.chance.randrange(18, len(whole) - 2)
            whole[at] ^= 1 << self.chance.randrange(8)
        # White space and padding bits inside base64 carry no meaning.
        return bytes(whole), {200, 202, 400, 422}

    def random_bytes(self):
        return self.chance.randbytes(self.chance.randrange(1, 3000)), {400}

    def wrong_type(self):
        value = self.chance.choice(
            [None, True, 0, -1.5, [], {}, [self.good], {"a": self.good}, "", " "])
        return json.dumps(
            self.chance.choice([{"signedPayload": value}, value, {"signedpayload": self.good}])
        ).encode(), {400}

    def deep(self):
        depth = self.chance.choice([100, 1_000, 20_000, 300_000])
        opening, closing = self.chance.choice([(b"[", b"]"), (b'{"a":', b"}")])
        inside = opening * depth + b"1"
        if self.chance.random() < 0.5:
            inside += closing * depth
        return (b'{"signedPayload":' + inside + b"}")[:1_000_000], {400}

    def huge_number(self):
        number = self.chance.choice(
            ["9" * 400, "1e999999", "-" + "0" * 5000, "1." + "3" * 9000, "1e-400", "0x10", "NaN",
             "Infinity", "1" * 900_000, "--1", "1e", "+1"])
        return ('{"signedPayload":' + number + "}").encode(), {400}

    def bad_utf8(self):
        bad = self.chance.choice(
            [b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\xf5\x80\x80\x80", b"\xe2\x28\xa1", b"\x80"])
        where = self.chance.choice([b'{"signedPayload":"%s"}', b'{"%s":1}', b'%s{}'])
        return where % bad, {400}

    def nul(self):
        return self.chance.choice(
            [b"\x00", b'{"signedPayload":"\x00"}', b'{"signedPayload":"\\u0000"}',
             b'{"signedPayload":"a.b.c"}\x00', self.body(self.good + "\x00"),
             self.body("\x00".join(self.good.split("."))), b"\x00" * 70_000]), {400, 422}

    def duplicate_members(self):
        text = json.dumps(self.good)
        other = self.chance.choice(['"x"', "1", "null", text])
        pair = [f'"signedPayload":{text}', f'"signedPayload":{other}']
        self.chance.shuffle(pair)
        return ("{" + ",".join(pair) + "}").encode(), {400}

    def odd_header(self):
        _, payload, signature = self.good.split(".")
        x5c = self.store.x5c
        header = self.chance.choice([
            {"alg": "none", "x5c": x5c}, {"alg": "HS256", "x5c": x5c}, {"alg": "ES256"},
            {"alg": "ES256", "x5c": []}, {"alg": "ES256", "x5c": x5c[:2]},
            {"alg": "ES256", "x5c": x5c * 40}, {"alg": "ES256", "x5c": x5c[::-1]},
            {"alg": "ES256", "x5c": [1, 2, 3]}, {"alg": "ES256", "x5c": "x"},
            {"alg": "ES256", "x5c": ["AAAA"] * 3}, {"alg": ["ES256"], "x5c": x5c}, [], 1,
            {"alg": "ES256", "x5c": [x5c[0], x5c[1], "%%%"]}, {"alg": "es256", "x5c": x5c},
            {"alg": "ES256", "x5c": [self.damaged(x5c[0]), x5c[1], x5c[2]]},
            {"alg": "ES256", "x5c": [x5c[0], self.damaged(x5c[1]), x5c[2]]},
        ])
        head = base64url(compact(header))
        return self.body(f"{head}.{payload}.{signature}"), {400, 422}

    def damaged(self, text):
        whole = bytearray(base64.b64decode(text))
        whole[self.chance.randrange(len(whole))] ^= 1 << self.chance.randrange(8)
        return base64.b64encode(whole).decode()

    def odd_segments(self):
        head, payload, signature = self.good.split(".")
        text = self.chance.choice([
            "", ".", "..", "...", head, f"{head}.{payload}", f"{head}.{payload}.",
            f"{head}..{signature}", f".{payload}.{signature}", self.good + ".x", self.good * 2,
            f"{head}.{payload}.{signature[:-8]}", f"{head}.{payload}.{signature}AAAA",
            f"{head}.{payload}.{'A' * 86}", f"{head}.{payload}.{'_' * 86}", "é.é.é", "a.b.c",
            f"{head}.{payload[:-4]}.{signature}", f"{payload}.{head}.{signature}",
        ])
        return self.body(text), {400, 422}

    def odd_payload(self):
        """Signed by the store, and yet no notification."""
        value = self.chance.choice([
            b"", b"\x00", b"{", b"null", b"[]", b"1e999", b"\xff\xfe", b"[" * 50_000,
            {}, {"notificationType": 1}, {"notificationUUID": None, "notificationType": "TEST"},
            {"notificationType": "X" * 10_000, "notificationUUID": "u", "data": []},
            {"notificationType": "TEST", "notificationUUID": "\u0000", "data": {}},
            {"notificationType": "TEST", "notificationUUID": self.chance.randbytes(4000).hex(),
             "data": {"bundleId": BUNDLE, "environment": "Production", "appAppleId": 1000000001}},
            {"notificationType": "TEST", "notificationUUID": self.life.identifier(),
             "signedDate": 1e30, "data": {"bundleId": BUNDLE, "environment": "Production"}},
            {"notificationType": "TEST", "notificationUUID": self.life.identifier(),
             "signedDate": -(1 << 63), "data": {"bundleId": BUNDLE, "environment": "Production"}},
            {"notificationType": "TEST", "notificationUUID": self.life.identifier(),
             "data": {"bundleId": BUNDLE, "environment": "Nowhere", "appAppleId": "x"}},
            self.odd_statement(),
        ])
        return self.body(self.store.sign(value)), {200, 202, 400, 422}

    def odd_statement(self):
        """A whole notification with a transaction that says something impossible."""
        name, value = self.chance.choice([
            ("expiresDate", -1), ("expiresDate", 1 << 62), ("purchaseDate", "soon"),
            ("price", 1 << 63), ("price", -5), ("quantity", 1e300), ("currency", "\u0000"),
            ("productId", "\u0000"), ("productId", "x" * 100_000), ("transactionId", ""),
            ("transactionId", "\u0000"), ("originalTransactionId", "/../" * 20),
            ("originalTransactionId", self.chance.randbytes(4000).hex()),
            ("appAccountToken", self.chance.randbytes(4000).hex()),
            ("environment", self.chance.randbytes(4000).hex()), ("appAccountToken", "\u0000"),
            ("appAccountToken", "x" * 5000), ("webOrderLineItemId", []), ("type", {}),
            ("environment", "\u0000"), ("revocationPercentage", 1 << 40),
            ("revocationDate", -(1 << 62)), ("offerPeriod", "P" * 500), ("storefront", 7)])
        _, signed = self.life.notification(self.life.transaction(**{name: value}))
        payload = signed.split(".")[1]
        return base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4))

    def changed_payload(self):
        head, payload, signature = self.good.split(".")
        whole = json.loads(base64.urlsafe_b64decode(payload + "=="))
        whole["notificationUUID"] = self.life.identifier()
        return self.body(f"{head}.{base64url(compact(whole))}.{signature}"), {422}

    def long_text(self):
        size = self.chance.choice([900_000, 1_048_577, 4 << 20])
        return b'{"signedPayload":"' + b"A" * size + b'"}', {400, 413}

    def odd_transactions(self):
        """For the door of the app's backend, which answers item by item."""
        items = self.chance.choice([
            None, 1, "x", [None], [1], [[]], ["", "."], ["a.b.c"] * 500, ["x"] * 501, {}, [],
            [self.good], [self.good[:-9]], [self.store.sign({})], [self.store.sign(b"[1]")],
            [self.store.sign(self.life.transaction(price=1 << 63))], ["\u0000"]])
        body = {"signedTransactions": items, "customer": self.chance.choice(
            ["u_1", "", "null", "a/b", "\u0000", "x" * 101, 5, None, [], "é" * 100])}
        return json.dumps(body).encode(), {200, 400, 422}, TRANSACTIONS


WIRE = [
    b"\r\n\r\n\r\n", b"GET\r\n\r\n", b"GET /healthz\r\n\r\n", b"GET  /healthz HTTP/1.1\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 80, b"\x00" * 100, b"\xff" * 100,
    b"G\x00T /healthz HTTP/1.1\r\nHost: a\r\n\r\n", b"GET /healthz HTTP/9.9\r\nHost: a\r\n\r\n",
    b"GET /healthz HTTP/1.1\r\n\r\n", b"GET /healthz HTTP/1.1\nHost: a\n\n",
    b"GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
    b"GET /healthz HTTP/1.1\r\nHost: a\r\n folded: x\r\n\r\n",
    b"GET /healthz HTTP/1.1\r\nHost : a\r\n\r\n", b"GET /healthz HTTP/1.1\r\n: a\r\n\r\n",
    b"GET /healthz HTTP/1.1\r\nHost: a\r\nX: \x00\r\n\r\n",
    b"GET " + b"/" + b"a" * 100_000 + b" HTTP/1.1\r\nHost: a\r\n\r\n",
    b"GET /healthz HTTP/1.1\r\nHost: a\r\n" + b"X: y\r\n" * 5_000 + b"\r\n",
    b"GET /healthz HTTP/1.1\r\nHost: a\r\nX: " + b"y" * 200_000 + b"\r\n\r\n",
    b"BREW /healthz HTTP/1.1\r\nHost: a\r\n\r\n", b"CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n",
    b"GET http://[::1 HTTP/1.1\r\nHost: a\r\n\r\n", b"GET /%zz HTTP/1.1\r\nHost: a\r\n\r\n",
    b"GET /%00 HTTP/1.1\r\nHost: a\r\n\r\n", b"GET /v1/../etc HTTP/1.1\r\nHost: a\r\n\r\n",
    b"GET /%ff%fe HTTP/1.1\r\nHost: a\r\n\r\n", b"GET * HTTP/1.1\r\nHost: a\r\n\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
]

FRAMING = [
    b"Content-Length: -1", b"Content-Length: +5", b"Content-Length: 5, 5", b"Content-Length: 0x5",
    b"Content-Length: 5\r\nContent-Length: 6", b"Content-Length: 99999999999999999999999",
    b"Content-Length: 5\r\nTransfer-Encoding: chunked", b"Transfer-Encoding: gzip",
    b"Transfer-Encoding: chunked, chunked", b"Transfer-Encoding: \x0bchunked",
    b"Transfer-Encoding: chunked, gzip", b"Content-Length: ", b"Content-Length: 5 5",
    b"Content-Length: 1048577", b"Expect: the-unexpected\r\nContent-Length: 5",
]

CHUNKS = [
    b"zz\r\n", b"-1\r\nx\r\n", b"5\nhello\n0\n\n", b"5\r\nhelloX", b"ffffffffffffffff\r\n",
    b"5;" + b"x" * 100_000, b"0\r\nbad trailer\r\n\r\n", b" 5\r\nhello\r\n0\r\n\r\n",
    b"0x5\r\nhello\r\n0\r\n\r\n", b"5\r\nhello\r\n\r\n", b"100001\r\n" + b"x" * 70_000,
    b"1\r\nx\r\n" * 3_000 + b"q\r\n",
]


def wire_request(chance, path=NOTIFICATIONS):
    """Bytes that are no proper request."""
    form = chance.randrange(3)
    head = b"POST " + path.encode() + b" HTTP/1.1\r\nHost: a\r\n"
    if form == 0:
        return chance.choice(WIRE)
    if form == 1:
        return head + chance.choice(FRAMING) + b"\r\n\r\nhello"
    return head + b"Transfer-Encoding: chunked\r\n\r\n" + chance.choice(CHUNKS)


def exchange(port, data):
    """What comes back on a connection that sends these bytes and then no more."""
    with socket.create_connection(("127.0.0.1", port), WIRE_SECONDS) as peer:
        try:
            peer.sendall(data)
            peer.shutdown(socket.SHUT_WR)
        except OSError:
            pass
        answer = b""
        try:
            while piece := peer.recv(65_536):
                answer += piece
        except ConnectionError:
            pass
        return answer


class Good:
    """Posts valid notifications all the time; every one has to be answered."""

    def __init__(self, ledger, life):
        self.ledger = ledger
        self.life = life
        self.wrong = []
        self.count = 0
        self.slowest = 0.0
        self.stopping = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        client = self.ledger.client(timeout=20)
        while not self.stopping.is_set():
            _, signed = self.life.notification(self.life.transaction())
            began = time.monotonic()
            try:
                answer = client.call("POST", NOTIFICATIONS, {"signedPayload": signed}, key=None)
                if answer.status != 200 or not answer["appended"]:
                    self.wrong.append(str(answer))
            except (OSError, HTTPException) as error:
                self.wrong.append(repr(error))
            self.slowest = max(self.slowest, time.monotonic() - began)
            self.count += 1
            time.sleep(0.005)

    def stop(self):
        self.stopping.set()
        self.thread.join(30)


class HalfOpen:
    """Connections that begin a request and never end it; those that were closed are made anew."""

    BEGINNINGS = [
        b"", b"P", b"POST /v1/apple", b"POST " + NOTIFICATIONS.encode() + b" HTTP/1.1\r\nHost: a",
        b"POST " + NOTIFICATIONS.encode()
        + b" HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n{\"signed",
        b"POST " + NOTIFICATIONS.encode()
        + b" HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel",
    ]

    def __init__(self, chance, port, count):
        self.chance = chance
        self.port = port
        self.peers = [self.begin() for _ in range(count)]

    def begin(self):
        peer = socket.create_connection(("127.0.0.1", self.port), 10)
        peer.sendall(self.chance.choice(self.BEGINNINGS))
        peer.setblocking(False)
        return peer

    def renew(self):
        """Opens those again that the daemon has had enough of; answers how many."""
        renewed = 0
        for index, peer in enumerate(self.peers):
            try:
                if peer.recv(4096):
                    continue
            except BlockingIOError:
                continue
            except OSError:
                pass
            peer.close()
            self.peers[index] = self.begin()
            renewed += 1
        return renewed

    def close(self):
        for peer in self.peers:
            peer.close()


def send_bodies(report, chance, bodies, client, count, deadline_note):
    """Sends so many bad bodies; each has to be answered clearly."""
    statuses = {}
    for number in range(count):
        path, body, allowed, kind = bodies.next()
        key = KEY if path == TRANSACTIONS or chance.random() < 0.1 else None
        try:
            answer = client.call("POST", path, body, key=key)
        except (OSError, HTTPException) as error:
            # Too long a body may be refused before it was sent to its end.
            client.close()
            report.check(f"a body ({kind}) is answered", len(body) > 1_048_576, repr(error))
            continue
        statuses[answer.status] = statuses.get(answer.status, 0) + 1
        name = f"a body ({kind}) gets one of {sorted(allowed)}"
        report.check(name, answer.status in allowed, f"{answer} for {body[:200]!r}")
        if answer.status >= 400:
            is_problem = answer.headers.get("Content-Type") == "application/problem+json"
            report.check(
                f"a refusal ({kind}) is a problem document with a code",
                is_problem and str(answer["code"]).startswith("SL")
                and answer["status"] == answer.status, answer)
            if answer.status == 422:
                report.check(f"a forgery ({kind}) has a reason", bool(answer["reason"]), answer)
        deadline_note(number)
    return statuses


def send_wire(report, chance, port, count):
    """Sends so many things that are no requests: a clear refusal, or a closed connection."""
    statuses = {}
    for _ in range(count):
        data = wire_request(chance)
        try:
            answer = exchange(port, data)
        except OSError as error:
            report.check("what is no request is answered or closed in time", False,
                         f"{error!r} for {data[:100]!r}")
            continue
        status = int(answer[9:12]) if answer.startswith(b"HTTP/1.1 ") else 0
        statuses[status] = statuses.get(status, 0) + 1
        # RFC 9110 answers an unknown version, method or coding with 505 and 501.
        clear = status == 0 and not answer or 400 <= status < 500 or status in (501, 505)
        report.check("what is no request is refused or its connection closed", clear,
                     f"{answer[:200]!r} for {data[:100]!r}")
        if status:
            report.check("its refusal has a code", b'"code":"SL' in answer.replace(b" ", b""),
                         f"{answer[:400]!r} for {data[:100]!r}")
    return statuses


def main():
    suite = Suite("hostile")
    report, chance = suite.report, suite.chance
    ledger = None
    try:
        store = Store()
        ledger = store.ledger(suite.binary)
        ledger.start()
        attack(suite, report, chance, ledger, store)
        report.equal("verify says no faults", ledger.command("verify", within=600).returncode, 0)
        report.equal("the daemon ends in order", ledger.stop(), 0)
    except RuntimeError as error:
        report.check("the suite ran to its end", False, error)
    finally:
        if ledger is not None:
            if report.failed:
                report.say(ledger.said())
            ledger.remove()
    report.finish()


def attack(suite, report, chance, ledger, store):
    count, held = suite.choose(1_000, 10_000), suite.choose(200, 1_000)
    bodies = Bodies(chance, store, Life(store, chance, suite.now()))
    life = Life(store, chance, suite.now())
    life.number = 1_000_000
    client = ledger.client()
    process = ledger.process.pid
    good = Good(ledger, life)
    half = HalfOpen(chance, ledger.port, held)
    warm = count // 2
    renewed = 0

    def tend(number):
        nonlocal renewed
        if number % 200 == 199:
            renewed += half.renew()

    try:
        send_bodies(report, chance, bodies, client, warm, tend)
        send_wire(report, chance, ledger.port, count // 10)
        before = resident_kib(process)
        statuses = send_bodies(report, chance, bodies, client, count, tend)
        wire = send_wire(report, chance, ledger.port, count // 5)
        time.sleep(0.5)
        growth = resident_kib(process) - before
    except (OSError, HTTPException) as error:
        report.check("the daemon takes connections", False, repr(error))
        return
    finally:
        good.stop()
        half.close()
    report.say(f"bodies answered: {statuses}; other bytes: {wire}; half-open: {held} held, "
               f"{renewed} made again; {good.count} good posts, slowest {good.slowest:.2f} s")
    report.say(f"resident: {before} KiB after warming up, {growth:+} KiB since")
    report.check("the daemon's memory stays flat", growth < GROWTH_KIB, f"{growth} KiB")
    report.equal("good posts that were not accepted meanwhile", good.wrong[:3], [])
    report.check("good posts went on", good.count > 50, good.count)
    report.check("the daemon lives", ledger.process.poll() is None)
    health = ledger.client().call("GET", "/readyz", key=None)
    report.equal("the daemon is ready", health.status, 200)


main()
