"""Keys of providers at rest: encrypted, and bound to the origin that they were given for.

A key that is moved to another address's row does not open. The secret is `settings.MODEL_KEY_SECRETS`, newest first:
to rotate it, put a new word in front and type `manage.py reseal_keys`.
"""

from __future__ import annotations

import base64
import json

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings

INFO = b"kernelsite model endpoint keys"


class SealedKeyError(Exception):
    """The key does not open: another secret sealed it, or it was sealed for another address."""


def seal(key: str, origin: str) -> str:
    """Encrypt a key for an origin (scheme, host and port)."""
    return _vault().encrypt(json.dumps({"origin": origin, "key": key}).encode()).decode()


def unseal(sealed: str, origin: str) -> str:
    """The key.

    Raises:
        SealedKeyError: it was sealed with another secret or for another address.
    """
    try:
        document = json.loads(_vault().decrypt(sealed.encode()))
    except InvalidToken:
        raise SealedKeyError("the key was sealed with another secret; type it again") from None
    if document["origin"] != origin:
        raise SealedKeyError("the key was given for another host; type it again")
    return str(document["key"])


def reseal(sealed: str) -> str:
    """The same key under the newest secret.

    Raises:
        SealedKeyError: none of the secrets opens it.
    """
    try:
        return _vault().rotate(sealed.encode()).decode()
    except InvalidToken:
        raise SealedKeyError("none of the secrets opens this key") from None


def _vault() -> MultiFernet:
    return MultiFernet([Fernet(_derived(secret)) for secret in settings.MODEL_KEY_SECRETS])


def _derived(secret: str) -> bytes:
    derive = HKDF(algorithm=SHA256(), length=32, salt=None, info=INFO)
    return base64.urlsafe_b64encode(derive.derive(secret.encode()))
