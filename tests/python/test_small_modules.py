"""Small modules that public programs of both releases use: downloads, pictures, collectives of 1.x."""

import io
import os
import tarfile
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, HTTPServer

import numpy as np
import paddle.fluid as fluid
import pytest


# ---- files from the network


def archive(kind, names):
    data = io.BytesIO()
    if kind == "zip":
        with zipfile.ZipFile(data, "w") as made:
            for name in names:
                made.writestr(name, name)
    else:
        with tarfile.open(fileobj=data, mode="w:gz") as made:
            for name in names:
                info = tarfile.TarInfo(name)
                info.size = len(name)
                made.addfile(info, io.BytesIO(name.encode()))
    return data.getvalue()


FILES = {
    "/weights.pdparams": b"some weights",
    "/one.tar.gz": archive("tar", ["net/a", "net/b"]),
    "/many.zip": archive("zip", ["a", "b/c"]),
    "/evil.tar.gz": archive("tar", ["../evil"]),
}


@pytest.fixture(scope="module")
def server():
    asked = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):  # noqa: N802
            asked.append(self.path)
            body = FILES.get(self.path)
            self.send_response(404 if body is None else 200)
            self.send_header("Content-Length", str(len(body or b"")))
            self.end_headers()
            self.wfile.write(body or b"")

        def log_message(self, *words):
            pass

    made = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=made.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{made.server_port}", asked
    made.shutdown()
    made.server_close()


def test_downloads(server, tmp_path, monkeypatch):
    from paddle.utils import download

    url, asked = server
    path = download.get_path_from_url(f"{url}/weights.pdparams", str(tmp_path))
    assert path == str(tmp_path / "weights.pdparams")
    assert (tmp_path / "weights.pdparams").read_bytes() == b"some weights"
    download.get_path_from_url(f"{url}/weights.pdparams", str(tmp_path))
    assert asked.count("/weights.pdparams") == 1
    with pytest.raises(RuntimeError, match="MD5 0 was expected"):
        download.get_path_from_url(f"{url}/weights.pdparams", str(tmp_path), md5sum="0")
    one = download.get_path_from_url(f"{url}/one.tar.gz", str(tmp_path))
    assert one == str(tmp_path / "net") and sorted(os.listdir(one)) == ["a", "b"]
    many = download.get_path_from_url(f"{url}/many.zip", str(tmp_path))
    assert many == str(tmp_path / "many") and (tmp_path / "many" / "b" / "c").read_text() == "b/c"
    kept = download.get_path_from_url(f"{url}/one.tar.gz", str(tmp_path), decompress=False)
    assert kept == str(tmp_path / "one.tar.gz")
    with pytest.raises(ValueError, match="would write outside of its folder: '../evil'"):
        download.get_path_from_url(f"{url}/evil.tar.gz", str(tmp_path))
    monkeypatch.setattr(download, "WEIGHTS_HOME", str(tmp_path / "home"))
    weights = download.get_weights_path_from_url(f"{url}/weights.pdparams")
    assert weights == str(tmp_path / "home" / "weights.pdparams")
    assert download.is_url("https://x") and not download.is_url("/x")
    with pytest.raises(ValueError, match="a URL that begins with http"):
        download.get_path_from_url("/x", str(tmp_path))
    monkeypatch.setenv("FLT_DOWNLOAD", "0")
    with pytest.raises(RuntimeError, match="FLT_DOWNLOAD forbids downloading it from"):
        download.get_path_from_url(f"{url}/other", str(tmp_path))


# ---- pictures


def test_pictures(tmp_path):
    from paddle.utils import image_util

    picture = np.arange(6 * 8 * 3, dtype="uint8").reshape(6, 8, 3)
    assert image_util.resize_image(picture, 3).shape == (3, 4, 3)
    planes = picture.transpose(2, 0, 1)
    assert np.array_equal(image_util.flip(planes)[:, :, 0], planes[:, :, -1])
    assert np.array_equal(image_util.crop_img(planes, 4), planes[:, 1:5, 2:6])
    assert image_util.crop_img(planes, 10).shape == (3, 10, 10)
    part = image_util.crop_img(planes, 4, test=False)
    assert part.shape == (3, 4, 4) and part.max() <= planes.max()
    grey = picture[:, :, 0]
    assert np.array_equal(image_util.crop_img(grey, 4, color=False), grey[1:5, 2:6])
    row = image_util.preprocess_img(planes, np.ones((3, 4, 4)), 4, False)
    assert row.shape == (48,) and row[0] == planes[0, 1, 2] - 1.0
    np.savez(tmp_path / "meta.npz", data_mean=np.arange(3 * 36, dtype="float64"))
    mean = image_util.load_meta(str(tmp_path / "meta.npz"), 6, 4)
    assert mean.shape == (3, 4, 4) and mean[0, 0, 0] == 7 and mean.dtype == "float32"
    with pytest.raises(ValueError, match="a mean picture of 1 x 6 x 6 numbers, but it has 108"):
        image_util.load_meta(str(tmp_path / "meta.npz"), 6, 4, color=False)
    parts = image_util.oversample([picture], (2, 2))
    assert parts.shape == (10, 2, 2, 3) and np.array_equal(parts[5], parts[0][:, ::-1])
    turned = image_util.ImageTransformer((2, 0, 1), (2, 1, 0), [1.0, 2.0, 3.0])
    assert np.array_equal(turned.transformer(picture)[0], planes[2] - 1.0)
    with pytest.raises(ValueError, match="has 3 channels, but the order is"):
        turned.set_channel_swap((0, 1))


# ---- collectives of 1.x


def test_the_collectives_before_rings():
    from paddle.fluid.layers import collective

    x = fluid.data("x", [2])
    most = collective._allreduce(x, reduce_type="max")
    collective._allreduce(x, out=most)
    assert collective._broadcast(x, 1) is x
    ops = fluid.default_main_program().global_block().ops
    assert [op.type for op in ops] == ["allreduce", "allreduce", "broadcast"]
    assert [op.attr("reduce_type") for op in ops[:2]] == [2, 0] and ops[2].attr("root") == 1
    assert ops[1].output("Out") == [most.name] and most.shape == (2,)
    with pytest.raises(
        TypeError, match="reduce_type must be sum or prod or max or min, but is 'mean'"
    ):
        collective._allreduce(x, reduce_type="mean")
