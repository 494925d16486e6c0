"""Presentations (pptx): slides with a title and a text, in either orientation, with a background."""

from collections.abc import Sequence
from dataclasses import dataclass

from rlanything_task_pools.osworld.office.package import OFFICE, Part, pack, text

__all__ = ["Slide", "Slides"]

MAIN = "http://schemas.openxmlformats.org/presentationml/2006/main"
DRAWING = "http://schemas.openxmlformats.org/drawingml/2006/main"
SPACES = f'xmlns:p="{MAIN}" xmlns:a="{DRAWING}" xmlns:r="{OFFICE}"'
LONG, SHORT = 9144000, 6858000
"""Sides of a slide of 4 by 3, in English metric units."""
GROUP = '<p:nvGrpSpPr><p:cNvPr id="1" name=""/><p:cNvGrpSpPr/><p:nvPr/></p:nvGrpSpPr><p:grpSpPr/>'


@dataclass(frozen=True, slots=True)
class Slide:
    """A slide."""

    title: str
    body: str
    background: str = ""
    """Colour as RRGGBB; that of the master if empty."""


@dataclass(frozen=True, slots=True)
class Slides:
    """Slides in one file."""

    slides: Sequence[Slide]
    portrait: bool = False

    def to_bytes(self) -> bytes:
        """The file."""
        wide, high = (SHORT, LONG) if self.portrait else (LONG, SHORT)
        numbers = range(1, len(self.slides) + 1)
        listed = "".join(f'<p:sldId id="{255 + number}" r:id="rId{number + 1}"/>' for number in numbers)
        main = (
            f'<p:presentation {SPACES}><p:sldMasterIdLst><p:sldMasterId id="2147483648" r:id="rId1"/>'
            f'</p:sldMasterIdLst><p:sldIdLst>{listed}</p:sldIdLst><p:sldSz cx="{wide}" cy="{high}"/>'
            f'<p:notesSz cx="{SHORT}" cy="{LONG}"/></p:presentation>'
        )
        relations = {"rId1": ("slideMaster", "slideMasters/slideMaster1.xml")}
        relations |= {f"rId{number + 1}": ("slide", f"slides/slide{number}.xml") for number in numbers}
        relations[f"rId{len(self.slides) + 2}"] = ("theme", "theme/theme1.xml")
        parts = [Part("ppt/presentation.xml", "presentationml.presentation.main", main, relations)]
        for number, slide in zip(numbers, self.slides, strict=True):
            link = {"rId1": ("slideLayout", "../slideLayouts/slideLayout1.xml")}
            xml = _slide(slide, wide, high)
            parts.append(Part(f"ppt/slides/slide{number}.xml", "presentationml.slide", xml, link))
        parts += [
            Part(
                "ppt/slideLayouts/slideLayout1.xml",
                "presentationml.slideLayout",
                f'<p:sldLayout {SPACES} type="obj"><p:cSld name="Title and Content"><p:spTree>{GROUP}'
                f"{_frames('', '', wide, high)}</p:spTree></p:cSld></p:sldLayout>",
                {"rId1": ("slideMaster", "../slideMasters/slideMaster1.xml")},
            ),
            Part(
                "ppt/slideMasters/slideMaster1.xml",
                "presentationml.slideMaster",
                _master(wide, high),
                {"rId1": ("slideLayout", "../slideLayouts/slideLayout1.xml"), "rId2": ("theme", "../theme/theme1.xml")},
            ),
            Part("ppt/theme/theme1.xml", "theme", _THEME, {}),
        ]
        return pack("ppt/presentation.xml", parts)


def _slide(slide: Slide, wide: int, high: int) -> str:
    colour = f'<a:solidFill><a:srgbClr val="{slide.background}"/></a:solidFill>'
    ground = f"<p:bg><p:bgPr>{colour}<a:effectLst/></p:bgPr></p:bg>" if slide.background else ""
    frames = _frames(slide.title, slide.body, wide, high)
    return f"<p:sld {SPACES}><p:cSld>{ground}<p:spTree>{GROUP}{frames}</p:spTree></p:cSld></p:sld>"


