#!/usr/bin/env python3
"""Rebuilds every projection while 32 readers and 8 writers go on; kills rebuilds and resumes them; alters
rows by hand. Nobody may notice, and every rebuild must make the same rows.

rebuild.py BINARY [long]
"""

import bisect
import json
import math
import multiprocessing
import os
import random
import subprocess
import sys
import threading
import time
import uuid
from statistics import median

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
sys.dont_write_bytecode = True

from load import Load
from signer import MONTH, Life, Store
from suite import Suite

PROJECTIONS = ("subscriptions", "entitlements", "periods", "metrics")
READERS, WRITERS = 32, 8
PERIODS = 12
ENTRIES_OF_A_PERIOD = 3
ALLOWED_PAUSE = 0.05  # seconds
SETS_OF_MOMENTS = 20  # to which the flips are compared
ALLOWED_SNAPSHOT = 5.0  # seconds
SILENCE = 10  # seconds until a builder that is not heard of is taken for gone
MEMORY_MIB = (16, 64)
# Counts of workers, and of buckets in a range.
SIZES = ((1, None), (2, 1024), (8, None), (1, 1), (2, 7), (8, 64), (2, None))
LOCALE = "de_DE.UTF-8"  # where a comma stands before fractions
SURROUNDINGS = (
    {"TZ": "Asia/Kathmandu", "PGTZ": "Asia/Kathmandu", "PGDATESTYLE": "SQL, DMY"},
    {"LC_ALL": LOCALE, "LANG": LOCALE, "PGCLIENTENCODING": "LATIN1"},
    {"LC_ALL": "C", "PGOPTIONS": "-c timezone=America/St_Johns -c extra_float_digits=-15"
     " -c intervalstyle=iso_8601 -c bytea_output=escape -c lc_numeric=C.UTF-8"},
)


def p99(values):
    values = sorted(values)
    return values[math.ceil(len(values) * 0.99) - 1] if values else 0


class Past:
    """Lines that were renewed month by month up to now, signed by several processes."""

    def __init__(self, store, seed, now, lines):
        self.store, self.seed, self.now, self.lines = store, seed, now, lines

    def token(self, line):
        return str(uuid.UUID(int=random.Random(f"{self.seed}/{line}").getrandbits(128), version=4))

    def notification(self, number):
        """A line of JSON as `import notifications` takes it, a month of all lines after another."""
        period, line = divmod(number, self.lines)
        life = Life(self.store, random.Random(f"{self.seed}/{line}/{period}"), self.now)
        first = 4_000_000_000_000_000 + line * 100
        from_, start = (self.now - 86_400_000 - (PERIODS - 1 - p) * MONTH for p in (period, 0))
        transaction = life.transaction(
            transactionId=str(first + period), originalTransactionId=str(first),
            webOrderLineItemId=str(first + period), purchaseDate=from_,
            originalPurchaseDate=start, expiresDate=from_ + MONTH, signedDate=from_ + 1_000,
            transactionReason="RENEWAL" if period else "PURCHASE",
            appAccountToken=self.token(line))
        kind = {"notificationType": "DID_RENEW", "subtype": ""} if period else {}
        return json.dumps({"signedPayload": life.notification(transaction, **kind)[1]}) + "\n"

    @staticmethod
    def inherit(past):
        Past.mine = past  # in a process that signs: keys cannot be sent to it

    @staticmethod
    def signed(number):
        return Past.mine.notification(number)

    def bring(self, ledger):
        """Imports all of it while it is being signed."""
        process = subprocess.Popen(
            [ledger.binary, "import", "notifications", "-", "--json", "--config", ledger.file],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            env=ledger.environment())
        fork = multiprocessing.get_context("fork")
        with fork.Pool(os.cpu_count(), Past.inherit, (self,)) as pool:
            for line in pool.imap(Past.signed, range(self.lines * PERIODS), 64):
                process.stdin.write(line)
        said = process.communicate()[0]
        return process.returncode, json.loads(said or "{}")


