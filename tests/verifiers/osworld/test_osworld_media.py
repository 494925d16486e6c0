"""Pictures, PDF files, archives, books, web pages, databases, sound."""

import bz2
import gzip
import io
import json
import lzma
import os
import shutil
import sqlite3
import subprocess
import tarfile

import imageio_ffmpeg
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from osworld_desk import letter, picture, score_files, sheet, show, zipped
from osworld_sounds import tone
from PIL import Image, ImageDraw, ImageEnhance, ImageFilter, ImageFont, ImageOps

from rlanything_verifiers.osworld import EvaluatorError, File, VerifierError
from rlanything_verifiers.osworld import pdf as pdf_module
from rlanything_verifiers.osworld.errors import MissingRequirement
from rlanything_verifiers.osworld.pictures import similarity
from rlanything_verifiers.osworld.sound import read_tags
from rlanything_verifiers.osworld.sound_likeness import alignment_cost

UPSIDE_DOWN = picture(change=lambda image: image.rotate(180))


def smooth(image):
    return image.filter(ImageFilter.GaussianBlur(1))


def both_ways(func, good, bad, expected=None, **options):
    assert score_files(func, good, expected, **options) == 1
    assert score_files(func, bad, expected, **options) == 0


# --- pictures ---


def test_structure():
    tinted = picture(change=lambda image: ImageEnhance.Brightness(image).enhance(1.02))
    for func in ("check_structure_sim", "check_file_exists_and_structure_sim"):
        both_ways(func, picture(), UPSIDE_DOWN, picture())
        assert score_files(func, tinted, picture()) == 1
        assert score_files(func, picture(47), picture()) == 0
    both_ways("check_image_mirror", picture(change=ImageOps.mirror), picture(), picture())
    assert score_files("check_image_mirror", picture(change=ImageOps.flip), picture()) == 0
    assert score_files("check_structure_sim", picture(6, 6), picture(6, 6)) == 0, "too small to have a structure"


def test_palette():
    few = picture(change=lambda image: smooth(image).quantize(200))
    both_ways("check_palette_and_structure_sim", few, picture(change=smooth), picture(change=smooth))
    assert score_files("check_palette_and_structure_sim", few, UPSIDE_DOWN) == 0


def test_resized_content():
    def framed(image):
        whole = Image.new("RGBA", (image.width * 2, image.height * 2))
        whole.paste(image, (5, 7))
        return whole

    large = picture(change=lambda image: image.resize((96, 64)))
    both_ways("check_structure_sim_resized", large, picture(change=lambda i: i.rotate(180).resize((96, 64))), picture())
    assert score_files("check_structure_sim_resized", picture(change=framed), picture()) == 1
    clear = picture(change=lambda image: Image.new("RGBA", image.size))
    assert score_files("check_structure_sim_resized", clear, picture()) == 0


def test_light_and_colour():
    darker = picture(change=lambda image: ImageEnhance.Brightness(image).enhance(0.6))
    lighter = picture(change=lambda image: ImageEnhance.Brightness(image).enhance(1.2))
    both_ways("check_brightness_decrease_and_structure_sim", darker, lighter, picture())
    turned = picture(change=lambda image: ImageOps.invert(ImageEnhance.Brightness(image).enhance(1.3)))
    assert score_files("check_brightness_decrease_and_structure_sim", turned, picture(), threshold=0.01) == 0
    both_ways(
        "decrease_brightness", picture(), darker, picture(change=lambda i: ImageEnhance.Brightness(i).enhance(0.8))
    )
    more = picture(change=lambda image: ImageEnhance.Color(image).enhance(1.1))
    less = picture(change=lambda image: ImageEnhance.Color(image).enhance(0.9))
    both_ways("increase_saturation", less, more, picture())
    both_ways("check_saturation_increase_and_structure_sim", more, less, picture())
    stronger = picture(change=lambda image: ImageEnhance.Contrast(image).enhance(1.2))
    weaker = picture(change=lambda image: ImageEnhance.Contrast(image).enhance(0.8))
    both_ways("check_contrast_increase_and_structure_sim", stronger, weaker, picture())
    blurred = picture(change=lambda image: image.filter(ImageFilter.GaussianBlur(3)))
    both_ways("check_sharper", picture(), blurred, picture(change=lambda image: image.filter(ImageFilter.SMOOTH)))


