"""Downloads: from a server on this machine that misbehaves on request."""

import contextlib
import hashlib
import http.server
import os
import socket
import subprocess
import sys
import threading
import time

import pytest
import watched
from paddle.dataset import _sets, _transfer, common

CONTENT = bytes(range(256)) * 4000
MD5 = hashlib.md5(CONTENT).hexdigest()


class Handler(http.server.BaseHTTPRequestHandler):
    """/good; /cut breaks off after a third; /whole ignores ranges; /wrong has other bytes."""

    protocol_version = "HTTP/1.0"

    def do_GET(self):
        requests = self.server.requests
        wanted = self.headers.get("Range")
        requests.append((self.path, wanted))
        if self.path == "/absent":
            return self.send_error(404)
        if self.path == "/busy" and len(requests) < 3:
            return self.send_error(503)
        content = CONTENT[::-1] if self.path == "/wrong" else CONTENT
        start = 0
        if wanted and self.path != "/whole":
            start = int(wanted[len("bytes=") : -1])
            if start >= len(content):
                return self.send_error(416)
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        else:
            self.send_response(200)
        body = content[start:]
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.path == "/cut" and len(requests) < 3:
            body = body[: len(content) // 3]
        if self.path == "/always_cut":
            body = body[:1000] if start == 0 else b""
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.requests = []
        server.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.delenv("FLT_DOWNLOAD", raising=False)
    monkeypatch.delenv("FLT_TEST_DATA", raising=False)
    monkeypatch.setattr(common, "DATA_HOME", str(tmp_path / "sets"))
    monkeypatch.setattr(_sets, "_found", {})
    monkeypatch.setattr(_transfer, "_unreachable", {})
    return tmp_path


def read(path):
    with open(path, "rb") as file:
        return file.read()


def names(folder):
    return sorted(name for name in os.listdir(folder) if name != ".lock")


def test_a_file_is_fetched_once(server, home, capsys):
    path = common.download(server.url + "/good", "some", MD5)
    assert path == str(home / "sets" / "some" / "good") and read(path) == CONTENT
    assert common.download(server.url + "/good", "some", MD5) == path
    assert server.requests == [("/good", None)]
    assert names(os.path.dirname(path)) == ["good"]
    assert capsys.readouterr().err == ""  # no bar where there is no terminal


def test_a_lock_whose_holder_stopped_is_not_waited_for(server, home, monkeypatch):
    monkeypatch.setattr(_transfer, "LOCK_SECONDS", 0.3)
    folder = home / "sets" / "some"
    with _transfer.only_one(str(folder)):
        refusal = r"holds the lock .*/some/\.lock, and nothing has changed .* end it and try again"
        with pytest.raises(_transfer.DownloadError, match=refusal):
            common.download(server.url + "/good", "some", MD5)

        def fetch_slowly():  # one whose bytes come is waited for
            for size in range(10):
                (folder / "other.part").write_bytes(bytes(size))
                time.sleep(0.1)

        slow = threading.Thread(target=fetch_slowly)
        slow.start()
        began = time.monotonic()
        with pytest.raises(_transfer.DownloadError, match="holds the lock"):
            common.download(server.url + "/good", "some", MD5)
        slow.join()
        assert time.monotonic() - began > 0.9
    assert read(common.download(server.url + "/good", "some", MD5)) == CONTENT


def test_names(server):
    path = common.download(server.url + "/good", "some/deep", MD5, save_name="other.bin")
    assert path.endswith("/some/deep/other.bin")
    assert common.md5file(path) == MD5
    with pytest.raises(ValueError, match="must be plain, but is '../x'"):
        common.download(server.url + "/good", "some", MD5, save_name="../x")
    with pytest.raises(ValueError, match="module_name must be a plain name"):
        common.download(server.url + "/good", "../some", MD5)


def test_a_transfer_that_breaks_off_is_resumed(server):
    assert read(common.download(server.url + "/cut", "some", MD5)) == CONTENT
    third = len(CONTENT) // 3
    assert server.requests == [
        ("/cut", None),
        ("/cut", f"bytes={third}-"),
        ("/cut", f"bytes={2 * third}-"),
    ]


def test_what_an_earlier_process_fetched_is_kept(server, home):
    part = home / "sets" / "some" / "good.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(CONTENT[:5000])
    assert read(common.download(server.url + "/good", "some", MD5)) == CONTENT
    assert server.requests == [("/good", "bytes=5000-")]


@pytest.mark.parametrize("beginning", [b"other" * 1000, CONTENT, CONTENT + b"x"])
def test_a_beginning_of_something_else_is_thrown_away(server, home, beginning):
    part = home / "sets" / "some" / "good.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(beginning)
    assert read(common.download(server.url + "/good", "some", MD5)) == CONTENT
    assert server.requests[-1] == ("/good", None)


def test_a_server_that_knows_no_ranges(server, home):
    part = home / "sets" / "some" / "whole.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(CONTENT[:5000])
    assert read(common.download(server.url + "/whole", "some", MD5)) == CONTENT


def test_a_wrong_checksum(server, home):
    found = hashlib.md5(CONTENT[::-1]).hexdigest()
    with pytest.raises(RuntimeError) as error:
        common.download(server.url + "/wrong", "some", MD5)
    path = home / "sets" / "some" / "wrong"
    assert str(error.value) == (
        f"{path} is missing and could not be downloaded: {server.url}/wrong gave {len(CONTENT)} "
        f"bytes with MD5 {found}, but MD5 {MD5} was expected, so they were thrown away"
    )
    assert names(path.parent) == []


def test_a_damaged_file_is_fetched_again(server, home):
    path = home / "sets" / "some" / "good"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"damaged")
    assert read(common.download(server.url + "/good", "some", MD5)) == CONTENT


