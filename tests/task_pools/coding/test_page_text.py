"""Pages of contests become text, in linear time."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlanything_task_pools.coding.page_text import page_text


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("<p>a\n  b</p><p>c</p>", "a b\n\nc"),
        ("1 &lt;= <i>A<sub>i</sub></i> &le; 10<sup>9</sup>", "1 <= A_i ≤ 10^9"),
        ("10<sup>-9</sup> A<sub>i+1</sub> x<sup>y<sup>2</sup></sup>", "10^-9 A_{i+1} x^{y^2}"),
        ("<pre>1 2\n  3\n</pre>", "1 2\n  3"),
        ("<ul><li>a</li><li>b</li></ul>", "- a\n- b"),
        ("<table><tr><th>In</th><th>Out</th></tr><tr><td>1</td><td>2</td></tr></table>", "In  Out\n1  2"),
        ("<head><title>t</title><style>p {}</style></head><body>a<script>if (a<b) x();</script>b</body>", "ab"),
        ('a<i class="material-icons grey">save_alt</i><div class="copy-popup">Copied!</div>b', "ab"),
        ('<div class="download"><div>x</div>y</div>z', "z"),
        ("<p onclick=\"if (a > b) { f('x'); }\">a</p>", "a"),
        ('<img src="a.png" alt="A &lt; B"> <img src="b.png">', "[image: A &lt; B] [image]"),
        ("a<!-- <p> -->b<br>c<br/>d", "ab\nc\nd"),
        ("a < b, a<b and <3", "a < b, a"),
        ("a<b", "a"),
        ("a<p class='", "a"),
        ("a<!-- b", "a"),
        ("&#" + "9" * 5000 + ";", "&#" + "9" * 5000 + ";"),
        ("</p></sup></pre>a", "a"),
        ("a<sup>b", "a^b"),
        ("", ""),
    ],
)
def test_pages(page: str, text: str) -> None:
    assert page_text(page) == text


@given(st.text("<>/!-=\"' absup&;#19\n", max_size=60))
def test_any_page_is_read(page: str) -> None:
    page_text(page)


@given(st.text('ab<>&" 1', min_size=1, max_size=30))
def test_escaped_text_comes_back(text: str) -> None:
    escaped = text.replace("&", "&amp;").replace("<", "&lt;")
    assert page_text(f"<p>{escaped}</p>") == " ".join(text.split(" ")).strip() or "  " in text


PIECES = ["<a ", "<!--", "<", "</", "<a b='", "<?", "&", "&#", "<script>", "<sup>", "<pre>", " \n"]


@pytest.mark.parametrize("piece", PIECES)
def test_time_is_linear(piece: str) -> None:
    def seconds(length: int) -> float:
        page = (piece * length)[:length]
        start = time.process_time()
        page_text(page)
        return time.process_time() - start

    assert seconds(200_000) < 30 * max(seconds(20_000), 0.01)
