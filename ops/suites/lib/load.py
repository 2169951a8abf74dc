"""Readers and writers of a daemon in a process of their own, each with a connection that it keeps."""

import heapq
import json
import multiprocessing
import random
import selectors
import socket
import time

from ledger import KEY


class Load:
    """Asks and posts from a process of its own; made before the suite's first thread is.

    Readers ask for the answers of customers who all have access, over and over. Writers post what
    `posts` yields, signed already. Pauses are in seconds, between an answer and the next request.
    """

    def __init__(self, port, readers, writers, posts, pauses, seed):
        context = multiprocessing.get_context("fork")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(
            target=_play, args=(theirs, port, readers, writers, posts, pauses, seed), daemon=True)
        self.process.start()

    def begin(self, paths):
        """Lets the readers ask for these paths, and the writers write."""
        self.pipe.send(("begin", paths))

    def write(self, goes_on):
        """Lets the writers go on, or pause once they are answered; returns when they do."""
        self.pipe.send(("write", goes_on))
        self.pipe.recv()

    def end(self):
        """Ends all; what was found."""
        self.pipe.send(("end", None))
        found = self.pipe.recv()
        self.process.join()
        return found


class Found:
    """What came of a load."""

    def __init__(self):
        self.reads = []  # when each began and ended
        self.errors = []
        self.backwards = []
        self.without_access = []
        self.writes = 0
        self.entries = 0


class _Line:
    """One connection, with at most one request under way."""

    def __init__(self, port, is_writer, selector):
        self.port, self.is_writer, self.selector = port, is_writer, selector
        self.began = None
        self.floor = 0
        self.answer = b""
        self.socket = None

    def open(self):
        self.socket = socket.create_connection(("127.0.0.1", self.port), timeout=30)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.selector.register(self.socket, selectors.EVENT_READ, self)

    def close(self):
        self.selector.unregister(self.socket)
        self.socket.close()
        self.socket = None

    def send(self, method, path, body=b""):
        head = (f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {KEY}\r\n"
                f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n")
        if self.socket is None:
            self.open()
        self.began, self.answer = time.monotonic(), b""
        self.socket.sendall(head.encode() + body)

    def received(self):
        """Status and body once all has come; None before."""
        data = self.socket.recv(1 << 16)
        if not data:
            raise OSError("the daemon closed a connection that is kept")
        self.answer += data
        head, mark, body = self.answer.partition(b"\r\n\r\n")
        if not mark:
            return None
        length = head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0]
        if len(body) < int(length):
            return None
        return int(head[9:12]), json.loads(body)


class _Play:
    def __init__(self, pipe, port, readers, writers, posts, pauses, seed):
        self.pipe = pipe
        self.posts, self.pauses = posts, pauses
        self.chance = random.Random(seed)
        self.found = Found()
        self.due = []
        self.paused = []
        self.writes = True
        self.asked_to_pause = False
        self.floor = 0  # the highest position of an answer that has come
        self.selector = selectors.DefaultSelector()
        self.paths = []
        self.port, self.counts = port, (readers, writers)

    def run(self):
        self.paths = self.pipe.recv()[1]
        self.selector.register(self.pipe, selectors.EVENT_READ)
        for is_writer, count in zip((False, True), self.counts):
            for _ in range(count):
                self.wait(_Line(self.port, is_writer, self.selector), time.monotonic())
        while True:
            self.send_what_is_due()
            rest = self.due[0][0] - time.monotonic() if self.due else 1
            for key, _ in self.selector.select(max(0, rest)):
                if key.data is not None:
                    self.hear(key.data)
                elif not self.obey(*self.pipe.recv()):
                    self.pipe.send(self.found)
                    return

    def obey(self, word, value):
        if word == "write":
            self.writes = value
            self.asked_to_pause = True
            if value:
                for line in self.paused:
                    self.wait(line, time.monotonic())
                self.paused = []
            self.tell_when_paused()
        return word != "end"

    def tell_when_paused(self):
        is_done = self.writes or len(self.paused) == self.counts[1]
        if self.asked_to_pause and is_done:
            self.asked_to_pause = False
            self.pipe.send(True)

    def wait(self, line, now):
        pause = self.pauses[line.is_writer]
        heapq.heappush(self.due, (now + self.chance.uniform(0, 2 * pause), id(line), line))

    def send_what_is_due(self):
        while self.due and self.due[0][0] <= time.monotonic():
            line = heapq.heappop(self.due)[2]
            if line.is_writer and not self.writes:
                self.paused.append(line)
                self.tell_when_paused()
                continue
            line.floor = self.floor
            if line.is_writer:
                line.send("POST", "/v1/apple/notifications",
                          json.dumps({"signedPayload": next(self.posts)}).encode())
            else:
                line.send("GET", self.chance.choice(self.paths))

    def hear(self, line):
        try:
            heard = line.received()
        except (OSError, ValueError) as error:
            line.close()
            if line.began is not None:  # what idles for long may be closed
                self.found.errors.append(f"{type(error).__name__}: {error}")
                self.wait(line, time.monotonic())
            return
        if heard is None:
            return
        began, ended = line.began, time.monotonic()
        line.began = None
        status, body = heard
        position = body.get("position", -1)
        if status != 200:
            self.found.errors.append(f"{status} {body}"[:300])
        elif position < line.floor:
            # Older than an answer that had come before this one was asked for.
            self.found.backwards.append((line.floor, position))
        self.floor = max(self.floor, position)
        if line.is_writer:
            self.found.writes += 1
            self.found.entries += body.get("appended", 0)
        else:
            self.found.reads.append((began, ended))
            if status == 200 and body.get("active") is not True:
                self.found.without_access.append(body)
        self.wait(line, ended)


def _play(pipe, *words):
    try:
        _Play(pipe, *words).run()
    except EOFError:
        pass  # the suite is gone
