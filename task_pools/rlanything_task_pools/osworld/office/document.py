"""Text documents (docx): paragraphs with a font, an alignment, and page breaks."""

from collections.abc import Sequence
from dataclasses import dataclass

from rlanything_task_pools.osworld.office.package import Part, attribute, pack, text

__all__ = ["Document", "Paragraph"]

MAIN = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A paragraph in one font."""

    text: str
    font: str = "Liberation Serif"
    bold: bool = False
    centered: bool = False
    page_break: bool = False
    """Whether a page ends before it."""


@dataclass(frozen=True, slots=True)
class Document:
    """Paragraphs in one file."""

    paragraphs: Sequence[Paragraph]

    def to_bytes(self) -> bytes:
        """The file."""
        body = "".join(_paragraph(paragraph) for paragraph in self.paragraphs)
        size = '<w:sectPr><w:pgSz w:w="11906" w:h="16838"/></w:sectPr>'
        main = f'<w:document xmlns:w="{MAIN}"><w:body>{body}{size}</w:body></w:document>'
        styles = (
            f'<w:styles xmlns:w="{MAIN}"><w:docDefaults><w:rPrDefault><w:rPr><w:sz w:val="24"/></w:rPr></w:rPrDefault>'
            '</w:docDefaults><w:style w:type="paragraph" w:default="1" w:styleId="Normal"><w:name w:val="Normal"/>'
            "</w:style></w:styles>"
        )
        relations = {"rId1": ("styles", "styles.xml")}
        return pack(
            "word/document.xml",
            [
                Part("word/document.xml", "wordprocessingml.document.main", main, relations),
                Part("word/styles.xml", "wordprocessingml.styles", styles, {}),
            ],
        )


def _paragraph(paragraph: Paragraph) -> str:
    alignment = '<w:pPr><w:jc w:val="center"/></w:pPr>' if paragraph.centered else ""
    font = attribute(paragraph.font)
    look = f"<w:rPr><w:rFonts w:ascii={font} w:hAnsi={font} w:cs={font}/>{'<w:b/>' if paragraph.bold else ''}</w:rPr>"
    end = f'<w:r>{look}<w:br w:type="page"/></w:r>' if paragraph.page_break else ""
    words = f'<w:r>{look}<w:t xml:space="preserve">{text(paragraph.text)}</w:t></w:r>'
    return f"<w:p>{alignment}{end}{words}</w:p>"
