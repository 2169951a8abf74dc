#!/usr/bin/env python3
"""Runs every command as its user would, with and without a daemon, and ends and starts daemons.

commands.py BINARY [long]
"""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from http.client import HTTPException

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
sys.dont_write_bytecode = True

from ledger import CATALOG, free_port
from signer import Life, Store
from suite import Suite

NOTIFICATIONS = "/v1/apple/notifications"

COMMANDS = [
    "serve", "migrate", "import notifications", "import transactions", "entitlements", "timeline",
    "backfill", "reconcile", "replay", "keys create", "keys list", "keys revoke", "verify",
    "doctor",
    "import rates", "metrics", "export",
]


class Commands:
    """One ledger, its store, and what was put on its record."""

    def __init__(self, suite):
        self.suite = suite
        self.report = suite.report
        self.store = Store()
        self.life = Life(self.store, suite.chance, suite.now())
        self.ledger = self.store.ledger(suite.binary)

    def run(self, *words, code=0, **options):
        """Runs a command and checks its exit code and that a failure says something."""
        result = self.ledger.command(*words, **options)
        name = " ".join(words[:4])
        self.report.check(
            f"`{name}` ends with {code}", result.returncode == code,
            f"{result.returncode}: {result.stdout[-300:]} {result.stderr[-300:]}")
        if code in (1, 2):
            self.report.check(f"`{name}` says why on standard error", result.stderr.strip() != "")
        return result

    def lines(self, result):
        """The results of a command as JSON lines."""
        try:
            return [json.loads(line) for line in result.stdout.splitlines()]
        except ValueError:
            self.report.check("results are JSON lines", False, result.stdout[:300])
            return []

    def file(self, name, lines):
        path = os.path.join(self.ledger.directory, name)
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(
                line if isinstance(line, str) else json.dumps(line) + "\n" for line in lines)
        return path

    def notifications(self, count, **more):
        return [
            {"signedPayload": self.life.notification(self.life.transaction())[1], **more}
            for _ in range(count)]

    def transactions(self, count):
        return [{"signedTransaction": self.store.sign(self.life.transaction())}
                for _ in range(count)]

    def head(self):
        return self.ledger.client().call("GET", "/v1/ledger/head")["position"]

    # Words.

    def usage(self):
        text = self.run("--help", configured=False).stdout
        for name in COMMANDS:
            self.report.contains("--help names every command", text, name)
            own = self.run(*name.split(), "--help", configured=False).stdout
            self.report.contains(f"`{name} --help` shows its usage", own, f"usage: subledger {name}")
        for words, nearest in [
                (["serve", "--adopt-setings"], "--adopt-settings"),
                (["replay", "--knd", "x"], "--kind"), (["verifi"], "verify"),
                (["keys", "crate"], "create"), (["import", "notification"], "notifications"),
                (["keys", "create", "--role", "reed"], "read"),
                (["serve", "--config=x", "--lisen", "a:1"], "--listen")]:
            result = self.run(*words, code=2, configured=False)
            self.report.contains(
                f"`{' '.join(words)}` names the nearest", result.stderr, nearest)
            self.report.equal("and prints no result", result.stdout, "")
        for words in (["entitlements"], ["entitlements", "a", "b"], ["replay", "--from", "x"],
                      ["keys"], [], ["entitlements", "a", "--at", "soon"],
                      ["replay", "--line", "5"], ["entitlements", "null"]):
            self.run(*words, code=2, configured=len(words) > 1)
        broken = self.file("broken.json5", ['{listen: "127.0.0.1:0", aps: []}\n'])
        result = self.run("doctor", "--config", broken, code=2, configured=False)
        self.report.contains("an unknown member is named", result.stderr, "aps")

    # Without a daemon.

    def alone(self):
        self.report.equal("nothing runs at first", self.ledger.postmaster(), None)
        self.run("replay", code=1)
        self.quiet("replay of a ledger that is not there")
        self.run("migrate")
        self.quiet("migrate")
        self.run("migrate")
        self.report.equal("a migrated ledger is empty", self.run("replay").stdout, "")
        path = self.file("first.jsonl", self.notifications(20, customer="u_1"))
        result = self.run("import", "notifications", path)
        self.report.contains("an import says what it did", result.stdout, "appended 20")
        self.quiet("import")
        again = self.lines(self.run("import", "notifications", path, "--json"))
        self.report.equal(
            "the same import again appends nothing", again,
            [{"appended": 0, "known": 20, "quarantined": {}}])
        self.asking()
        self.quiet("reading commands")
        for words in (["verify"], ["doctor"], ["keys", "list"]):
            self.run(*words)
            self.run(*words, "--json")
        self.quiet("verify and doctor")
        self.interrupted()
        self.unread()

    def unread(self):
        """A reader that has seen enough, as `replay | head -1`, ends the command."""
        process = self.ledger.spawn("replay", bufsize=1)
        process.stdout.readline()
        process.stdout.close()
        _, err = process.communicate(timeout=30)
        self.report.equal("a command without a reader says nothing", err, "")
        self.quiet("a command without a reader")

    def quiet(self, what):
        """Checks that the last process has stopped the cluster."""
        self.report.equal(
            f"the cluster is stopped after {what}", self.ledger.postmaster(), None)

    def asking(self):
        text = self.run("entitlements", "u_1").stdout
        self.report.contains("a customer's verdict is told", text, "pro: active")
        told = self.lines(self.run("entitlements", "u_1", "--json"))
        self.report.check(
            "and told to machines", told and told[0]["entitlements"]["pro"]["active"] is True, told)
        self.report.contains(
            "whoever is not known holds nothing", self.run("entitlements", "u_2").stdout, "nothing")
        told = self.lines(self.run("entitlements", "u_1", "--at", "2001-01-01", "--json"))
        self.report.equal(
            "before the purchase there is no access",
            [t["entitlements"].get("pro", {}).get("active", False) for t in told], [False])
        early = self.lines(self.run("entitlements", "u_1", "--as-known-position", "1", "--json"))
        self.report.equal(
            "nothing was known at first", [t["entitlements"] for t in early], [{}])
        story = self.run("timeline", "u_1").stdout
        self.report.contains("the timeline tells the purchase", story, "purchased: pro.monthly")
        told = self.lines(self.run("timeline", "u_1", "--json"))
        self.report.check("the timeline has entries", len(told) >= 20, len(told))

    def interrupted(self):
        count = self.suite.choose(3_000, 30_000)
        path = self.file("many.jsonl", self.transactions(count))
        process = self.ledger.spawn("import", "transactions", path, "--json")
        deadline = time.monotonic() + 30
        while self.ledger.postmaster() is None and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(self.suite.chance.uniform(0.3, 0.6))
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
        self.report.check(
            "an interrupted import ends with 130", process.returncode in (130, -signal.SIGINT),
            f"{process.returncode} {out} {err[-300:]}")
        self.quiet("an interrupted import")
        result = self.lines(self.run("import", "transactions", path, "--json"))
        self.report.check(
            "run again, it ends complete",
            result and result[0]["appended"] + result[0]["known"] == count
            and not result[0]["quarantined"], result)
        self.report.say(f"interrupted import: {result} of {count}")
        known = {entry["body"]["transaction"]["transactionId"]
                 for entry in self.ledger.entries() if entry["kind"] == "purchased"}
        self.report.equal("every transaction is there once", len(known), count + 20)

    # Beside a daemon.

    def beside(self):
        self.ledger.start()
        number = self.ledger.postmaster()
        self.report.check("the daemon's cluster runs", number is not None)
        self.imports()
        self.asking()
        self.replays()
        self.keys()
        self.doctor()
        self.run("migrate")
        verified = self.lines(self.run("verify", "--json"))
        self.report.check(
            "verify counts entries and faults",
            verified and verified[0]["faults"] == [] and verified[0]["position"] == self.head()
            and verified[0]["signatures"] > 20, verified)
        self.report.contains("verify says so", self.run("verify").stdout, "0 faults")
        self.report.equal(
            "commands leave the daemon's cluster alone", self.ledger.postmaster(), number)
        self.report.equal(
            "the daemon is ready", self.ledger.client().call("GET", "/readyz").status, 200)

    def imports(self):
        good = self.notifications(3)
        stranger = Store()
        other = Life(stranger, self.suite.chance, self.suite.now())
        mixed = good + [
            {"signedPayload": other.notification(other.transaction())[1]},
            {"signedPayload": self.life.notification(
                self.life.transaction(bundleId="com.example.other"))[1]}, "\n"]
        result = self.lines(self.run(
            "import", "notifications", "-", "--json",
            stdin="".join(x if isinstance(x, str) else json.dumps(x) + "\n" for x in mixed)))
        self.report.equal(
            "standard input is read, and what is not believed is counted by reason", result,
            [{"appended": 3, "known": 0, "quarantined": {"untrusted_root": 1, "wrong_app": 1}}])
        renewal = self.life.transaction()
        both = self.file("both.jsonl", [
            {"signedTransaction": self.store.sign(renewal), "customer": "u_3"},
            {"signedRenewalInfo": self.store.sign(self.life.renewal(renewal))}])
        result = self.lines(self.run("import", "transactions", both, both, "--json"))
        self.report.equal(
            "two files are read, the second known by then", result,
            [{"appended": 2, "known": 2, "quarantined": {}}])
        for line, why in [("{\n", "no JSON"), ('{"a": 1}\n', "no evidence"), ("[]\n", "a list"),
                          ('{"signedPayload": 5}\n', "a number"), ("\x00\n", "a NUL"),
                          ('{"signedPayload": "a.b.c", "customer": "null"}\n', "nobody")]:
            bad = self.file("bad.jsonl", good[:2] + [line])
            result = self.run("import", "notifications", bad, code=1)
            self.report.contains(f"a bad line ({why}) is named", result.stderr, "bad.jsonl:3")
        self.run("import", "notifications", "no-such-file", code=2)

    def replays(self):
        every = self.lines(self.run("replay"))
        self.report.equal(
            "replay prints every entry", [e["position"] for e in every],
            list(range(1, self.head() + 1)))
        some = self.lines(self.run("replay", "--from", "5", "--to", "9"))
        self.report.equal("a range", some, every[4:9])
        kinds = self.lines(self.run("replay", "--kind", "purchased", "--kind", "notified"))
        self.report.equal(
            "two kinds", kinds, [e for e in every if e["kind"] in ("purchased", "notified")])
        stream = next(e["stream"] for e in every if e["kind"] == "purchased")
        line = self.lines(self.run("replay", "--line", stream.removeprefix("apple/")))
        self.report.equal("a line", line, [e for e in every if e["stream"] == stream])
        mine = self.lines(self.run("replay", "--customer", "u_3"))
        bought = [e for e in mine if e["kind"] == "purchased"]
        self.report.equal("a customer", len(bought), 1)
        self.report.equal(
            "nobody's", self.lines(self.run("replay", "--customer", "nobody-knows")), [])
        then = every[9]["recordedAt"]
        known = self.lines(self.run("replay", "--as-known-at", then))
        self.report.equal(
            "what was known at an instant", known, [e for e in every if e["recordedAt"] <= then])
        self.run("replay", "--as-known-at", "yesterday", code=2)

    def keys(self):
        client = self.ledger.client
        made = self.lines(self.run("keys", "create", "--role", "read", "--name", "a", "--json"))[0]
        self.report.equal("a key has the role asked for", made["roles"], ["read"])
        read = client(key=made["secret"])
        ask = "/v1/customers/u_1/entitlements"
        self.report.equal("a new key reads", read.call("GET", ask).status, 200)
        denied = read.call("POST", "/v1/apple/transactions", {"signedTransactions": ["x"]})
        self.report.equal("without the role it is 403", denied.status, 403)
        self.report.equal("a 403 is a problem", denied["status"], 403)
        other = self.run("keys", "create", "--role", "ingest").stdout
        ingest = client(key=other.split()[-1])
        self.report.equal("a key that ingests does not read", ingest.call("GET", ask).status, 403)
        answer = ingest.call(
            "POST", "/v1/apple/transactions",
            {"signedTransactions": [self.store.sign(self.life.transaction())]})
        self.report.equal("but ingests", answer.status, 200)
        for key in (None, "", "nonsense", made["secret"] + "x"):
            self.report.equal("no valid key is 401", client(key=key).call("GET", ask).status, 401)
        listed = self.lines(self.run("keys", "list", "--json"))
        self.report.check("both are listed", len(listed) >= 2, listed)
        told = self.run("keys", "list").stdout + json.dumps(listed)
        self.report.check("the list does not show keys", made["secret"] not in told)
        self.run("keys", "revoke", made["id"])
        began = time.monotonic()
        while read.call("GET", ask).status != 401 and time.monotonic() - began < 10:
            time.sleep(0.05)
        seconds = time.monotonic() - began
        self.report.check("a revoked key is refused within seconds", seconds < 6, seconds)
        self.run("keys", "revoke", made["id"], code=1)
        self.run("keys", "revoke", "key_unknown", code=1)

    def doctor(self):
        found = self.lines(self.run("doctor", "--json"))
        self.report.check("every check is well", found and all(f["ok"] for f in found), found)
        roots = self.ledger.configuration["apple"]
        self.ledger.write(apple={"rootCertificates": ["missing.der"]})
        found = self.lines(self.run("doctor", "--json", code=3))
        wrong = [f for f in found if not f["ok"]]
        self.report.check(
            "a missing root is named, with what to do",
            len(wrong) == 1 and "missing.der" in wrong[0]["problem"] and wrong[0]["remedy"], found)
        self.report.contains("and told", self.run("doctor", code=3).stdout, "WRONG")
        self.ledger.write(apple=roots)

    # Starting and ending.

    def sharing(self):
        """Whoever comes last stops the cluster; nobody depends on another's child."""
        ledger = self.ledger
        number = ledger.postmaster()
        reader = ledger.spawn("import", "notifications", "-", stdin=subprocess.PIPE)
        # It has joined when it holds the lock of users beside the daemon.
        time.sleep(1)
        self.report.equal("the daemon ends in order", ledger.stop(), 0)
        self.report.equal("a command keeps the cluster up", ledger.postmaster(), number)
        ledger.start()
        self.report.equal("the next daemon joins it", ledger.postmaster(), number)
        reader.communicate(json.dumps(self.notifications(1)[0]) + "\n", timeout=30)
        self.report.equal("the command ends well", reader.returncode, 0)
        self.report.equal("and leaves the cluster up", ledger.postmaster(), number)
        self.report.equal("the daemon ends in order", ledger.stop(), 0)
        self.quiet("the last process")
        starter = ledger.spawn("import", "notifications", "-", stdin=subprocess.PIPE)
        deadline = time.monotonic() + 30
        while ledger.postmaster() is None and time.monotonic() < deadline:
            time.sleep(0.02)
        ledger.start()
        starter.kill()
        starter.communicate()
        answer = ledger.client().call("POST", NOTIFICATIONS, self.notifications(1)[0], key=None)
        self.report.equal("a daemon outlives the command that started its cluster",
                          answer.status, 200)

    def second(self):
        """A second daemon on the same address is refused; on another it shares the ledger."""
        ledger = self.ledger
        result = self.run("serve", code=1)
        self.report.contains("the address that is taken is named", result.stderr, str(ledger.port))
        other = subprocess.Popen(
            [ledger.binary, "serve", "--config", ledger.file, "--listen",
             f"127.0.0.1:{free_port()}"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            text=True, env=ledger.environment())
        port = int(other.stdout.readline().rsplit(":", 1)[1])
        clients = [ledger.client(), ledger.client()]
        clients[1].port = port
        positions = []
        for number in range(10):
            answer = clients[number % 2].call(
                "POST", NOTIFICATIONS, self.notifications(1)[0], key=None)
            self.report.equal("both daemons append", (answer.status, answer["appended"]), (200, 3))
            positions.append(answer["position"])
        self.report.equal("at positions of one row", positions,
                          list(range(positions[0], positions[0] + 30, 3)))
        other.send_signal(signal.SIGTERM)
        self.report.equal("the second ends in order", other.wait(15), 0)
        self.report.equal("the first goes on", clients[0].call("GET", "/readyz").status, 200)

    def termination(self):
        """SIGTERM while requests are in flight: what was accepted is answered."""
        ledger = self.ledger
        answered, lock, stopping = set(), threading.Lock(), threading.Event()

        def post():
            client = ledger.client(timeout=20)
            while not stopping.is_set():
                identity, signed = self.life.notification(self.life.transaction())
                try:
                    answer = client.call(
                        "POST", NOTIFICATIONS, {"signedPayload": signed}, key=None)
                except (OSError, HTTPException):
                    return
                if answer.status == 200:
                    with lock:
                        answered.add(identity)

        before = self.head()
        threads = [threading.Thread(target=post, daemon=True) for _ in range(16)]
        for thread in threads:
            thread.start()
        half, rest = self.half_sent()
        waiting = []
        poll = threading.Thread(target=lambda: waiting.append(self.poll()), daemon=True)
        poll.start()
        time.sleep(self.suite.chance.uniform(0.3, 0.8))
        began = time.monotonic()
        ledger.process.send_signal(signal.SIGTERM)
        time.sleep(0.1)
        half.sendall(rest)
        answer = half.recv(65_536)
        self.report.check("a request begun before the signal is answered",
                          answer.startswith(b"HTTP/1.1 200"), answer[:200])
        try:
            code = ledger.process.wait(20)
        except subprocess.TimeoutExpired:
            code = None
        seconds = time.monotonic() - began
        stopping.set()
        for thread in [*threads, poll]:
            thread.join(20)
        self.report.equal("SIGTERM ends the daemon in order", code, 0)
        self.report.check("within 10 s", seconds < 10, seconds)
        self.report.say(f"SIGTERM to the end: {seconds:.2f} s, {len(answered)} answered")
        self.report.equal("a long poll is answered then", waiting, [200])
        self.quiet("SIGTERM")
        entries = self.lines(self.run("replay", "--from", str(before + 1), "--kind", "notified"))
        heard = {e["body"]["notice"]["notificationUUID"] for e in entries}
        self.report.equal("everything answered is on the record", sorted(answered - heard)[:3], [])
        self.report.equal(
            "everything recorded was answered (but the one half sent)",
            len(heard - answered), 1)

    def half_sent(self):
        """A request without its last bytes, and those."""
        body = json.dumps(self.notifications(1)[0]).encode()
        half = socket.create_connection(("127.0.0.1", self.ledger.port), 15)
        head = f"POST {NOTIFICATIONS} HTTP/1.1\r\nHost: a\r\nContent-Length: {len(body)}\r\n\r\n"
        half.sendall(head.encode() + body[:-10])
        return half, body[-10:]

    def poll(self):
        """How a long poll ends."""
        try:
            return self.ledger.client().call(
                "GET", f"/v1/entries?after={1 << 40}&wait=30").status
        except (OSError, HTTPException) as error:
            return type(error).__name__

    def settings(self):
        """A file that differs from the record is refused, or adopted."""
        ledger = self.ledger
        ledger.write(ownership="lastPresenter", catalog={"products": {
            **CATALOG["products"], "coins": {"kind": "consumable"}}})
        result = self.run("serve", code=2)
        for part in ("ownership", "coins", "--adopt-settings"):
            self.report.contains("the difference is told", result.stderr, part)
        self.run("import", "notifications", "-", stdin="", code=2)
        self.quiet("refused settings")
        ledger.start("--adopt-settings")
        kinds = [e["kind"] for e in ledger.entries()[-2:]]
        self.report.equal("adopting them records them", kinds, ["settingsChanged", "catalogChanged"])
        head = self.head()
        self.report.equal("the daemon ends in order", ledger.stop(), 0)
        ledger.start()
        self.report.equal("the next start records nothing", self.head(), head)
        self.report.equal("the daemon ends in order", ledger.stop(), 0)
        self.quiet("the end")


def main():
    suite = Suite("commands")
    commands = Commands(suite)
    try:
        for part in (
                commands.usage, commands.alone, commands.beside, commands.sharing,
                commands.second, commands.termination, commands.settings):
            part()
    except (RuntimeError, OSError, HTTPException, LookupError, ValueError) as error:
        suite.report.check("the suite ran to its end", False, repr(error))
    finally:
        if suite.report.failed:
            suite.report.say(commands.ledger.said())
        commands.ledger.remove()
    suite.report.finish()


main()
