"""A store of our own: a root, an intermediate and a leaf with Apple's markers, and what they sign."""

import base64
import datetime
import json
import os
import uuid

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

from ledger import CATALOG, Ledger

LEAF_MARKER = "1.2.840.113635.100.6.11.1"
INTERMEDIATE_MARKER = "1.2.840.113635.100.6.2.1"


def base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def compact(value):
    return json.dumps(value, separators=(",", ":")).encode()


def certificate(name, key, issuer, issuer_key, is_authority, marker):
    """A certificate of ten years, two of them past."""
    now = datetime.datetime(2024, 1, 1)
    builder = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)]))
        .issuer_name(x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, issuer)]))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now)
        .not_valid_after(now + datetime.timedelta(days=3650))
        .add_extension(x509.BasicConstraints(is_authority, None), critical=True)
    )
    if marker:
        builder = builder.add_extension(
            x509.UnrecognizedExtension(x509.ObjectIdentifier(marker), b"\x05\x00"), critical=False
        )
    return builder.sign(issuer_key, hashes.SHA256())


class Store:
    """Signs as Apple does: ES256, three certificates in the header."""

    def __init__(self, leaf_marker=LEAF_MARKER):
        root_key = ec.generate_private_key(ec.SECP256R1())
        middle_key = ec.generate_private_key(ec.SECP256R1())
        self.key = ec.generate_private_key(ec.SECP256R1())
        root = certificate("Suite Root", root_key, "Suite Root", root_key, True, None)
        middle = certificate(
            "Suite Intermediate", middle_key, "Suite Root", root_key, True, INTERMEDIATE_MARKER
        )
        leaf = certificate(
            "Suite Leaf", self.key, "Suite Intermediate", middle_key, False, leaf_marker
        )
        chain = [c.public_bytes(serialization.Encoding.DER) for c in (leaf, middle, root)]
        self.root = chain[2]
        self.x5c = [base64.b64encode(c).decode() for c in chain]
        self.header = base64url(compact({"alg": "ES256", "x5c": self.x5c}))

    def signature(self, text):
        r, s = decode_dss_signature(self.key.sign(text, ec.ECDSA(hashes.SHA256())))
        return r.to_bytes(32, "big") + s.to_bytes(32, "big")

    def sign(self, payload, header=None):
        """A compact JWS of a value, or of bytes as they are."""
        body = payload if isinstance(payload, bytes) else compact(payload)
        head = self.header if header is None else base64url(compact(header))
        text = f"{head}.{base64url(body)}"
        return f"{text}.{base64url(self.signature(text.encode()))}"

    def ledger(self, binary):
        """A ledger that takes what this store signs for Production, not yet started."""
        ledger = Ledger(binary, {})
        ledger.write(
            apps=[{"bundleId": BUNDLE, "appAppleId": 1000000001, "environments": ["Production"]}],
            apple={"rootCertificates": [self.write_root(ledger.directory)]}, catalog=CATALOG)
        return ledger

    def write_root(self, directory):
        path = os.path.join(directory, "root.der")
        with open(path, "wb") as file:
            file.write(self.root)
        return path


BUNDLE = "com.example.suite"
PRODUCT = "pro.monthly"
MONTH = 30 * 86_400_000


class Life:
    """Makes what the store would send about customers of one app, from a seeded source of chance."""

    def __init__(self, store, chance, now, environment="Production", app=1000000001):
        self.store = store
        self.chance = chance
        self.now = now
        self.environment = environment
        self.app = app
        self.number = 0

    def identifier(self):
        return str(uuid.UUID(int=self.chance.getrandbits(128), version=4))

    def transaction(self, **changes):
        """The payload of a first purchase that is running now."""
        self.number += 1
        number = str(2_000_000_000_000_000 + self.number)
        payload = {
            "transactionId": number, "originalTransactionId": number,
            "webOrderLineItemId": str(3_000_000_000_000_000 + self.number),
            "bundleId": BUNDLE, "productId": PRODUCT, "subscriptionGroupIdentifier": "G1",
            "purchaseDate": self.now - 86_400_000, "originalPurchaseDate": self.now - 86_400_000,
            "expiresDate": self.now - 86_400_000 + MONTH, "quantity": 1,
            "type": "Auto-Renewable Subscription", "inAppOwnershipType": "PURCHASED",
            "signedDate": self.now - 86_399_000, "environment": self.environment,
            "transactionReason": "PURCHASE", "storefront": "USA", "storefrontId": "143441",
            "price": 9990, "currency": "USD", "appAccountToken": self.identifier(),
        }
        payload.update(changes)
        return payload

    def renewal(self, transaction, **changes):
        payload = {
            "originalTransactionId": transaction["originalTransactionId"],
            "autoRenewProductId": transaction["productId"], "productId": transaction["productId"],
            "autoRenewStatus": 1, "signedDate": transaction["signedDate"],
            "environment": transaction["environment"], "renewalDate": transaction["expiresDate"],
        }
        payload.update(changes)
        return payload

    def notification(self, transaction, **changes):
        """The signed notification of a purchase, and its identity."""
        data = {
            "appAppleId": self.app, "bundleId": transaction["bundleId"], "bundleVersion": "1",
            "environment": transaction["environment"], "status": 1,
            "signedTransactionInfo": self.store.sign(transaction),
            "signedRenewalInfo": self.store.sign(self.renewal(transaction)),
        }
        payload = {
            "notificationType": "SUBSCRIBED", "subtype": "INITIAL_BUY",
            "notificationUUID": self.identifier(), "version": "2.0",
            "signedDate": transaction["signedDate"] + 25, "data": data,
        }
        payload.update(changes)
        return payload["notificationUUID"], self.store.sign(payload)