def test_refusals(server):
    with pytest.raises(RuntimeError, match="/absent was refused: 404 Not Found"):
        common.download(server.url + "/absent", "some", MD5)
    assert server.requests == [("/absent", None)]
    server.requests.clear()
    assert read(common.download(server.url + "/busy", "some", MD5)) == CONTENT
    with pytest.raises(
        RuntimeError, match="broke off after 1000 bytes, which are kept for the nex"
    ):
        common.download(server.url + "/always_cut", "some", MD5)


def closed_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def test_a_host_that_cannot_be_reached_is_tried_once():
    url = f"http://127.0.0.1:{closed_port()}/x"
    for _ in range(2):
        with pytest.raises(RuntimeError, match="127.0.0.1 cannot be reached: Connection refused"):
            common.download(url, "some", MD5)
    assert len(_transfer._unreachable) == 1


def test_a_host_that_does_not_answer_costs_little(monkeypatch):
    """A name that nobody resolves in time."""

    def never(*_, **__):
        time.sleep(60)

    monkeypatch.setattr(_transfer.socket, "create_connection", never)
    monkeypatch.setattr(_transfer, "CONNECT_SECONDS", 0.2)
    started = time.monotonic()
    with pytest.raises(RuntimeError, match="cannot be reached: no answer in 0.2 s"):
        common.download("http://127.0.0.1:9/x", "some", MD5)
    assert time.monotonic() - started < watched.room(5)


def test_downloads_can_be_forbidden(server, monkeypatch):
    monkeypatch.setenv("FLT_DOWNLOAD", "0")
    said = "good is missing, and FLT_DOWNLOAD forbids downloading it"
    with pytest.raises(RuntimeError, match=said):
        common.download(server.url + "/good", "some", MD5)
    assert server.requests == []


def test_processes_fetch_a_file_once(server, home):
    code = (
        "import sys\n"
        "from paddle.dataset import common\n"
        f"common.DATA_HOME = {str(home / 'sets')!r}\n"
        f"print(common.download({server.url + '/good'!r}, 'some', {MD5!r}))\n"
    )
    jobs = [
        subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) for _ in range(3)
    ]
    assert len({watched.communicate(job)[0] for job in jobs}) == 1
    assert [job.returncode for job in jobs] == [0, 0, 0]
    assert server.requests == [("/good", None)]


def test_a_bar_is_drawn_on_a_terminal(server, monkeypatch):
    class Terminal:
        text = ""

        def isatty(self):
            return True

        def write(self, text):
            self.text += text

        def flush(self):
            pass

    terminal = Terminal()
    with contextlib.redirect_stderr(terminal):
        common.download(server.url + "/good", "some", MD5)
    assert terminal.text.startswith("\rgood [") and terminal.text.endswith("\n")
    assert "[" + "#" * 30 + "] 1.0 of 1.0 MB" in terminal.text


# ---- files of samples


def test_split_and_cluster_files(tmp_path):
    pattern = str(tmp_path / "part-%05d.pickle")
    common.split(lambda: iter(range(10)), 4, pattern)
    assert names(tmp_path) == [f"part-{i:05}.pickle" for i in range(3)]
    shards = [
        list(common.cluster_files_reader(str(tmp_path / "part-*"), 2, rank)()) for rank in range(2)
    ]
    assert shards == [[0, 1, 2, 3, 8, 9], [4, 5, 6, 7]]
    with pytest.raises(ValueError, match=r"trainer_id must lie in \[0, 2\), because there are 2"):
        common.cluster_files_reader("*", 2, 2)


def test_split_with_a_dumper_of_ones_own(tmp_path):
    import json

    common.split(lambda: iter(range(3)), 2, str(tmp_path / "%d.json"), dumper=json.dump)
    assert (tmp_path / "1.json").read_text() == "[2]"
    found = common.cluster_files_reader(str(tmp_path / "*.json"), 1, 0, loader=json.load)
    assert list(found()) == [0, 1, 2]
    with pytest.raises(TypeError, match="dumper must be a function, but is 3"):
        common.split(lambda: iter([]), 2, "%d", dumper=3)
