"""The server answers one address, by its own name, on this machine, and nothing else."""

import http.client
import threading

import pytest

from adjoint import Tensor, view
from adjoint.viz.page import policy
from adjoint.viz.serve import PageServer


@pytest.fixture
def server():
    made = PageServer(view(Tensor.ones(2) + 1, show=False).html(), policy())
    thread = threading.Thread(target=made.run, daemon=True)
    thread.start()
    yield made
    made.stop()
    thread.join(10)


def asked(server, path, host=None, method="GET"):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=120)
    connection.putrequest(method, path, skip_host=True)
    for name in host if isinstance(host, list) else [host or f"127.0.0.1:{server.port}"]:
        if name:
            connection.putheader("Host", name)
    connection.endheaders()
    answer = connection.getresponse()
    found = answer.status, answer.read(), dict(answer.getheaders())
    connection.close()
    return found


def path_of(server):
    return "/" + server.address.split("/", 3)[3]


def test_the_page_is_there_with_its_policy(server):
    status, body, headers = asked(server, path_of(server))
    assert status == 200
    assert body.startswith(b"<!DOCTYPE html>")
    assert headers["Content-Security-Policy"].startswith("default-src 'none'")
    assert headers["X-Frame-Options"] == "DENY"
    assert headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize(
    "path", ["/", "/x", "/../../etc/passwd", "//etc/passwd", "/%2e%2e/", "{}x", "{}../", "{}?a=1"]
)
def test_no_other_path_is_answered(server, path):
    status, body, _ = asked(server, path.format(path_of(server)))
    assert (status, body) == (404, b"")


@pytest.mark.parametrize(
    "host", ["evil.example", "localhost:{}", "127.0.0.1", "127.0.0.1:1", ["a", "127.0.0.1:{}"]]
)
def test_no_other_name_is_answered(server, host):
    names = [n.format(server.port) for n in (host if isinstance(host, list) else [host])]
    status, body, _ = asked(server, path_of(server), names)
    assert (status, body) == (403, b"")


def test_a_request_without_a_name_is_refused(server):
    status, body, _ = asked(server, path_of(server), [""])
    assert (status, body) == (403, b"")


def test_it_listens_on_this_machine_alone(server):
    assert server._server.server_address[0] == "127.0.0.1"


def test_nothing_can_be_sent_to_it(server):
    for method in ("POST", "PUT", "DELETE", "OPTIONS"):
        status, _, _ = asked(server, path_of(server), method=method)
        assert status == 501


def test_tokens_are_long_and_differ():
    made = [PageServer("", policy()) for _ in range(2)]
    tokens = [s.address.rsplit("/", 2)[1] for s in made]
    for one in made:
        one._server.server_close()
    assert tokens[0] != tokens[1]
    assert min(map(len, tokens)) >= 30