def test_similarity_of_images():
    assert score_files("compare_images", picture(), picture()) == pytest.approx(1)
    assert score_files("compare_images", UPSIDE_DOWN, picture()) < 0.5
    assert score_files("compare_images", UPSIDE_DOWN, picture(), reference_base_result=0.6) == 0
    assert score_files("compare_images", picture(), picture(), reference_base_result=0.6) == pytest.approx(1)
    both_ways("compare_image_list", [picture(), UPSIDE_DOWN], [picture(), picture()], [picture(), UPSIDE_DOWN])
    assert score_files("compare_image_list", picture(kind="BMP"), picture()) == 1


def test_similarity_is_the_published_formula():
    """One window worked out by hand: equation 13 of the paper, with unbiased variances."""
    rng = np.random.default_rng(1)
    one, other = rng.integers(0, 256, (2, 7, 7)).astype(np.uint8)
    a, b = one.astype(float).ravel(), other.astype(float).ravel()
    c1, c2 = (0.01 * 255) ** 2, (0.03 * 255) ** 2
    covariance = np.cov(a, b)
    wanted = (2 * a.mean() * b.mean() + c1) * (2 * covariance[0, 1] + c2)
    wanted /= (a.mean() ** 2 + b.mean() ** 2 + c1) * (covariance[0, 0] + covariance[1, 1] + c2)
    assert similarity(one, other) == pytest.approx(wanted)


@settings(max_examples=30)
@given(st.integers(7, 600), st.integers(7, 20), st.integers(0, 2**32 - 1))
def test_similarity_is_the_same_in_strips(height, width, seed):
    one, other = np.random.default_rng(seed).integers(0, 256, (2, height, width)).astype(np.uint8)
    whole = similarity(one, other)
    assert similarity(one, one) == pytest.approx(1)
    assert whole == pytest.approx(similarity(other, one))
    assert whole == pytest.approx(similarity(one.T, other.T)), "strips run the other way"
    assert similarity(one, other[:-1]) is None


def drawn(size, shape, background="white", color="black"):
    image = Image.new("RGB", size, background)
    ImageDraw.Draw(image).polygon(shape, color)
    file = io.BytesIO()
    image.save(file, "PNG")
    return file.getvalue()


def test_places_in_a_picture():
    square = [(0, 0), (0, 9), (9, 9), (9, 0)]
    at = lambda dx, dy: drawn((100, 80), [(x + dx, y + dy) for x, y in square], color="yellow")  # noqa: E731
    both_ways("check_triangle_position", at(45, 35), at(60, 35))
    assert score_files("check_triangle_position", drawn((50, 50), square, color="white")) == 0
    dark = lambda dx: drawn((100, 80), [(x + dx, y) for x, y in square])  # noqa: E731
    both_ways("check_textbox_on_leftside", dark(4), dark(5))
    assert score_files("check_textbox_on_leftside", drawn((50, 50), square, color="white")) == 0
    gold = drawn((20, 20), square)
    both_ways("check_green_background", drawn((20, 20), square, "green"), drawn((20, 20), square, "gray"), gold)
    assert score_files("check_green_background", drawn((21, 20), square, "green"), gold) == 0


def test_sizes():
    assert score_files("check_image_size", picture(), rules={"height": 32, "width": 48}) == 1
    assert score_files("check_image_size", picture(), rules={"height": 32, "width": 47}) == 0
    assert score_files("check_image_size", picture(), rules={"width": 48}) == 1
    part = picture(change=lambda image: ImageOps.expand(image.convert("RGBA"), 3, (0, 0, 0, 0)))
    assert score_files("check_image_size", part, rules={"height": 32, "ignore_transparent": True}) == 1
    assert score_files("check_image_size", part, rules={"height": 32}) == 0
    assert score_files("check_image_file_size", b"x" * 99, rules={"max_size": 100}) == 1
    assert score_files("check_image_file_size", b"x" * 100, rules={"max_size": 100}) == 0
    assert score_files("check_image_file_size", b"", rules={"max_size": 100}) == 0


