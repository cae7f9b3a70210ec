"""Python client of a site's API. It needs neither Django nor a database: `from kernelsite.api.client import Client`.

client = Client()                       # after `ks login`, or with KERNELSITE_URL and KERNELSITE_TOKEN
search = client.searches.launch("softmax", evaluations=40)
for event in search.watch():
    print(event.seq, event.text)
print(search.best().speedup)
"""

from __future__ import annotations

from kernelsite.api.client.client import Client
from kernelsite.api.client.credentials import Credentials, CredentialsError
from kernelsite.api.client.searches import Search
from kernelsite.api.client.transport import ApiError, UnreachableError

__all__ = ["ApiError", "Client", "Credentials", "CredentialsError", "Search", "UnreachableError"]
