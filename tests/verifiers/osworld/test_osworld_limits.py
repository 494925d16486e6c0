"""Files made to hurt score nothing, and cost little."""

import gzip
import io
import re
import resource
import sqlite3
import struct
import sys
import tarfile
import time
import tracemalloc
import zipfile
import zlib

import pytest
from openpyxl.drawing.image import Image as SheetImage
from openpyxl.formatting.rule import CellIsRule
from openpyxl.styles import PatternFill
from osworld_desk import Desk, Web, letter, picture, repacked, score_files, score_value, sheet, show, zipped
from PIL import Image

from rlanything_verifiers.osworld import File, VerifierError, database, deck, evaluate, limited, opening, word
from rlanything_verifiers.osworld.archives import members
from rlanything_verifiers.osworld.errors import Unreadable
from rlanything_verifiers.osworld.metrics import archives, documents
from rlanything_verifiers.osworld.opening import Package, package
from rlanything_verifiers.osworld.sheets import styles

CPU_SECONDS = 60
MEMORY = 1500  # MB that a test may add to the most this process ever held


@pytest.fixture(autouse=True)
def cheap():
    start, held = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    yield
    assert time.process_time() - start < CPU_SECONDS
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - held < MEMORY * 1024


WHATEVER = {"method": "ne", "ref": "no such value"}
ANY_CELL = [{"type": "check_cell", "sheet_idx": 0, "coordinate": "A1", "props": {"value": WHATEVER}}]


def sheet_score(data, rules=ANY_CELL):
    """1 for any sheet that can be read."""
    source = {"type": "vm_file", "path": "/a.xlsx", "dest": "a.xlsx"}
    evaluator = {"func": "compare_table", "result": source, "options": {"rules": rules}}
    return evaluate(evaluator, Desk({"/a.xlsx": data}), last_action="DONE", files=Web())


def document_score(data):
    return score_files("contains_page_break", data, name="a.docx") or score_files("evaluate_conversion", data)


def show_score(data):
    return score_files("compare_pptx_files", data, show(), name="a.pptx", examine_number_of_slides=False)


def test_good_files_score():
    assert sheet_score(sheet([1])) == 1
    assert document_score(letter("a")) == 1
    assert show_score(show("a")) == 1
    with pytest.raises(VerifierError):
        score_files("compare_docx_files", letter("a"), b"junk", name="a.docx")


def with_part(data, name, change):
    return repacked(data, lambda parts: parts.update({name: change(parts[name])}))


SHEET, DOCUMENT, SLIDE = "xl/worksheets/sheet1.xml", "word/document.xml", "ppt/slides/slide1.xml"
SAMPLES = [(sheet([1]), SHEET, sheet_score), (letter("a"), DOCUMENT, document_score), (show("a"), SLIDE, show_score)]


@pytest.mark.parametrize(("data", "part", "score"), SAMPLES, ids=["sheet", "document", "show"])
@pytest.mark.parametrize(
    "attack",
    [
        lambda text: b'<!DOCTYPE a [<!ENTITY x "y">]>' + text,
        lambda text: b'<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]>' + text.replace(b">", b">&x;", 3),
        lambda text: b'<!DOCTYPE a [<!ENTITY % x SYSTEM "http://127.0.0.1:9/">%x;]>' + text,
        lambda text: (
            (b'<?xml version="1.0" encoding="UTF-16"?><!DOCTYPE a [<!ENTITY x "y">]>' + text).decode().encode("utf-16")
        ),
        lambda text: text + b"<!-- " + b"x" * (33 * 2**20) + b" -->",
        lambda text: text + b"<x>" * 300 + b"</x>" * 300,
        lambda text: b"<a>" * 500 + text,
        lambda text: text[: len(text) // 2],
        lambda text: b"",
        lambda text: b"\0" * 100,
    ],
    ids=["entity", "external", "parameter", "utf16", "size", "after", "deep", "half", "empty", "nul"],
)
def test_xml_attacks(data, part, score, attack):
    declaration = b"<?xml version='1.0' encoding='UTF-8' standalone='yes'?>"

    def change(text):
        return attack(text.replace(declaration, b"").split(b"?>", 1)[-1].strip())

    assert score(with_part(data, part, change)) == 0


def test_entities_that_grow():
    lines = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 12))
    bomb = f'<?xml version="1.0"?><!DOCTYPE a [<!ENTITY e0 "ha">{lines}]><a>&e11;</a>'.encode()
    assert score_files("check_auto_saving_time", bomb, rules={"minutes": 3}) == 0
    assert sheet_score(with_part(sheet([1]), "docProps/app.xml", lambda text: bomb)) == 0
    assert sheet_score(with_part(sheet([1]), SHEET, lambda text: bomb)) == 0


