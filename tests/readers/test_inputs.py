import gzip
import os
import random
import subprocess
import sys
import threading
import zlib

import pytest
import zstandard
from isal import isal_zlib

from fgtrace.errors import ExitCode, FgtraceError
from fgtrace.readers.inputs import BLOCK, open_input

SKIPPED = b"\x50\x2a\x4d\x18\x05\x00\x00\x00hello"
CODINGS = {"gzip": gzip.compress, "zstd": zstandard.compress}


@pytest.fixture
def stored(tmp_path):
    """Read what a file with this content gives: its content, and what is damaged."""

    def read(content):
        path = tmp_path / "input"
        path.write_bytes(content)
        with open_input(path) as source:
            return b"".join(source.blocks()), source.damage

    return read


def text(size):
    """Text that is compressed about as well as a trace is."""
    numbers = random.Random(size)
    return b"".join(b'{"ts": %d}, ' % numbers.randrange(10**6) for _ in range(size // 15))


def one_by_one(decoder, errors, data):
    """Everything that can be decoded before an end or a damage."""
    made = b""
    for place in range(len(data)):
        try:
            made += decoder.decompress(data[place : place + 1])
        except errors:
            break
    return made


def test_the_content_comes_in_blocks_the_first_of_which_is_the_head(tmp_path):
    content = b"{" + b"0123456789" * (BLOCK // 4)
    for name, pack in {"plain": bytes, **CODINGS}.items():
        path = tmp_path / name
        path.write_bytes(pack(content))
        with open_input(path) as source:
            head = source.head
            blocks = list(source.blocks())
        assert blocks[0] is head
        assert b"".join(blocks) == content
        assert len(blocks) > 1
        assert all(len(block) >= BLOCK for block in blocks[:-1])
        assert source.damage is None
        assert source.consumed == source.size == path.stat().st_size


@pytest.mark.parametrize("coding", CODINGS)
def test_all_members_are_read_and_zeros_around_them_are_padding(stored, coding):
    member = CODINGS[coding](b"some text")
    for zeros in (0, 1, 500, 511, 512, 513, 2000):
        padding = bytes(zeros)
        assert stored(member + padding + member + padding) == (b"some text" * 2, None), zeros


def test_frames_of_zstd_that_hold_no_content_are_skipped(stored):
    member = zstandard.compress(b"some text")
    assert stored(SKIPPED + member + SKIPPED + member) == (b"some text" * 2, None)


@pytest.mark.parametrize("coding", CODINGS)
@pytest.mark.parametrize("after", [b"junk", bytes(600) + b"junk"])
def test_what_follows_compressed_data_and_is_none_is_a_damage(stored, coding, after):
    content, damage = stored(CODINGS[coding](b"some text") + after)
    assert content == b"some text"
    assert damage == f"{coding} data are followed by something else"


@pytest.mark.parametrize("coding", CODINGS)
def test_of_cut_data_comes_out_what_can_be_decoded(stored, coding):
    content = text(700_000)
    data = CODINGS[coding](content)
    for share in (0.3, 0.7, 0.99):
        cut = data[: int(len(data) * share)]
        found, damage = stored(cut)
        assert damage == f"{coding} data end early"
        assert content.startswith(found)
        assert len(found) > len(content) * share - 150_000  # a block of zstd is all or nothing


def test_of_gzip_data_without_their_checksum_nothing_is_lost(stored):
    content = text(60_000)
    assert stored(gzip.compress(content)[:-1]) == (content, "gzip data end early")


def test_before_a_flipped_bit_comes_out_what_a_plain_decoder_makes_of_it(stored):
    content = text(60_000)
    data = gzip.compress(content)
    for place in random.Random(0).sample(range(10, len(data)), 20):
        flipped = bytearray(data)
        flipped[place] ^= 16
        expected = one_by_one(zlib.decompressobj(31), zlib.error, bytes(flipped))
        found, damage = stored(bytes(flipped))
        assert damage.startswith("gzip data are damaged after "), place
        assert expected.startswith(found)
        assert len(found) >= len(expected) - 300  # the longest match of one code


def test_a_wrong_checksum_is_a_damage_that_loses_nothing(stored):
    content = text(60_000)
    packed = {
        "gzip": gzip.compress(content),
        "zstd": zstandard.ZstdCompressor(write_checksum=True).compress(content),
    }
    for coding, data in packed.items():
        wrong = bytearray(data)
        wrong[-8 if coding == "gzip" else -1] ^= 1
        found, damage = stored(bytes(wrong))
        assert found == content
        assert damage.startswith(f"{coding} data are damaged after ")


def test_a_damage_in_a_later_member_keeps_the_earlier_ones(stored):
    member = gzip.compress(text(60_000))
    found, damage = stored(member + member[: len(member) // 2] + b"\xff" * 400)
    assert found.startswith(text(60_000))
    assert len(found) > len(text(60_000))
    assert damage is not None


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"", "empty"),
        (b" \r\n\t", "empty"),
        (b"\xef\xbb\xbf", "empty"),
        (b"\xef\xbb\xbf \n", "empty"),
        (gzip.compress(b" "), "empty"),
        (zstandard.compress(b""), "empty"),
        (gzip.compress(b"{}")[:10], "truncated"),
        (b"\x1f\x8b and then text", "truncated"),
        (zstandard.compress(b"{}")[:5], "truncated"),
        (b"BZh91AY&SY", "unsupported-compression"),
        (b"\xfd7zXZ\x00\x00", "unsupported-compression"),
        (b"\x04\x22\x4d\x18\x64\x40", "unsupported-compression"),
        ("\ufeff{}".encode("utf-16-le"), "not-json"),
        ("\ufeff{}".encode("utf-16-be"), "not-json"),
        ("\ufeff{}".encode("utf-32-le"), "not-json"),
        ("{}".encode("utf-16-le"), "not-json"),
    ],
)
def test_what_cannot_be_read_at_all_is_one_line_with_a_hint(stored, tmp_path, content, kind):
    with pytest.raises(FgtraceError) as raised:
        stored(content)
    assert (raised.value.kind, raised.value.exit_code) == (kind, ExitCode.UNREADABLE)
    assert str(tmp_path / "input") in raised.value.message
    assert "\n" not in raised.value.message
    assert raised.value.hint


def test_a_byte_order_mark_stays_and_blank_blocks_before_the_content_go(stored):
    assert stored(b"\xef\xbb\xbf{}") == (b"\xef\xbb\xbf{}", None)
    assert stored(b" " * (BLOCK + 5) + b"{}")[0].strip() == b"{}"


def test_what_is_no_file_is_told(tmp_path):
    cases = {tmp_path / "none": "not-found", tmp_path: "unknown-format"}
    for path, kind in cases.items():
        with pytest.raises(FgtraceError) as raised, open_input(path):
            pass
        assert raised.value.kind == kind


def test_an_error_of_the_disk_in_the_middle_is_told(tmp_path, monkeypatch):
    class Failing:
        def __init__(self, file):
            self.reads = iter([file.read(512), file.read(BLOCK)])

        def read(self, size):
            for data in self.reads:
                return data
            raise OSError(5, "Input/output error")

    path = tmp_path / "input"
    path.write_bytes(b"x" * 2 * BLOCK)
    with open_input(path) as source:
        monkeypatch.setattr(source, "_file", Failing(source._file))
        with pytest.raises(FgtraceError, match="Input/output error") as raised:
            list(source.blocks())
    assert raised.value.kind == "unreadable"


def test_a_file_that_shrinks_while_it_is_read_just_ends(tmp_path):
    path = tmp_path / "input"
    path.write_bytes(b"x" * 3 * BLOCK)
    with open_input(path) as source:
        os.truncate(path, BLOCK + 10)
        assert sum(map(len, source.blocks())) == BLOCK + 10


def test_a_pipe_is_read_as_it_comes(tmp_path):
    content = text(60_000)
    for name, data in {"plain": content, "gzip": gzip.compress(content)}.items():
        pipe = tmp_path / name
        os.mkfifo(pipe)
        writer = threading.Thread(target=pipe.write_bytes, args=[data])
        writer.start()
        with open_input(pipe) as source:
            assert b"".join(source.blocks()) == content
        writer.join()
        assert (source.size, source.consumed) == (0, len(data))


def test_progress_is_told_in_stored_bytes(tmp_path):
    path = tmp_path / "input"
    path.write_bytes(gzip.compress(random.Random(0).randbytes(2 << 20)))
    told = []
    with open_input(path, lambda *state: told.append(state), name="that") as source:
        for _ in source.blocks():
            pass
    assert {(name, size) for name, _, size in told} == {("that", path.stat().st_size)}
    read = [consumed for _, consumed, _ in told]
    assert read == sorted(read)
    assert len(set(read)) > 3
    assert read[-1] == path.stat().st_size


@pytest.mark.parametrize("coding", CODINGS)
def test_memory_does_not_grow_with_what_a_small_file_expands_to(tmp_path, coding):
    path = tmp_path / "bomb"
    packer = {
        "gzip": lambda: isal_zlib.compressobj(wbits=31),
        "zstd": lambda: zstandard.ZstdCompressor().compressobj(),
    }[coding]()
    piece = b"a" * BLOCK
    with path.open("wb") as file:
        for _ in range(80):
            file.write(packer.compress(piece))
        file.write(packer.flush())
    program = """
import resource, sys
from pathlib import Path
from fgtrace.readers.inputs import open_input
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
before = peak()
with open_input(Path(sys.argv[1])) as source:
    sizes = [len(block) for block in source.blocks()]
print(sum(sizes), max(sizes), peak() - before)
"""
    done = subprocess.run(
        [sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=True
    )
    total, largest, grown = map(int, done.stdout.split())
    assert total == 80 * BLOCK
    assert largest <= 3 * BLOCK
    assert grown < 150  # of 640 MiB


def test_zstd_with_a_long_window_is_read(tmp_path):
    path = tmp_path / "long.zst"
    parameters = zstandard.ZstdCompressionParameters.from_level(1, window_log=28)
    # Of a known size, a frame needs no more of a window than that.
    compressor = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    path.write_bytes(compressor.compress(b"[{}]" * 99) + compressor.flush())
    with open_input(path) as source:
        assert b"".join(source.blocks()) == b"[{}]" * 99
        assert source.damage is None
