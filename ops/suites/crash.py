#!/usr/bin/env python3
"""Kills the daemon and its database while 64 posters post, and counts what is on the record.

crash.py BINARY [long]
"""

import collections
import os
import random
import signal
import sys
import threading
import time
from http.client import HTTPException

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
sys.dont_write_bytecode = True

from signer import Life, Store
from suite import Suite

POSTERS = 64
PATIENCE = 60  # seconds until a poster or a round is given up


class Posting:
    """What the posters share: what was answered, and when the last good answer came."""

    def __init__(self, ledger, life):
        self.ledger = ledger
        self.life = life
        self.lock = threading.Lock()
        self.answered = {}
        self.repeats = []
        self.recent = collections.deque(maxlen=256)
        self.odd = []
        self.retries = 0
        self.first = {}
        self.round = None
        self.stopping = threading.Event()

    def next(self, chance):
        """A new notification, or one that was posted before or is being posted now."""
        with self.lock:
            if self.recent and chance.random() < 0.15:
                return True, chance.choice(self.recent)
            transaction = self.life.transaction()
        identity, signed = self.life.notification(transaction)
        item = (identity, transaction, signed)
        with self.lock:
            self.recent.append(item)
        return False, item

    def note(self, item, is_repeat, sent, answer):
        with self.lock:
            if self.round is not None and sent > self.round and self.round not in self.first:
                self.first[self.round] = time.monotonic()
            said = (item[1], answer["position"], answer["appended"], answer["duplicate"])
            if item[0] in self.answered:
                self.repeats.append((item[0], said))
            elif not is_repeat or answer.status == 200:
                self.answered[item[0]] = said

    def post(self, seed):
        """One poster: tries each notification again until it is answered, as the store would."""
        chance = random.Random(seed)
        client = self.ledger.client(timeout=20)
        while not self.stopping.is_set():
            is_repeat, item = self.next(chance)
            deadline = time.monotonic() + PATIENCE
            while True:
                sent = time.monotonic()
                try:
                    answer = client.call(
                        "POST", "/v1/apple/notifications", {"signedPayload": item[2]}, key=None)
                    if answer.status == 200:
                        self.note(item, is_repeat, sent, answer)
                        break
                    if answer.status != 503:
                        with self.lock:
                            self.odd.append(str(answer))
                        break
                except (OSError, HTTPException):
                    pass
                with self.lock:
                    self.retries += 1
                if time.monotonic() > deadline:
                    with self.lock:
                        self.odd.append(f"{item[0]} was not answered in {PATIENCE} s")
                    break
                time.sleep(chance.uniform(0.02, 0.1))
        client.close()


def main():
    suite = Suite("crash")
    report, chance = suite.report, suite.chance
    rounds = ["daemon"] * suite.choose(3, 30) + ["postmaster"] * suite.choose(1, 8)
    chance.shuffle(rounds)
    ledger = None
    try:
        store = Store()
        ledger = store.ledger(suite.binary)
        ledger.start()
        posting = Posting(ledger, Life(store, chance, suite.now()))
        threads = [
            threading.Thread(target=posting.post, args=(report.seed + n,), daemon=True)
            for n in range(POSTERS)]
        for thread in threads:
            thread.start()
        times = play(report, chance, ledger, posting, rounds)
        time.sleep(0.5)
        posting.stopping.set()
        for thread in threads:
            thread.join(PATIENCE + 30)
        report.check("every poster came to its end", not any(t.is_alive() for t in threads))
        for kind, found in times.items():
            report.say(
                f"kill -9 of the {kind} to the first accepted append: "
                + ", ".join(f"{seconds:.2f}" for seconds in found) + " s")
        count(report, chance, ledger, posting)
    except (RuntimeError, OSError, HTTPException) as error:
        report.check("the suite ran to its end", False, error)
    finally:
        if ledger is not None:
            if report.failed:
                report.say(ledger.said())
            ledger.remove()
    report.finish()


def play(report, chance, ledger, posting, rounds):
    """Kills in turn; answers how long it took until something was accepted again."""
    times = collections.defaultdict(list)
    for kind in rounds:
        time.sleep(chance.uniform(0.4, 1.6))
        number = ledger.postmaster()
        with posting.lock:
            posting.round = killed = time.monotonic()
        if kind == "daemon":
            ledger.kill()
            ledger.start()
        elif report.check("a postmaster runs", number is not None):
            os.kill(number, signal.SIGKILL)
        deadline = killed + PATIENCE
        while killed not in posting.first and time.monotonic() < deadline:
            time.sleep(0.005)
        if not report.check(
                f"the ledger accepts again after kill -9 of the {kind}", killed in posting.first):
            break
        times[kind].append(posting.first[killed] - killed)
        alive = ledger.process.poll() is None
        report.check(f"the daemon lives after kill -9 of the {kind}", alive)
    return times


def count(report, chance, ledger, posting):
    """Compares what was answered with what is on the record."""
    report.equal("posts that were answered otherwise", posting.odd[:3], [])
    report.say(
        f"{len(posting.answered)} notifications answered, {len(posting.repeats)} of them again, "
        f"{posting.retries} posts tried again")
    entries = ledger.entries()
    positions = [entry["position"] for entry in entries]
    head = ledger.client().call("GET", "/v1/ledger/head")
    report.equal("the last entry is the head", positions[-1:], [head["position"]])
    report.check("positions have no hole", positions == list(range(1, len(positions) + 1)))
    heard = collections.Counter()
    bought = collections.Counter()
    place = {}
    for entry in entries:
        if entry["kind"] == "notified":
            identity = entry["body"]["notice"]["notificationUUID"]
            heard[identity] += 1
            place[identity] = entry["position"]
        elif entry["kind"] == "purchased":
            bought[entry["body"]["transaction"]["transactionId"]] += 1
    answered = posting.answered
    report.equal(
        "answered notifications that are not on the record exactly once",
        [n for n in answered if heard[n] != 1][:3], [])
    report.equal(
        "their transactions that are not on the record exactly once",
        [n for n, said in answered.items() if bought[said[0]["transactionId"]] != 1][:3], [])
    report.equal("notifications nobody posted", sorted(set(heard) - set(answered))[:3], [])
    report.equal(
        "answers whose position does not include the entry",
        [n for n, said in answered.items() if said[1] < place.get(n, 0)][:3], [])
    report.equal(
        "repeats that appended or were no duplicate",
        [r for r in posting.repeats if appended_twice(r, answered)][:3], [])
    verified = ledger.command("verify", within=600)
    report.equal("verify says no faults", verified.returncode, 0)
    report.say(verified.stdout.strip())
    client = ledger.client()
    for said in chance.sample(sorted(answered.values(), key=lambda s: s[1]), min(50, len(answered))):
        answer = client.call(
            "GET", f"/v1/customers/{said[0]['appAccountToken']}/entitlements/pro")
        report.equal("a customer of an answered purchase has access", answer["active"], True)
    report.equal("the daemon ends in order", ledger.stop(), 0)


def appended_twice(repeat, answered):
    """Whether both answers to one notification say that they appended it."""
    identity, (_, _, appended, duplicate) = repeat
    first = answered[identity]
    return first[2] > 0 and (appended > 0 or not duplicate)


main()