def disguised(text, encoding, name="word/document.bin"):
    """A document whose main part has another name, and begins with no sign of XML."""

    def change(parts):
        parts[name] = parts.pop(DOCUMENT).split(b"?>", 1)[1].decode().replace("<w:body>", f"<w:body>{text}")
        parts[name] = f'<?xml version="1.0"?>{parts[name].strip()}'.encode(encoding)
        for other in ("[Content_Types].xml", "_rels/.rels"):
            parts[other] = parts[other].replace(DOCUMENT.encode(), name.encode())
        parts["word/_rels/document.bin.rels"] = parts.pop("word/_rels/document.xml.rels")

    return repacked(letter("a"), change)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32-be", "cp037"])
def test_xml_that_looks_like_something_else(monkeypatch, encoding):
    assert score_files("contains_page_break", disguised("", "utf-8"), name="a.docx") == 0
    assert (
        score_files(
            "contains_page_break", disguised('<w:p><w:r><w:br w:type="page"/></w:r></w:p>', "utf-8-sig"), name="a.docx"
        )
        == 1
    )
    monkeypatch.setattr(opening, "MAX_ELEMENTS", 20_000)
    with pytest.raises(Unreadable, match=r"elements|well-formed"):
        opening.document(File("a.docx", disguised("<w:p/>" * 6000, encoding)))


def test_a_film_is_no_xml():
    assert len(package(File("a.pptx", zipped({"film": b"\0\0\0<ftypisom"})))) == 1
    with pytest.raises(Unreadable, match="film"):
        package(File("a.pptx", zipped({"film": b"<ftyp:a>"})))


def test_an_empty_part():
    """LibreOffice's own templates have one."""
    parts = {"content.xml": b"<a/>", "Configurations2/accelerator/current.xml": b""}
    assert package(File("a.odt", zipped(parts))).xml("content.xml").tag == "a"


def test_too_many_elements():
    row = b"<row>" + b"<c/>" * 1000 + b"</row>"
    many = lambda text: text.replace(b"<sheetData>", b"<sheetData>" + row * 1001)  # noqa: E731
    assert sheet_score(with_part(sheet([1]), SHEET, many)) == 0


@pytest.mark.parametrize(
    "tag",
    [
        b'<mergeCells><mergeCell ref="A1:XFD1048576"/></mergeCells>',
        b'<mergeCells><mergeCell ref="&#65;1:XFD1048576"/></mergeCells>',
        b'<mergeCells><mergeCell ref="A:XFD"/></mergeCells>',
        b"<mergeCells>" + b'<mergeCell ref="A1:Z1000"/>' * 50 + b"</mergeCells>",
        b'<hyperlinks><hyperlink display="&gt;" ref="A1:XFD1048576"/></hyperlinks>',
    ],
)
def test_ranges_of_everything(tag):
    assert (
        sheet_score(with_part(sheet([1]), SHEET, lambda text: text.replace(b"</sheetData>", b"</sheetData>" + tag)))
        == 0
    )


def test_a_cell_at_the_far_end_costs_nothing():
    far = sheet(change=lambda made: made.cell(1048576, 16384, "x"))
    pair = {"sheet_idx0": 0, "sheet_idx1": 0}
    rules = [{"type": "sheet_data", **pair}, {"type": "style", **pair, "props": ["bgcolor"]}]
    assert sheet_score(far, rules) == 1


def test_cells_that_span_everything():
    wide = b'<w:tbl><w:tr><w:tc><w:tcPr><w:gridSpan w:val="1000000000"/></w:tcPr><w:p/></w:tc></w:tr></w:tbl>'
    assert (
        document_score(with_part(letter("a"), DOCUMENT, lambda text: text.replace(b"<w:body>", b"<w:body>" + wide)))
        == 0
    )
    narrow = wide.replace(b"1000000000", b"2")
    assert (
        document_score(with_part(letter("a"), DOCUMENT, lambda text: text.replace(b"<w:body>", b"<w:body>" + narrow)))
        == 1
    )


