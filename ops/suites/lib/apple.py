"""A stand-in for Apple's server API of one environment, on loopback: histories, statuses, notifications."""

import base64
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

PAGE = 20
UNKNOWN = 404, {"errorCode": 4040010, "errorMessage": "Transaction id not found."}


def new_key():
    """A key and its text as in a `.p8` file."""
    key = ec.generate_private_key(ec.SECP256R1())
    return key, key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption())


class Apple:
    """Answers what was put into it; a customer's history is a list of payloads."""

    def __init__(self, store, key, bundle, environment="Production"):
        self.store, self.key, self.bundle = store, key.public_key(), bundle
        self.environment = environment
        self.histories = {}
        self.statuses = {}
        self.notifications = []
        self.calls = []
        # While it is set, nothing is answered.
        self.silence = threading.Event()
        self.ended = threading.Event()
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def address(self):
        return f"http://127.0.0.1:{self.server.server_address[1]}"

    def end(self):
        self.ended.set()
        self.server.shutdown()
        self.server.server_close()

    def revisions(self):
        """The revisions that histories were asked with, in order."""
        return [revision for path, revision in self.calls if "/history/" in path]

    def _answer(self, path, query, body, token):
        revision = query.get("revision", [None])[0]
        self.calls.append((path, revision))
        while self.silence.is_set() and not self.ended.is_set():
            time.sleep(0.01)
        if not self._accepts(token):
            return 401, None
        name = path.rsplit("/", 1)[1]
        if path.startswith("/inApps/v2/history/"):
            return self._history(name, revision)
        if path.startswith("/inApps/v1/subscriptions/") and name in self.statuses:
            return 200, self.statuses[name]
        if path == "/inApps/v1/notifications/history":
            span = range(body["startDate"], body["endDate"])
            found = [text for signed, text in self.notifications if signed in span]
            return 200, {
                "hasMore": False,
                "notificationHistory": [
                    {"signedPayload": text, "sendAttempts": []} for text in found]}
        return UNKNOWN

    def _history(self, name, revision):
        if name not in self.histories:
            return UNKNOWN
        known = self.histories[name]
        start = int(revision[1:]) if revision else 0
        end = min(start + PAGE, len(known))
        return 200, {
            "bundleId": self.bundle, "environment": self.environment, "revision": f"r{end}",
            "hasMore": end < len(known),
            "signedTransactions": [self.store.sign(payload) for payload in known[start:end]]}

    def _accepts(self, token):
        try:
            head, claims, signature = token.split(".")
            raw = _decoded(signature)
            encoded = encode_dss_signature(
                int.from_bytes(raw[:32], "big"), int.from_bytes(raw[32:], "big"))
            self.key.verify(encoded, f"{head}.{claims}".encode(), ec.ECDSA(hashes.SHA256()))
            said = json.loads(_decoded(claims))
            return (said["aud"] == "appstoreconnect-v1" and said["bid"] == self.bundle
                    and said["iat"] <= time.time() + 1 < said["exp"] <= said["iat"] + 3600)
        except (InvalidSignature, ValueError, KeyError):
            return False

    def _handler(self):
        apple = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_GET(self):
                url = urlsplit(self.path)
                raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                token = (self.headers.get("Authorization") or "").removeprefix("Bearer ")
                status, answer = apple._answer(
                    url.path, parse_qs(url.query), json.loads(raw) if raw else None, token)
                data = b"" if answer is None else json.dumps(answer).encode()
                try:
                    self.send_response(status)
                    self.send_header("Content-Length", str(len(data)))
                    self.end_headers()
                    self.wfile.write(data)
                except OSError:
                    pass  # whoever asked is gone

            do_POST = do_PUT = do_GET

            def handle(self):
                try:
                    super().handle()
                except OSError:
                    pass

        return Handler


def _decoded(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
