"""Pictures from elsewhere, kept as small JPEG files of our own: what is no picture, or too large, is not kept.

Knows Pillow. Every file is written anew from its pixels, so that nothing else that came along is ever shown.
"""

from __future__ import annotations

import os
import tempfile
import warnings
from hashlib import sha256
from io import BytesIO
from pathlib import Path

from persona.errors import PageError, StoreError

EDGE = 320  # pixels of the longer side at most
_FORMATS = ("JPEG", "PNG", "WEBP", "GIF")
_MOST_PIXELS = 20_000_000


class Pictures:
    """One folder of pictures, by the address where each came from."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def path(self, address: str) -> Path | None:
        """The picture's file, if it is kept."""
        file = self._file(address)
        return file if file.is_file() else None

    def keep(self, address: str, data: bytes) -> Path:
        """Store a picture. Raises PageError if it is none, StoreError."""
        small = _small(address, data)
        file = self._file(address)
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=self._folder, suffix=".part", delete=False) as part:
                part.write(small)
            os.replace(part.name, file)
        except OSError as error:
            raise StoreError(f"No picture can be kept in {self._folder} ({error.strerror or error}).") from error
        return file

    def _file(self, address: str) -> Path:
        return self._folder / f"{sha256(address.encode()).hexdigest()[:32]}.jpg"


def _small(address: str, data: bytes) -> bytes:
    """A JPEG of at most EDGE x EDGE pixels."""
    from PIL import Image, ImageOps

    try:
        with warnings.catch_warnings(), Image.open(BytesIO(data), formats=_FORMATS) as image:
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            if image.width * image.height > _MOST_PIXELS:
                raise PageError(f"The picture at {address} is too large: {image.width} x {image.height} pixels.")
            image.draft("RGB", (EDGE, EDGE))
            upright = ImageOps.exif_transpose(image).convert("RGBA")
            upright.thumbnail((EDGE, EDGE))
            flat = Image.new("RGB", upright.size, "white")
            flat.paste(upright, mask=upright.getchannel("A"))
            out = BytesIO()
            flat.save(out, "JPEG", quality=86, optimize=True)
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise PageError(f"What lies at {address} is no picture that can be shown.") from error
    return out.getvalue()