# --- parts that are mentioned often ---


def pictured(times):
    """A sheet with one picture, placed as often."""
    data = sheet([1], change=lambda made: made.add_image(SheetImage(io.BytesIO(picture(64, 48))), "A1"))
    anchor = re.compile(rb"<(?:xdr:)?oneCellAnchor.*</(?:xdr:)?oneCellAnchor>", re.DOTALL)
    return with_part(data, "xl/drawings/drawing1.xml", lambda text: anchor.sub(lambda found: found[0] * times, text))


def listed(times, mark=b""):
    """A spreadsheet that lists its one sheet under as many names."""
    data = with_part(sheet(*[[1]] * 40), SHEET, lambda text: text.replace(b"</sheetData>", b"</sheetData>" + mark))
    entry = re.compile(rb'<sheet ([^>]*)name="Sheet1"([^>]*)/>')
    names = lambda found: b"".join(  # noqa: E731
        b'<sheet %sname="s%d"%s/>' % (found[1], number, found[2]) for number in range(times)
    )
    return with_part(data, "xl/workbook.xml", lambda text: entry.sub(names, text))


MERGED = b'<mergeCells><mergeCell ref="C1:Z40"/></mergeCells>'


@pytest.mark.parametrize(
    ("limit", "size", "made", "mark"),
    [
        ("MAX_UNPACKED", 100_000, pictured, ()),
        ("MAX_XML", 60_000, listed, ()),
        ("MAX_ELEMENTS", 1000, listed, ()),
        ("MAX_CELLS", 5000, listed, (MERGED,)),
    ],
    ids=["picture", "bytes", "elements", "cells"],
)
def test_a_part_counts_each_time_it_is_read(monkeypatch, limit, size, made, mark):
    monkeypatch.setattr(opening, limit, size)
    assert [sheet_score(made(times, *mark)) for times in (1, 2, 40)] == [1, 1, 0]


def test_merged_cells_of_all_sheets_count(monkeypatch):
    monkeypatch.setattr(opening, "MAX_CELLS", 5000)
    more = lambda made: [made.parent.create_sheet().merge_cells("C1:Z40") for _ in range(6)]  # noqa: E731
    assert sheet_score(sheet([1], change=more)) == 0


# --- zip files ---


def bomb(size, members=1, name="xl/big.bin"):
    file, zeros = io.BytesIO(), b"\0" * 2**20
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(members):
            with archive.open(f"{name}{number}", "w") as member:
                for _ in range(size // 2**20):
                    member.write(zeros)
    return file.getvalue()


def test_a_zip_file_that_grows():
    data = bomb(90 * 2**20, members=6)
    assert len(data) < 2**20
    for score in (sheet_score, document_score, show_score):
        assert score(data) == 0
    assert score_files("compare_archive", data, zipped({"a": b""})) == 0
    with pytest.raises(Unreadable, match="unpacked"):
        Package(File("a.zip", data))


def test_a_zip_file_that_lies_about_its_sizes():
    data = bytearray(zipped({"a": b"x" * 5_000_000, "b": b"y"}))
    for place in range(len(data) - 4):
        if data[place : place + 4] in (b"PK\1\2", b"PK\3\4"):
            at = place + (24 if data[place + 2] == 1 else 22)
            struct.pack_into("<I", data, at, 10)
    opened = Package(File("a.zip", bytes(data)))
    with pytest.raises(Unreadable):
        opened["a"]


def test_a_zip_file_with_too_many_members_or_one_name_twice():
    assert sheet_score(zipped({f"{n}": b"" for n in range(10_001)})) == 0
    file = io.BytesIO(sheet([1]))
    with zipfile.ZipFile(file, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr(SHEET, b"<other/>")
    assert sheet_score(file.getvalue()) == 0


def test_a_tar_file_that_grows():
    data = gzip.compress(b"\0" * (129 * 2**20), 1)
    assert score_files("compare_archive", data, zipped({"a": b""})) == 0


def headed(records, kind=tarfile.XGLTYPE, members=1):
    """A tar file with pax headers of the length of 8 bytes, and folders after them."""
    head, body = tarfile.TarInfo("head"), b"".join(b"8 k%03d=\n" % n for n in range(records))
    head.type, head.size = kind, len(body)
    folder = tarfile.TarInfo("folder")
    folder.type = tarfile.DIRTYPE
    file = tarfile.TarInfo("a").tobuf(tarfile.USTAR_FORMAT)
    return b"".join([
        *(head.tobuf(tarfile.USTAR_FORMAT), body, bytes(-len(body) % 512)),
        *(folder.tobuf(tarfile.USTAR_FORMAT) * members, file, bytes(1024)),
    ])  # fmt: skip


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (headed(100), None),
        (headed(101), "100 pax headers"),
        (headed(101, members=0) + headed(5), "100 pax headers"),
        (headed(3000), "bytes"),
        (headed(3000, tarfile.XHDTYPE), "bytes"),
        (headed(1, members=9999), None),
        (headed(1, members=10_000), "10000 members"),
    ],
    ids=["few", "many", "before one file", "long", "long, of one member", "folders", "many folders"],
)
def test_headers_of_a_tar_file(data, why):
    if why is None:
        assert list(members(File("a.tar", data))) == ["a"]
        return
    with pytest.raises(Unreadable, match=why):
        members(File("a.tar", data))


