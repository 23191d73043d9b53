"""Portraits drawn for these tests: a head and shoulders before a wall, in colors of the name."""

from __future__ import annotations

import colorsys
from io import BytesIO
from zlib import crc32

from PIL import Image, ImageDraw, ImageFilter

_EDGE = 500


def portrait(name: str) -> bytes:
    """A JPEG of 500 x 500 pixels."""
    seed = crc32(name[::-1].encode())
    hue, side = seed % 360 / 360, seed // 360 % 60
    image = Image.new("RGB", (_EDGE, _EDGE), _color(hue, 0.25, 0.86))
    draw = ImageDraw.Draw(image)
    draw.ellipse((40 + side, -60, 520 + side, 420), fill=_color(hue, 0.2, 0.93))
    draw.ellipse((70, 350, 430, 720), fill=_color((hue + 0.5) % 1, 0.45, 0.4))
    draw.rectangle((215, 280, 285, 400), fill=_color(0.07, 0.42, 0.72))
    draw.ellipse((158, 110, 342, 345), fill=_color(0.07, 0.38, 0.82))
    draw.pieslice((146, 84, 354, 300), 175 - side // 4, 368, fill=_color((hue + 0.1) % 1, 0.4, 0.28))
    out = BytesIO()
    image.filter(ImageFilter.GaussianBlur(2)).save(out, "JPEG")
    return out.getvalue()


def _color(hue: float, saturation: float, value: float) -> tuple[int, ...]:
    return tuple(round(255 * part) for part in colorsys.hsv_to_rgb(hue, saturation, value))