class Flips:
    """Notes when another generation becomes live: between which two looks."""

    def __init__(self, ledger):
        self.found = []
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self._watch, args=(ledger,), daemon=True)
        self.thread.start()

    def _watch(self, ledger):
        client, last = ledger.client(), {}
        while not self.ended.is_set():
            for name in PROJECTIONS:
                asked = time.monotonic()
                live = client.call("GET", f"/v1/projections/{name}")["generation"]
                if name in last and last[name][1] != live:
                    self.found.append((last[name][0], time.monotonic()))
                last[name] = asked, live
            time.sleep(0.004)
        client.close()

    def end(self):
        self.ended.set()
        self.thread.join()
        return self.found


class Reads:
    """When each read began and ended, asked by the moments that they are over."""

    def __init__(self, reads):
        self.reads = sorted(reads)
        self.longest = max((end - begin for begin, end in reads), default=0)

    def near(self, old, new):
        """All that are over a moment, and some before it."""
        return self.reads[bisect.bisect(self.reads, (old - self.longest,)):
                          bisect.bisect(self.reads, (new,))]

    def over(self, moments):
        """How long those took that are over a moment. Units: seconds."""
        return [end - begin for old, new in moments for begin, end in self.near(old, new) if end > old]

    def silences(self, moments):
        """The longest time around each moment in which nobody was answered. Units: seconds."""
        for old, new in moments:
            ends = sorted(
                end for _, end in self.near(old - 0.1, new + 0.1) if old - 0.1 <= end <= new + 0.1)
            yield max((b - a for a, b in zip(ends, ends[1:])), default=0)


class Database:
    """The ledger's own database, as superuser."""

    def __init__(self, ledger):
        folder = os.path.join(ledger.directory, "data/cluster")
        self.words = ["psql", "-XAtq", "-v", "ON_ERROR_STOP=1", "-h",
                      self._socket(folder), "-U", "postgres", "-d", "postgres"]

    @staticmethod
    def _socket(folder):
        for found, _, files in os.walk(folder):
            if any(name.startswith(".s.PGSQL") and not name.endswith("lock") for name in files):
                return found
        raise RuntimeError("the cluster has no socket")

    def run(self, sql):
        result = subprocess.run([*self.words, "-c", sql], capture_output=True, text=True, check=False)
        if result.returncode != 0:
            raise RuntimeError(f"psql: {result.stderr}")
        return result.stdout.strip()

    def watch(self, sql, seconds):
        """A process that prints the answer over and over."""
        process = subprocess.Popen(
            self.words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            text=True)
        process.stdin.write(f"{sql}\n\\watch {seconds}\n")
        process.stdin.flush()
        return process