@pytest.mark.parametrize("keys", [{"GNU.sparse.map": "0,1"}, {"GNU.sparse.major": "1", "GNU.sparse.minor": "0"}])
def test_a_sparse_file_in_a_tar_file(keys):
    entry = tarfile.TarInfo("a")
    entry.size, entry.pax_headers = 512, {**keys, "GNU.sparse.size": "1"}
    data = entry.tobuf(tarfile.PAX_FORMAT) + b"1\n0\n1\n".ljust(512, b"\0") + bytes(1024)
    with pytest.raises(Unreadable, match="sparse"):
        members(File("a.tar", data))


# --- pictures ---


def png(width, height, body=b""):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(body)) + chunk(b"IEND", b"")


@pytest.mark.parametrize(
    "data",
    [
        png(100_000, 100_000),
        png(2**31 - 1, 2**31 - 1),
        png(40_001, 1000),
        png(50, 50),
        b"\x89PNG\r\n\x1a\n",
        b"GIF89a" + b"\xff" * 20,
        b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 50 50\n",
        b"",
    ],
)
def test_pictures_of_absurd_size(data):
    for func in ("compare_images", "check_structure_sim", "compare_image_list"):
        assert score_files(func, data, picture()) == 0


def test_an_icon_is_no_picture():
    """The picture in it may be larger than it says."""
    inside = io.BytesIO()
    Image.new("RGB", (300, 300)).save(inside, "PNG")
    head = struct.pack("<HHH", 0, 1, 1) + struct.pack("<BBBBHHII", 16, 16, 0, 0, 1, 32, len(inside.getvalue()), 22)
    with pytest.raises(Unreadable):
        opening.image(File("a.png", head + inside.getvalue()))


def test_a_large_picture_needs_little_memory():
    file = io.BytesIO()
    Image.new("RGB", (6000, 4000), "gray").save(file, "PNG")
    assert score_files("check_structure_sim", file.getvalue(), file.getvalue()) == 1


# --- sizes ---


def test_large_texts():
    assert score_files("file_contains", b"x" * (16 * 2**20 + 1), rules={"expected": ["x"]}) == 0
    assert score_files("file_contains", b"x" * (16 * 2**20), rules={"expected": ["x"]}) == 1