def _master(wide: int, high: int) -> str:
    colours = "".join(
        f' {name}="{value}"'
        for name, value in [
            ("bg1", "lt1"),
            ("tx1", "dk1"),
            ("bg2", "lt2"),
            ("tx2", "dk2"),
            *((f"accent{i}", f"accent{i}") for i in range(1, 7)),
            ("hlink", "hlink"),
            ("folHlink", "folHlink"),
        ]
    )
    return (
        f'<p:sldMaster {SPACES}><p:cSld><p:bg><p:bgPr><a:solidFill><a:srgbClr val="FFFFFF"/></a:solidFill>'
        f"<a:effectLst/></p:bgPr></p:bg><p:spTree>{GROUP}{_frames('', '', wide, high)}</p:spTree></p:cSld>"
        f'<p:clrMap{colours}/><p:sldLayoutIdLst><p:sldLayoutId id="2147483649" r:id="rId1"/></p:sldLayoutIdLst>'
        "</p:sldMaster>"
    )


def _frames(title: str, body: str, wide: int, high: int) -> str:
    edge = wide // 20
    boxes = [
        (2, "Title 1", 'type="title"', title, edge, high // 6),
        (3, "Content 2", 'idx="1"', body, high // 4, high // 2),
    ]
    return "".join(
        f'<p:sp><p:nvSpPr><p:cNvPr id="{number}" name="{name}"/><p:cNvSpPr/><p:nvPr><p:ph {holder}/></p:nvPr>'
        "</p:nvSpPr>"
        f'<p:spPr><a:xfrm><a:off x="{edge}" y="{top}"/><a:ext cx="{wide - 2 * edge}" cy="{tall}"/></a:xfrm></p:spPr>'
        f'<p:txBody><a:bodyPr/><a:p><a:r><a:rPr lang="en-US"/><a:t>{text(words)}</a:t></a:r></a:p></p:txBody></p:sp>'
        for number, name, holder, words, top, tall in boxes
    )


def _theme() -> str:
    names = ("dk1", "lt1", "dk2", "lt2", *(f"accent{i}" for i in range(1, 7)), "hlink", "folHlink")
    values = (
        *("000000", "FFFFFF", "333333", "EEEEEE"),
        *("4472C4", "ED7D31", "A5A5A5", "FFC000", "5B9BD5", "70AD47"),
        *("0563C1", "954F72"),
    )
    colours = "".join(f'<a:{n}><a:srgbClr val="{v}"/></a:{n}>' for n, v in zip(names, values, strict=True))
    face = '<a:latin typeface="Liberation Sans"/><a:ea typeface=""/><a:cs typeface=""/>'
    fill = '<a:solidFill><a:schemeClr val="phClr"/></a:solidFill>'
    effect = "<a:effectStyle><a:effectLst/></a:effectStyle>"
    return (
        f'<a:theme xmlns:a="{DRAWING}" name="Plain"><a:themeElements><a:clrScheme name="Plain">{colours}</a:clrScheme>'
        f'<a:fontScheme name="Plain"><a:majorFont>{face}</a:majorFont><a:minorFont>{face}</a:minorFont></a:fontScheme>'
        f'<a:fmtScheme name="Plain"><a:fillStyleLst>{3 * fill}</a:fillStyleLst>'
        f"<a:lnStyleLst>{3 * f'<a:ln>{fill}</a:ln>'}</a:lnStyleLst>"
        f"<a:effectStyleLst>{3 * effect}</a:effectStyleLst><a:bgFillStyleLst>{3 * fill}</a:bgFillStyleLst>"
        "</a:fmtScheme></a:themeElements></a:theme>"
    )


_THEME = _theme()