# --- PDF files ---


def pdf(*pages, images=()):
    """A PDF file, written by hand: pages of text, or of pictures."""
    parts = [b"<< /Type /Catalog /Pages 2 0 R >>", b"", b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"]
    kids = []
    for text in pages:
        stream = f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET".encode()
        parts.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream))
        kids.append(b"/Resources << /Font << /F1 3 0 R >> >> /Contents %d 0 R" % len(parts))
    for data in images:
        size = Image.open(io.BytesIO(data)).size
        head = b"<< /Type /XObject /Subtype /Image /Width %d /Height %d /ColorSpace /DeviceRGB" % size
        parts.append(
            head + b" /BitsPerComponent 8 /Filter /DCTDecode /Length %d >>\nstream\n%s\nendstream" % (len(data), data)
        )
        kids.append(b"/Resources << /XObject << /I %d 0 R >> >>" % len(parts))
    numbers = range(len(parts) + 1, len(parts) + 1 + len(kids))
    parts += [b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] " + kid + b" >>" for kid in kids]
    parts[1] = b"<< /Type /Pages /Count %d /Kids [%s] >>" % (len(kids), b" ".join(b"%d 0 R" % n for n in numbers))
    out, places = b"%PDF-1.4\n", []
    for number, part in enumerate(parts, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, part)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    tail = b"xref\n0 %d\n0000000000 65535 f \n%s" % (len(parts) + 1, table)
    return out + tail + b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF" % (len(parts) + 1, len(out))


def test_texts_of_a_pdf_file():
    gold = json.dumps({"a": "quick brown", "b": "dog"}).encode()
    both_ways("is_gold_text_included_in_pdf", pdf("The quick brown fox", "a dog"), pdf("The quick brown fox"), gold)
    with pytest.raises(VerifierError):
        score_files("is_gold_text_included_in_pdf", pdf("a"), b"[]")


def test_one_process_reads_all_pdf_files_and_survives_them():
    worker = pdf_module._WORKER
    assert score_files("check_pdf_pages", pdf("a", "b"), rules={"relation": "eq", "ref_value": 2}) == 1
    process = worker.process
    assert score_files("check_pdf_pages", b"%PDF-1.7 junk", rules={"relation": "ge", "ref_value": 0}) == 0
    assert worker.process is process
    process.kill()
    process.wait()
    assert score_files("check_pdf_pages", pdf("a"), rules={"relation": "eq", "ref_value": 1}) == 1
    assert worker.process is not process
    child = os.fork()
    if child == 0:  # a forked process has a worker of its own: two would read each other's answers
        os._exit(int(worker.process is not None or pdf_module.page_count(File("a.pdf", pdf("a"))) != 1))
    assert os.waitpid(child, 0)[1] == 0


def test_pdf_files():
    gold = pdf("The quick brown fox", "jumps over the dog")
    assert score_files("compare_pdfs", gold, gold) == 1
    assert 0.9 < score_files("compare_pdfs", pdf("The quick brown fox", "jumps over the cat"), gold) < 1
    assert score_files("compare_pdfs", pdf("zzz"), pdf("abc")) == 0
    assert score_files("compare_pdfs", b"no pdf", gold) == 0
    assert score_files("compare_pdfs", [gold, b"no pdf"], [gold, gold]) == 0.5
    with pytest.raises(VerifierError):
        score_files("compare_pdfs", gold, b"no pdf")
    for relation, good, bad in (("eq", 2, 3), ("lt", 3, 2), ("ge", 2, 3)):
        assert score_files("check_pdf_pages", gold, rules={"relation": relation, "ref_value": good}) == 1
        assert score_files("check_pdf_pages", gold, rules={"relation": relation, "ref_value": bad}) == 0


def jpeg(seed, quality):
    coarse = np.random.default_rng(seed).integers(0, 256, (8, 8, 3)).astype(np.uint8)
    file = io.BytesIO()
    Image.fromarray(coarse).resize((80, 64), Image.Resampling.BICUBIC).save(file, "JPEG", quality=quality)
    return file.getvalue()


