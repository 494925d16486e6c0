"""A separate program that reads a PDF file from its input and prints its contents as JSON.

It knows nothing but pypdf, so that a PDF file made to hurt ends this process and no other. Its one argument says what
to look for: ``pages``, ``text`` or ``images``.
"""

import base64
import contextlib
import io
import json
import sys

MEMORY = 1536 * 2**20
SECONDS = 20
LETTERS = 4_000_000
IMAGES = 200
IMAGE_BYTES = 32 * 2**20


def limit() -> None:
    """Set the limits of this process, where the system has them."""
    try:
        import resource
    except ImportError:
        return
    for kind, most in ((resource.RLIMIT_AS, MEMORY), (resource.RLIMIT_CPU, SECONDS)):
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(kind, (most, most))


def look(data: bytes, what: str) -> object:
    """Contents of the file: the number of its pages, its text, or its images in base 64."""
    import pypdf

    reader = pypdf.PdfReader(io.BytesIO(data))
    if what == "pages":
        return len(reader.pages)
    if what == "text":
        text = ""
        for page in reader.pages:
            text += page.extract_text()
            if len(text) > LETTERS:
                raise ValueError(f"more than {LETTERS} characters of text")
        return text
    images: list[str] = []
    size = 0
    for page in reader.pages:
        for image in page.images:
            size += len(image.data)
            if size > IMAGE_BYTES or len(images) >= IMAGES:
                raise ValueError(f"more than {IMAGES} pictures, or {IMAGE_BYTES} bytes of them")
            images.append(base64.b64encode(image.data).decode())
    return images


def main() -> int:
    """Read, look, print."""
    limit()
    try:
        found = look(sys.stdin.buffer.read(), sys.argv[1])
    except ImportError:
        return 3
    except Exception as error:
        print(f"{type(error).__name__}: {error}"[:300], file=sys.stderr)
        return 4
    json.dump(found, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