@pytest.mark.parametrize(
    "page", [b"<p>" * 300, b'<meta charset="utf-7">' + b"+ADw-p+AD4-" * 300], ids=["plain", "utf-7"]
)
def test_elements_of_a_web_page(monkeypatch, page):
    monkeypatch.setattr(opening, "MAX_ELEMENTS", 200)
    assert score_files("compare_htmls", page, page[: len(page) // 2], name="a.html") == 0
    assert score_files("compare_htmls", b"<p>a", b"<p>a", name="a.html") == 1
    with pytest.raises(Unreadable, match="more than 200 elements"):
        opening.html(File("a.html", page))


def test_attributes_of_one_element():
    page = lambda number: b"<p%s/>" % b"".join(b" a%d=''" % n for n in range(number))  # noqa: E731
    for read, name in ((opening.html, "a.html"), (opening.xml, "a.xml")):
        assert read(File(name, page(256))) is not None
        with pytest.raises(Unreadable, match="257 attributes"):
            read(File(name, page(257)))
    assert score_files("compare_htmls", page(80_000), b"<p>a", name="a.html") == 0


@pytest.mark.parametrize(("limit", "why"), [("MAX_XML", "bytes"), ("MAX_ELEMENTS", "lines")])
def test_pages_of_a_book(monkeypatch, limit, why):
    book = lambda pages: File("a.epub", zipped({f"{n}.html": b"<p>x</p>" for n in range(pages)}))  # noqa: E731
    monkeypatch.setattr(archives, limit, 40)
    assert len(archives._book(book(4))) == 4
    with pytest.raises(Unreadable, match=f"{why}; at most 40"):
        archives._book(book(40))


def test_a_reference_beyond_the_limits_is_no_score(monkeypatch):
    monkeypatch.setattr(opening, "MAX_ELEMENTS", 10)
    with pytest.raises(VerifierError, match="elements"):
        package(File("gold.docx", letter("a"), reference=True))


@pytest.mark.parametrize("ref", ["A1", "$A$1:B2", "b2:A1"])
def test_areas(ref):
    assert opening._area(ref) in (1, 4)


@pytest.mark.parametrize("ref", ["", "A", "1", "A1:B2:C3", "A:B", "1:2", "A1 B2", "Ā1", "A1:", "A12345678"])
def test_what_is_no_area_counts_as_the_largest(ref):
    assert opening._area(ref) >= 2**34


# --- small files that cost much ---

HOLDER = b'<p:sp><p:nvSpPr><p:cNvPr id="9" name="a"/><p:nvPr><p:ph idx="%d"/></p:nvPr></p:nvSpPr><p:spPr/></p:sp>'
LAYOUT = "ppt/slideLayouts/slideLayout6.xml"
TERMS = b'name="a"\ncondition="' + b"OR (a,b," * 30_000 + b'"\n'
COLUMNS = ",".join(f"c{n}" for n in range(2000)).encode() + b"\nx" * 2000


def with_sections(text):
    return text.replace(b"<w:sectPr", b"<w:p><w:pPr><w:sectPr/></w:pPr></w:p>" * 2000 + b"<w:sectPr", 1)


def with_placeholders(text):
    return text.replace(b"</p:spTree>", b"".join(HOLDER % n for n in range(99, 600)) + b"</p:spTree>")


@pytest.mark.parametrize(
    "score",
    [
        lambda: show_score(with_part(with_part(show("a"), SLIDE, with_placeholders), LAYOUT, with_placeholders)),
        lambda: document_score(with_part(letter("a"), DOCUMENT, with_sections)),
        lambda: score_files("check_csv", COLUMNS, rules={"expect": [{"c0": "x"}], "unexpect": [{"c1": "x"}]}),
        lambda: score_files("check_thunderbird_filter", TERMS, rules={"expect": [{"name": "a"}]}),
        lambda: score_files("compare_python_pure_text", b"#!\n" * 200_000, b""),
        lambda: score_value("is_utc_0", "\n" * 200_000 + "x\n Time zone: Etc/UTC (UTC, +0000)"),
    ],
)
def test_time_and_memory_in_proportion_to_the_file(score):
    tracemalloc.start()
    start, scored = time.process_time(), score()
    took, held = time.process_time() - start, tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (scored, took < 20, held < 100 * 2**20) == (1, True, True)


@pytest.mark.parametrize(
    ("column", "rows", "seconds", "why"),
    [("zeros", 50, 10, "bytes"), ("ltrim(replace(zeros, 0, 1), zeros || 1)", 1, 1, "exit -9|more than 2 s")],
)
def test_a_view_in_the_place_of_a_table(monkeypatch, column, rows, seconds, why):
    monkeypatch.setattr(database, "_SECONDS", seconds)
    made = sqlite3.connect(":memory:")
    numbers = f"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {rows})"
    made.execute(
        f"CREATE VIEW urls AS {numbers} SELECT {column} AS url FROM n, (SELECT hex(zeroblob(500000)) AS zeros)"
    )
    with pytest.raises(Unreadable, match=why):
        database.query(File("History", made.serialize()), "SELECT url FROM urls")


def test_a_slide_that_is_in_a_show_twice():
    twice = with_part(show("a"), "ppt/presentation.xml", lambda text: re.sub(rb"<p:sldId [^>]*/>", rb"\g<0>" * 2, text))
    assert show_score(twice) == 0


def counted(monkeypatch, module, name):
    """The calls of a function of a module from now on."""
    calls, real = [], getattr(module, name)
    monkeypatch.setattr(module, name, lambda part: calls.append(part) or real(part))
    return calls


def test_a_footer_of_many_sections_is_read_once(monkeypatch):
    calls = counted(monkeypatch, word, "_numbered")
    one = letter(change=lambda made: setattr(made.sections[0].footer.paragraphs[0], "text", "Page 1"))
    section = re.compile(rb"<w:sectPr.*</w:sectPr>", re.DOTALL)
    more = lambda text: section.sub(lambda found: b"<w:p><w:pPr>%s</w:pPr></w:p>" % found[0] * 9 + found[0], text)  # noqa: E731
    assert score_files("has_page_numbers_in_footers", with_part(one, DOCUMENT, more), name="a.docx") == 1
    assert len(calls) == 1


def test_notes_of_many_slides_are_read_once(monkeypatch):
    calls = counted(monkeypatch, deck, "_notes")
    noted = lambda made: setattr(made.slides[0].notes_slide.notes_text_frame, "text", "n")  # noqa: E731
    link = re.compile(rb"<Relationship [^>]*/notesSlide\"[^>]*/>")

    def share(parts):
        shared = link.search(parts["ppt/slides/_rels/slide1.xml.rels"])[0].replace(b'Id="', b'Id="x')
        for number in (2, 3):
            name = f"ppt/slides/_rels/slide{number}.xml.rels"
            parts[name] = parts[name].replace(b"</Relationships>", shared + b"</Relationships>")

    data = repacked(show("a", "b", "c", change=noted), share)
    assert [slide.notes for slide in deck.read_deck(File("a.pptx", data)).slides] == ["n"] * 3
    assert len(calls) == 1


def test_pictures_are_counted_before_they_are_decoded(monkeypatch):
    monkeypatch.setattr(documents, "image", None)
    pictured = letter(change=lambda made: made.add_picture(io.BytesIO(picture())))
    assert score_files("compare_docx_images", letter(), pictured, name="a.docx") == 0


def test_a_part_that_passes_for_many_pictures_is_read_once(monkeypatch):
    link = b'<Relationship Id="x%d" Type="http://a/image" Target="document.xml"/>'
    links = b"".join(link % n for n in range(50)) + b"</Relationships>"
    change = lambda text: text.replace(b"</Relationships>", links)  # noqa: E731
    found = word.read_document(File("a.docx", with_part(letter("a"), "word/_rels/document.xml.rels", change)))
    assert (len(found.images), len(set(map(id, found.images)))) == (50, 1)


def test_starters_without_end():
    given = {"func": "is_shortcut_on_desktop", "result": {"type": "shortcuts_on_desktop"}}
    given["expected"] = {"type": "rule", "rules": {"type": "name", "name": "Maps"}}
    for more, wanted in (([b"x"] * 999, 1), ([b"x"] * 1000, 0), ([bytes(2**23)] * 2, 0)):
        files = {f"/home/user/Desktop/{n}.desktop": text for n, text in enumerate([b"Name=Maps", *more])}
        assert evaluate(given, Desk(files), last_action="DONE", files=Web()) == wanted


def test_messages_without_end():
    program = "import os\nfor _ in range(99):\n  try: os.write(2, b'x' * 9999)\n  except OSError: pass\nprint(1)"
    done = limited._run([sys.executable, "-c", program], b"", 20)
    assert (done.stdout, len(done.stderr)) == (b"1\n", 4096)


@pytest.mark.parametrize(("number", "wanted"), [(1, 1), (2, 0)])
def test_conditional_formats_on_everything(monkeypatch, number, wanted):
    monkeypatch.setattr(styles, "_MOST", 100)
    rule = CellIsRule("greaterThan", ["0"], fill=PatternFill("solid"))
    data = sheet(
        *[[1]] * 60, change=lambda made: [made.conditional_formatting.add("A1:A99", rule) for _ in range(number)]
    )
    assert sheet_score(data, [{"type": "style", "sheet_idx0": 0, "sheet_idx1": 0, "props": ["bgcolor"]}]) == wanted