def test_pictures_of_pdf_files():
    first, other = (jpeg(seed, quality=90) for seed in (1, 2))
    gold = pdf(images=[first, other])
    assert score_files("compare_pdf_images", pdf(images=[jpeg(1, quality=50), other]), gold) == 1
    assert score_files("compare_pdf_images", pdf(images=[first, first]), gold) == 0.5
    assert score_files("compare_pdf_images", pdf(images=[first]), gold) == 0
    assert score_files("compare_pdf_images", pdf("a"), pdf("b")) == 1


def test_a_pdf_file_that_takes_too_long(monkeypatch):
    monkeypatch.setattr(pdf_module, "_WORKER", pdf_module._Worker(seconds=0.0))
    slow = pdf(*"a" * 3_000)  # a short file is read before anybody looks at the clock on a busy machine
    assert score_files("compare_pdfs", slow, slow) == 0


# --- archives ---


def tarred(members, squeeze=lambda data: data):
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        for name, data in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
        link = tarfile.TarInfo("link")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    return squeeze(file.getvalue())


@pytest.mark.parametrize("pack", [zipped, tarred, *(lambda m, s=s: tarred(m, s.compress) for s in (gzip, bz2, lzma))])
def test_archives(pack):
    gold = pack({"notes/a.txt": b"one", "notes/b.txt": b"two", "other": b"x"})
    half = pack({"notes/a.txt": b"one", "notes/b.txt": b"three", "other": b"y"})
    assert score_files("compare_archive", gold, gold) == 1
    assert score_files("compare_archive", half, gold, file_path="notes") == 0.5
    assert score_files("compare_archive", pack({"notes/a.txt": b"one"}), gold, file_path="notes") == 0
    assert score_files("compare_archive", gold, gold, file_path="elsewhere") == 0
    assert score_files("compare_archive", b"no archive", gold) == 0
    assert score_files("compare_archive", pack({"../../etc/passwd": b"one"}), gold) == 0


def test_kinds_of_files_in_archives():
    for kind, name, good, bad in (
        ("pdf", "a.pdf", pdf("abc"), pdf("xyz")),
        ("docx", "a.docx", letter("a"), letter("b")),
        ("ppt", "a.pptx", show("a"), show("b")),
        ("csv", "a.csv", b"a,b", b"a,c"),
    ):
        options = {"file_type": kind}
        both_ways("compare_archive", zipped({name: good}), zipped({name: bad}), zipped({name: good}), **options)
    alike = score_files("compare_archive", zipped({"a": picture()}), zipped({"a": picture()}), file_type="image")
    assert alike == pytest.approx(1)
    with pytest.raises(EvaluatorError, match="file_type"):
        score_files("compare_archive", b"", b"", file_type="video")


def test_zip_files():
    gold = zipped({"a.txt": b"1", "b.pdf": pdf("The quick brown fox jumps")})
    both_ways("compare_zip_files", gold, zipped({"a.txt": b"1", "b.pdf": pdf("no")}), gold)
    both_ways("compare_zip_files", gold, zipped({"a.txt": b"2", "b.pdf": pdf("The quick brown fox jumps")}), gold)
    assert score_files("compare_zip_files", zipped({"a.txt": b"1"}), gold) == 0


def test_books_and_pages():
    def book(text, identifier="1", **more):
        parts = {"toc.ncx": f"<navPoint id='{identifier}'>\n<text>one</text>", "index.html": f"<p>{text}</p><b>c</b>"}
        return zipped(parts | {"content.opf": f"<dc:identifier>{identifier}\n<spine/>"} | more)

    both_ways("compare_epub", book("a", "2"), b"no book", book("a"))
    assert 0.5 < score_files("compare_epub", book("b"), book("a")) < 1
    assert score_files("compare_epub", book("a", extra="x", **{"b.html": "<p>x</p>"}), book("a")) == 0.75
    page = b"<table><tr><td sdnum='1' align='left'>a</td></tr></table>"
    both_ways("compare_htmls", page, page.replace(b">a<", b">b<"), page)
    assert score_files("compare_htmls", page.replace(b"'1'", b"'2'"), page) == 0
    assert score_files("compare_htmls", page.replace(b"'1'", b"'2'"), page, ignore_sdnum=True) == 1
    assert score_files("compare_htmls", page.replace(b"left", b"right"), page, ignore_sdnum=True) == 0
    assert score_files("compare_htmls", b"", page) == 0


