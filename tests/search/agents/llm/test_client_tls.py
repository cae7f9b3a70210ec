"""Connections go to a checked address, yet the certificate has to be that of the name."""

from __future__ import annotations

import datetime
import socket
import ssl
import threading

import pytest
from llm_factories import endpoint_at, request_of

from search.agents.llm import client
from search.agents.llm.addresses import POLICIES
from search.agents.llm.client import ModelClient
from search.agents.llm.outcomes import CallOutcome, Charge
from tests.fakes.model_server import ModelServer, replies

x509 = pytest.importorskip("cryptography.x509")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A self-signed certificate of `models.example`, with its key, as a file."""
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "models.example")])
    now = datetime.datetime.now(datetime.UTC)
    signed = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("models.example")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    encoding, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    path = tmp_path_factory.mktemp("tls") / "both.pem"
    path.write_bytes(
        signed.public_bytes(encoding) + key.private_bytes(encoding, serialization.PrivateFormat.PKCS8, plain)
    )
    return path


@pytest.fixture
def server(certificate):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    with ModelServer(replies("over TLS"), tls=context) as running:
        yield running


@pytest.fixture
def lookups(monkeypatch):
    """Names resolve to this machine; the list of look-ups."""
    asked = []

    def look_up(host, port, *rest, **kwargs):
        asked.append(host)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]

    monkeypatch.setattr("socket.getaddrinfo", look_up)
    return asked


def sent_to(host, server):
    url = server.url.replace("http://127.0.0.1", f"https://{host}")
    return ModelClient(endpoint_at(url), POLICIES["loopback"]).send(request_of())


def test_the_name_is_verified_although_the_connection_goes_to_an_address(
    server, certificate, lookups, monkeypatch
):
    trusting = ssl.create_default_context(cafile=certificate)
    monkeypatch.setattr(client, "_tls", lambda: trusting)
    assert sent_to("models.example", server).text == "over TLS"
    assert lookups.count("models.example") == 1, "resolved once: a second answer could be another"
    other = sent_to("other.example", server)
    assert (other.outcome, other.charge) == (CallOutcome.UNAVAILABLE, Charge.NOTHING)
    assert "certificate" in other.detail


def test_an_unknown_certificate_is_refused_before_the_key_is_sent(server, lookups):
    reply = sent_to("models.example", server)
    assert (reply.outcome, reply.charge) == (CallOutcome.UNAVAILABLE, Charge.NOTHING)
    assert "certificate" in reply.detail
    assert server.seen == []


def test_a_server_that_reads_nothing_is_cut_off_at_the_deadline():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        host, port = silent.getsockname()
        taken = []
        threading.Thread(target=lambda: taken.append(silent.accept()), daemon=True).start()
        endpoint = endpoint_at(f"http://{host}:{port}/v1", deadline_s=0.5)
        reply = ModelClient(endpoint).send(request_of("x" * 20_000_000))
        for connection, _ in taken:
            connection.close()
    assert (reply.outcome, reply.charge) == (CallOutcome.TIMEOUT, Charge.CEILING)
    assert reply.latency_s < 1.5
