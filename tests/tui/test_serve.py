"""The terminal UI in a browser: who gets in, and what leaves."""

import asyncio
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

import pytest

from .conftest import SAMPLES

aiohttp = pytest.importorskip("aiohttp", reason="textual-serve is not installed")
pytest.importorskip("textual_serve", reason="textual-serve is not installed")


COMMAND = [
    sys.executable,
    "-m",
    "fgtrace",
    "view",
    "--serve",
    str(SAMPLES / "factorial.fgtrace"),
]


@pytest.fixture(scope="module")
def served():
    """Serve a sample as a user does; gives the address without its token, and the token."""
    with subprocess.Popen(COMMAND, stderr=subprocess.PIPE, text=True) as process:
        lines = [process.stderr.readline(), process.stderr.readline()]
        found = re.search(r"open (http://127\.0\.0\.1:\d+)/\?token=(\S+)", lines[0])
        yield found[1], found[2], lines, process
        process.send_signal(signal.SIGINT)
        process.wait(10)


def answer(address, path="/", **headers):
    """Ask for a path; gives the status, the headers and the text."""
    request = urllib.request.Request(address + path, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=10) as reply:
            return reply.status, reply.headers, reply.read().decode(errors="replace")
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read().decode()


def test_without_the_token_nothing_is_given(served):
    address, token, *_ = served
    for path in ("/", "/ws", "/static/js/textual.js", "/download/x", f"/?token={token[:-1]}"):
        assert answer(address, path)[0] == 403
    assert answer(address, f"/?token={token}")[0] == 200


def test_the_first_page_gives_a_cookie_that_scripts_cannot_read(served):
    address, token, *_ = served
    cookie = answer(address, f"/?token={token}")[1]["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert answer(address, "/static/js/textual.js", Cookie=cookie.split(";")[0])[0] == 200


def test_another_host_name_is_refused_so_that_no_other_page_can_rebind_to_it(served):
    address, token, *_ = served
    assert answer(address, f"/?token={token}", Host="evil.example")[0] == 403
    port = address.rpartition(":")[2]
    assert answer(address, f"/?token={token}", Host=f"localhost:{port}")[0] == 200


@pytest.mark.parametrize("origin", [None, "http://evil.example", "null"])
def test_the_socket_is_for_a_page_of_its_own_address(served, origin):
    address, token, *_ = served
    headers = {} if origin is None else {"Origin": origin}
    assert answer(address, f"/ws?token={token}", **headers)[0] == 403


def test_the_page_names_no_other_address_and_its_policy_allows_none(served):
    address, token, *_ = served
    _, headers, page = answer(address, f"/?token={token}")
    assert not re.findall(r"https?://", page)
    assert "fonts.googleapis" not in page
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe-eval" not in policy
    assert set(re.findall(r"wss?://[^ ;]+|https?://[^ ;]+", policy)) == {
        address.replace("http", "ws")
    }


def test_the_first_screen_comes_over_the_socket(served):
    address, token, *_ = served

    async def look():
        seen = b""
        async with aiohttp.ClientSession() as session:
            headers = {"Origin": address}
            where = f"{address}/ws?token={token}&width=120&height=40"
            async with session.ws_connect(where, headers=headers) as screen:
                end = time.monotonic() + 60
                while b"Where one call goes" not in seen and time.monotonic() < end:
                    message = await screen.receive(timeout=30)
                    if message.type == aiohttp.WSMsgType.BINARY:
                        seen += message.data
        return seen

    assert b"Where one call goes" in asyncio.run(look())


def test_it_listens_on_loopback_only_and_says_how_to_reach_it(served):
    address, _, lines, _ = served
    port = int(address.rpartition(":")[2])
    assert f"ssh -L {port}:127.0.0.1:{port} " in lines[1]
    own = socket.gethostbyname(socket.gethostname())
    if not own.startswith("127."):
        with pytest.raises(OSError, match=r"refused|timed out"):
            socket.create_connection((own, port), timeout=2)


def test_ctrl_c_ends_it_and_the_app_of_an_open_page():
    with subprocess.Popen(COMMAND, stderr=subprocess.PIPE, text=True) as process:
        found = re.search(r"(http://[^/]+)/\?token=(\S+)", process.stderr.readline())

        async def open_page():
            async with aiohttp.ClientSession() as session:
                where = f"{found[1]}/ws?token={found[2]}"
                async with session.ws_connect(where, headers={"Origin": found[1]}) as screen:
                    await screen.receive(timeout=30)
                    begun = time.monotonic()
                    process.send_signal(signal.SIGINT)
                    await asyncio.to_thread(process.wait, 20)
                    return time.monotonic() - begun

        assert asyncio.run(open_page()) < 10
        listed = subprocess.run(
            ["ps", "-eo", "ppid,args"], capture_output=True, text=True, check=True
        )
        assert not [line for line in listed.stdout.splitlines() if f" {process.pid} " in line[:8]]