# --- databases ---


def database(*values, wal=False):
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE mail (id INTEGER, subject TEXT)")
    connection.executemany("INSERT INTO mail VALUES (?, ?)", enumerate(values))
    connection.commit()
    data = connection.serialize()
    return data[:18] + b"\2\2" + data[20:] if wal else data


@pytest.mark.parametrize("wal", [False, True])
def test_databases(wal):
    rules = {"sql": "SELECT count(*) > 1 FROM mail WHERE subject LIKE 'a%'"}
    assert score_files("run_sqlite3", database("a1", "a2", wal=wal), rules=rules) == 1
    assert score_files("run_sqlite3", database("a1", "b2", wal=wal), rules=rules) == 0
    assert score_files("run_sqlite3", database(wal=wal), rules={"sql": "SELECT id FROM mail"}) == 0
    assert score_files("run_sqlite3", database("a"), rules={"sql": "SELECT subject FROM mail"}) == 0
    assert score_files("run_sqlite3", database("a"), rules={"sql": "SELECT x FROM letters"}) == 0
    assert score_files("run_sqlite3", b"no database", rules=rules) == 0
    assert score_files("run_sqlite3", database("a")[:700], rules=rules) == 0


@pytest.mark.parametrize(
    "sql",
    [
        "WITH RECURSIVE t(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM t) SELECT count(*) FROM t",
        "WITH x AS (SELECT 1) DELETE FROM mail",
        "SELECT length(zeroblob(900000000))",
    ],
)
def test_queries_with_a_limit(monkeypatch, sql):
    monkeypatch.setattr("rlanything_verifiers.osworld.database._SECONDS", 1)
    assert score_files("run_sqlite3", database("a"), rules={"sql": sql}) == 0


@pytest.mark.parametrize("sql", ["", "DROP TABLE mail", "ATTACH 'x' AS y", "PRAGMA user_version"])
def test_queries_that_do_not_select(sql):
    with pytest.raises(EvaluatorError, match="sql"):
        score_files("run_sqlite3", database("a"), rules={"sql": sql})


# --- sound ---


def tagged(version=3, flags=0, **frames):
    def frame(name, text):
        content = b"\1" + text.encode("utf-16") if version == 3 else b"\3" + text.encode()
        size = len(content)
        number = (
            size.to_bytes(4)
            if version == 3
            else bytes([size >> 21 & 127, size >> 14 & 127, size >> 7 & 127, size & 127])
        )
        return name.encode() + number + b"\0\0" + content

    body = b"".join(frame(name, text) for name, text in frames.items()) + b"\0" * 20
    size = len(body)
    return (
        b"ID3" + bytes([version, 0, flags, 0, size >> 14 & 127, size >> 7 & 127, size & 127]) + body + b"\xff\xfb" * 99
    )


@pytest.mark.parametrize("version", [3, 4])
def test_mp3_files(version):
    rules = {"title": {"method": "eq", "ref": "Missing You"}, "artist": {"method": "eq", "ref": "程响"}}
    assert score_files("check_mp3_meta", tagged(version, TIT2="Missing You", TPE1="程响"), rules=rules) == 1
    assert score_files("check_mp3_meta", tagged(version, TIT2="Missing Me", TPE1="程响"), rules=rules) == 0
    assert score_files("check_mp3_meta", tagged(version, TPE1="程响"), rules=rules) == 0
    assert score_files("check_mp3_meta", b"\xff\xfb" * 50, rules=rules) == 0
    old = b"\xff\xfb" * 50 + b"TAG" + b"Song".ljust(30, b"\0") + b"Band".ljust(30, b" ") + b"\0" * 65
    assert read_tags(File("a.mp3", old)) == {"title": "Song", "artist": "Band"}


def test_a_sheet_is_no_picture():
    assert score_files("check_structure_sim", sheet([1]), picture()) == 0