class Rebuilding:
    def __init__(self, suite):
        self.suite, self.report, self.chance = suite, suite.report, suite.chance
        self.store = Store()
        lines = suite.choose(10_000, 1_000_000) // (PERIODS * ENTRIES_OF_A_PERIOD)
        self.past = Past(self.store, self.report.seed, suite.now(), lines)
        self.ledger = self.store.ledger(suite.binary)
        self.load = Load(
            self.ledger.port, READERS, WRITERS, self.news(), {False: 0.04, True: 0.2},
            self.report.seed)
        self.outcomes = []
        self.rebuilding = 0, 0  # when `replaced` began and ended

    def news(self):
        """What writers post: first purchases, by customers of their own."""
        life = Life(self.store, random.Random(self.report.seed + 1), self.suite.now())
        while True:
            yield life.notification(life.transaction())[1]

    def play(self):
        try:
            self.ledger.start()
            self.client = self.ledger.client()
            self.fill()
            self.database = Database(self.ledger)
            # Whoever has an xid or a snapshot keeps dead rows from being removed.
            watch = self.database.watch(
                "select extract(epoch from clock_timestamp() - xact_start), application_name, "
                "translate(left(query, 300), E'\\n', ' ') from pg_stat_activity "
                "where backend_type = 'client backend' and pid <> pg_backend_pid() "
                "and xact_start is not null "  # it is briefly unknown while a session begins or ends one
                "and (backend_xid is not null or backend_xmin is not null);", 0.1)
            sample = self.chance.sample(range(self.past.lines), min(2_000, self.past.lines))
            self.load.begin(
                [f"/v1/customers/{self.past.token(line)}/entitlements/pro" for line in sample])
            time.sleep(2)
            flips = Flips(self.ledger)
            self.step(self.replaced)
            self.step(self.killed)
            flips = flips.end()
            self.load.write(False)
            for part in (self.same, self.altered, self.memory):
                self.step(part)
            watch.kill()
            self.judge(flips, self.load.end(), watch.communicate()[0])
            self.report.equal("the daemon ends in order", self.ledger.stop(), 0)
        finally:
            self.ledger.remove()

    def step(self, part):
        began = time.monotonic()
        part()
        self.report.say(f"{part.__name__}: {time.monotonic() - began:.0f} s")

    # The record.

    def fill(self):
        began = time.monotonic()
        code, said = self.past.bring(self.ledger)
        wanted = self.past.lines * PERIODS
        self.report.equal("the import ends well", (code, said.get("appended")), (0, wanted))
        self.level()
        head = self.client.call("GET", "/v1/ledger/head")["position"]
        self.report.say(
            f"{head} entries of {self.past.lines} lines in {time.monotonic() - began:.0f} s")

    def status(self, name):
        return self.client.call("GET", f"/v1/projections/{name}").json

    def level(self):
        """Waits until the live generations are level with the record."""
        deadline = time.monotonic() + self.suite.choose(30, 600)
        while any(self.status(name)["lag"] for name in PROJECTIONS):
            if time.monotonic() > deadline:
                self.report.check("projections come level", False)
                return
            time.sleep(0.05)

    def run(self, verb, name, *options, code=0, environment=None):
        """A command on a projection; what it says."""
        result = self.ledger.command(
            "projections", verb, name, "--json", *options, within=self.suite.choose(60, 1_200),
            environment=environment)
        self.report.equal(
            f"projections {verb} {name} ends with {code} {result.stderr[-300:]}",
            result.returncode, code)
        return json.loads(result.stdout) if result.stdout else {}

    # While readers and writers go on.

    def replaced(self):
        """Every projection, by command and by the daemon itself, without a rest."""
        begin = time.monotonic()
        for _ in range(self.suite.choose(2, 3)):
            for name in PROJECTIONS:
                said = self.run("rebuild", name)
                self.report.equal(f"a rebuild of {name} makes the same rows", said.get("equal"), True)
                self.outcomes.append((name, said.get("entries"), said.get("milliseconds")))
                answer = self.client.call("POST", f"/v1/projections/{name}/rebuild")
                self.report.equal("a rebuild is taken up", answer.status, 202)
                self.ends(name, answer["generation"], "live")
        self.rebuilding = begin, time.monotonic()

    def ends(self, name, number, state):
        """Waits until a generation is in a state, its rows those of the live one."""
        deadline = time.monotonic() + self.suite.choose(40, 600)
        while time.monotonic() < deadline:
            found = [g for g in self.status(name)["generations"] if g["generation"] == number]
            if found and found[0]["state"] == state:
                self.report.equal(
                    f"generation {number} of {name} has the live one's rows", found[0]["digest"],
                    found[0]["liveDigest"])
                self.report.check("and a digest", found[0]["digest"])
                return
            time.sleep(0.02)
        self.report.check(f"generation {number} of {name} becomes {state}", False, found)

    def killed(self):
        """Rebuilds and verifications that are killed at random points and go on elsewhere."""
        works = [(verb, name) for verb in ("verify", "rebuild") for name in PROJECTIONS]
        left, resumed = self.suite.choose(3, 20), 0
        while left > 0:
            # Several at once, so that the silence after a death passes once for all of them.
            begun = [(work, self.kill(*work)) for work in works[:left]]
            died = [(work, found) for work, found in begun if found is not None]
            left -= len(died)
            for (verb, name), found in died:
                if verb == "rebuild":  # the daemon itself goes on with it
                    self.ends(name, found["generation"], "live")
                else:
                    self.resume(name, found)
                resumed += found["done"] > 0
        self.report.check("some had folded something when they were killed", resumed > 0)

    def kill(self, verb, name):
        """Kills a command when a random share is folded; how far it was, None when it was done."""
        share = self.chance.uniform(0, 1.1)
        process = self.ledger.spawn(
            "projections", verb, name, "--json", "--workers", "1", "--range-buckets", "8")
        found = None
        while process.poll() is None:
            purpose = "verify" if verb == "verify" else "replace"
            building = [g for g in self.status(name)["generations"]
                        if g["state"] == "building" and g["purpose"] == purpose]
            if building:
                found = building[0]
                if found["done"] >= share * found["total"]:
                    break
                if share > 1 and found["phase"] != "folding" and found["done"] == found["total"]:
                    break
        is_killed = process.poll() is None
        process.kill()
        process.communicate()
        return found if is_killed else None

    def resume(self, name, found):
        deadline = time.monotonic() + SILENCE + self.suite.choose(20, 300)
        while time.monotonic() < deadline:
            result = self.ledger.command("projections", "verify", name, "--json", within=1_200)
            if "SL100" not in result.stderr:
                said = json.loads(result.stdout or "{}")
                self.report.equal(
                    f"a resumed verification of {name} finds the same rows {result.stderr[-300:]}",
                    (result.returncode, said.get("equal")), (0, True))
                self.report.equal("it is the one that was killed", said.get("generation"),
                                  found["generation"])
                self.report.equal("and folded what was left", said.get("entries"), found["total"])
                return
            time.sleep(0.5)
        self.report.check(f"a verification of {name} that was killed goes on", False)

    # While the record stands still.

    def surroundings(self):
        """Environments that no answer may depend on; the locale is made where it is used."""
        folder = os.path.join(self.ledger.directory, "locales")
        os.makedirs(folder, exist_ok=True)
        language, encoding = LOCALE.split(".")
        made = subprocess.run(
            ["localedef", "--no-archive", "-i", language, "-f", encoding,
             os.path.join(folder, LOCALE)], capture_output=True, text=True, check=False)
        told = subprocess.run(
            ["python3", "-c", "import locale as l; l.setlocale(l.LC_ALL, ''); print(l.str(0.5))"],
            env={**os.environ, "LOCPATH": folder, "LC_ALL": LOCALE}, capture_output=True,
            text=True, check=False)
        if told.stdout != "0,5\n":
            self.report.say(f"!! {LOCALE} cannot be made: ITS FRACTIONS WERE NOT PLAYED\n{made.stderr}")
        return [{"LOCPATH": folder, **one} for one in SURROUNDINGS]

    def same(self):
        """One digest, whatever the sizes and the surroundings."""
        self.level()
        surroundings = self.surroundings()
        for name in PROJECTIONS:
            digests = set()
            for workers, buckets in SIZES[:self.suite.choose(5, len(SIZES))]:
                range_ = [] if buckets is None else ["--range-buckets", str(buckets)]
                said = self.run("verify", name, "--workers", str(workers), *range_)
                digests.add((said.get("position"), said.get("digest"), said.get("liveDigest")))
            for environment in surroundings:
                said = self.run("verify", name, environment=environment)
                digests.add((said.get("position"), said.get("digest"), said.get("liveDigest")))
            self.report.check(f"{name} has one digest", len(digests) == 1, digests)
            _, built, live = digests.pop()
            self.report.check("which is the live one's", built and built == live, (built, live))

    def altered(self):
        """A row that the record does not make is found, and a rebuild mends it."""
        live = ("(select generation from projection.generation "
                "where projection = '%s' and is_live)")
        alterations = {
            "subscriptions": (
                "update projection.line set position = position + 1 where generation = {} and "
                "stream = (select max(stream) from projection.line where generation = {})",
                "delete from projection.transaction where generation = {} and transaction = "
                "(select min(transaction) from projection.transaction where generation = {})"),
            "entitlements": (
                "insert into projection.holding select generation, customer + 1, bucket, stream "
                "from projection.holding where generation = {} order by customer desc limit 1",),
        }
        for name, statements in alterations.items():
            for statement in statements:
                self.database.run(statement.replace("{}", live % name))
                said = self.run("verify", name, code=3)
                self.report.equal("a row altered by hand is found", said.get("equal"), False)
                self.report.equal(
                    "by the rebuild that mends it", self.run("rebuild", name).get("equal"), False)
                self.report.equal("and is mended", self.run("verify", name).get("equal"), True)

    def memory(self):
        """What a rebuild takes beyond what a command takes that does nothing."""
        idle = self.peak("projections", "list")
        for limit in MEMORY_MIB:
            self.ledger.write(projections={"memoryMiB": limit})
            for name in PROJECTIONS:
                peak = self.peak("projections", "rebuild", name)
                self.report.say(f"{name}, {limit} MiB: {(peak - idle) / 1024:.0f} MiB beyond idle")
                self.report.check(
                    f"a rebuild of {name} stays within {limit} MiB", peak - idle <= limit * 1024,
                    (peak, idle))

    def peak(self, *words):
        """The most that a command held in memory. Units: KiB."""
        process = self.ledger.spawn(*words)
        most = 0
        while process.poll() is None:
            try:
                with open(f"/proc/{process.pid}/status", encoding="utf-8") as file:
                    for line in file:
                        if line.startswith("VmHWM:"):
                            most = max(most, int(line.split()[1]))
            except OSError:
                pass
            time.sleep(0.002)
        said = process.communicate()[1]
        self.report.equal(f"{' '.join(words)} ends well {said[-300:]}", process.returncode, 0)
        return most

    # What others noticed.

    def moments(self, flips):
        """As many and as long as the flips, at random instants during rebuilds at which nothing flips.
        Reads over a moment are longer than reads are, since longer ones are over more of them."""
        begin, end = self.rebuilding
        moments = []
        for old, new in flips:
            start, near = begin, True
            while near:
                start = self.chance.uniform(begin, end - (new - old))
                near = any(start < other[1] + 0.1 and start + new - old > other[0] - 0.1
                           for other in flips)
            moments.append((start, start + new - old))
        return moments

    def judge(self, flips, found, transactions):
        report = self.report
        report.equal("reads and writes that were not answered", found.errors[:3], [])
        report.equal("answers older than one before", found.backwards[:3], [])
        report.equal("customers without access", found.without_access[:3], [])
        report.check("writers wrote all the while", found.writes > 0 and found.entries > 0)
        report.say(f"{len(found.reads)} reads, {found.writes} notifications posted meanwhile")
        for name, entries, milliseconds in self.outcomes:
            report.say(f"rebuild of {name}: {entries} entries in {milliseconds} ms")
        report.check("generations were flipped", len(flips) > 3, flips)
        begin, end = self.rebuilding
        reads = Reads(found.reads)
        flips = [(old, new) for old, new in flips if begin <= old and new <= end]
        over = reads.over(flips)
        others = [self.moments(flips) for _ in range(SETS_OF_MOMENTS)]
        other = [wait for moments in others for wait in reads.over(moments)]
        # The silences of a handful of flips are few: their p99 is the longest, and is compared to what
        # is the longest in as many others, by and large.
        pause = p99(reads.silences(flips))
        usual = median(p99(reads.silences(moments)) for moments in others)
        later = p99(over) - p99(other)
        report.say(
            f"{len(flips)} flips during rebuilds: nobody was answered for {pause * 1000:.1f} ms at p99, "
            f"{usual * 1000:.1f} ms at other moments")
        report.say(
            f"{len(over)} reads over them: p99 {p99(over) * 1000:.1f} ms, {p99(other) * 1000:.1f} ms for "
            f"{len(other)} over other moments")
        report.check("a flip pauses answers by at most 50 ms at p99", pause - usual <= ALLOWED_PAUSE,
                     (pause, usual))
        report.check("a flip delays reads by at most 50 ms at p99", later <= ALLOWED_PAUSE, later)
        report.check("reads overlapped flips", len(over) > len(flips), len(over))
        longest, what = max(
            ((float(age), what) for age, _, what in
             (line.partition("|") for line in transactions.split("\n") if line)), default=(0, ""))
        report.say(f"the longest transaction took {longest:.2f} s: {what}")
        report.check("no transaction is longer than 5 s", longest <= ALLOWED_SNAPSHOT, longest)


def main():
    suite = Suite("rebuild")
    Rebuilding(suite).play()
    suite.report.finish()


main()