# --- sounds, films, letters ---


def test_sounds():
    gold = tone(2, 300)
    assert score_files("compare_audios", gold, gold) == pytest.approx(1)
    assert score_files("compare_audios", tone(2, 300, rate=44_100), gold) > 0.9
    assert score_files("compare_audios", tone(2, 900), gold) < 0.9
    assert score_files("compare_audios", tone(2, 0), gold) == pytest.approx(0.5247, abs=1e-3), "OSWorld's for silence"
    assert score_files("compare_audios", b"no sound", gold) == 0
    with pytest.raises(VerifierError):
        score_files("compare_audios", gold, b"no sound")


def test_a_playlist_is_no_sound():
    listed = b"#EXTM3U\n#EXT-X-TARGETDURATION:10\n#EXTINF:10,\nfile:///etc/passwd\n#EXT-X-ENDLIST\n"
    assert score_files("compare_audios", listed, tone(1, 300)) == 0


@given(st.integers(1, 40), st.integers(1, 40), st.integers(0, 10**6))
def test_a_course_aligns_with_itself_for_nothing(rows, columns, seed):
    course = np.random.default_rng(seed).normal(size=(rows, 4))
    cost, length = alignment_cost(course, course)
    assert cost == pytest.approx(0, abs=1e-9)
    assert length == rows
    other = np.random.default_rng(seed + 1).normal(size=(columns, 4))
    cost, length = alignment_cost(course, other)
    assert 0 <= cost <= 2 * length
    assert max(rows, columns) <= length <= rows + columns


def film(pictures, folder):
    for number, image in enumerate(pictures):
        Image.fromarray(image).save(folder / f"{number:03}.png")
    target = folder / "film.mp4"
    command = [imageio_ffmpeg.get_ffmpeg_exe(), "-v", "error", "-y", "-i", str(folder / "%03d.png")]
    subprocess.run([*command, "-pix_fmt", "yuv420p", str(target)], check=True)
    return target.read_bytes()


def test_films(tmp_path):
    x = np.mgrid[0:64, 0:64][1].astype(np.uint8)
    frames = [np.roll(np.repeat((x * 3)[..., None], 3, axis=2), 5 * step, axis=1) for step in range(12)]
    gold = film(frames, tmp_path)
    turned = film([frame[:, ::-1] for frame in frames], tmp_path)
    (tmp_path / "011.png").unlink()
    shorter = film(frames[:-1], tmp_path)
    both_ways("compare_videos", gold, turned, gold)
    assert score_files("compare_videos", shorter, gold) == 0
    assert score_files("compare_videos", shorter, gold, max_frames_to_check=5) == 1
    assert score_files("compare_videos", b"no film", gold) == 0


@pytest.mark.skipif(not shutil.which("tesseract"), reason="the program tesseract is not installed")
def test_letters_in_a_picture():
    image = Image.new("RGB", (300, 60), "white")
    ImageDraw.Draw(image).text((10, 10), "ls -l Desktop", fill="black", font=ImageFont.load_default(28))
    file = io.BytesIO()
    image.save(file, "PNG")
    assert score_files("compare_image_text", file.getvalue(), rules={"type": "text", "text": "Desktop"}) == 1
    assert score_files("compare_image_text", file.getvalue(), rules={"type": "text", "text": "Desk top"}) == 0
    assert score_files("compare_image_text", b"junk", rules={"type": "text", "text": "ls"}) == 0


def test_without_a_program_for_letters_there_is_no_score(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(MissingRequirement, match="apt-get install tesseract-ocr"):
        score_files("compare_image_text", picture(), rules={"type": "text", "text": "ls"})


def test_triangles():
    def triangle(left):
        def draw(image):
            ImageDraw.Draw(image).polygon([(left, 20), (left + 10, 20), (left + 5, 10)], fill=(250, 240, 10))
            return image

        return picture(change=lambda image: draw(Image.new("RGB", image.size, "gray")))

    both_ways("compare_triangle_positions", triangle(0), triangle(18), triangle(14))
    assert score_files("compare_triangle_positions", triangle(0), triangle(99)) == 0, "no yellow"
