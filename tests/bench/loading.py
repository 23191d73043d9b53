"""Loading a page here beside Chroma's own `add` of the same texts with the same model, in one run.

Chroma embeds with its own class for this model, which is given our copy of it; it is timed for the texts that we store
(passages and their two-sentence windows) and for the passages alone. Then one sentence of the page is changed and the
page is loaded again. The last line printed is JSON.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import chromadb
from chromadb.config import Settings as ChromaSettings
from chromadb.utils.embedding_functions.onnx_mini_lm_l6_v2 import ONNXMiniLM_L6_V2

from persona.adapters.markdown import read_markdown, samples
from persona.adapters.minilm import MODEL, TOKENIZER, MiniLM, package_file
from persona.errors import InputError, PersonaError
from persona.ports import Vectors
from persona.records import Choice, Loaded, Page
from persona.settings import Settings, load_settings
from persona.wiring import Wiring

T = TypeVar("T")


def main(arguments: Sequence[str] | None = None) -> int:
    """Time both; 1 where Chroma was quicker with the texts that we store."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.loading", description=__doc__)
    parser.add_argument("page", nargs="?", default="Batman", help="a page's title, or a sample's")
    options = parser.parse_args(arguments)
    try:
        page = _page(options.page)
    except PersonaError as error:
        _tell(str(error))
        return 1
    with tempfile.TemporaryDirectory() as folder:
        report = compared(page, Path(folder))
    _tell(
        f"{report['characters']:,} characters, {report['texts']} texts of which {report['passages']} passages: "
        f"{report['load']:.1f} s here, {report['chroma']:.1f} s by Chroma's add ({report['ratio']:.2f} of it), "
        f"{report['chroma_passages']:.1f} s for the passages alone; again after an edit {report['reload']:.1f} s, "
        f"{report['embedded_again']} passages embedded"
    )
    print(json.dumps(report))
    return 0 if report["ratio"] < 1 else 1


def compared(page: Page, folder: Path) -> dict[str, Any]:
    """Seconds of each, the models being loaded before."""
    embedder = _Noting()
    embedder.embed(["ready"])
    wiring = Wiring(_settings(folder / "home"), embedder=embedder)
    wiring.store.builds()
    embedder.texts.clear()
    loaded, load = _timed(lambda: _load(wiring, page))
    texts, passages = list(embedder.texts), [chunk.text for chunk in wiring.library.chunks(loaded.build.id)]
    again, reload = _timed(lambda: _load(wiring, _edited(page)))
    theirs = _Chroma(folder)
    _, chroma = _timed(lambda: theirs.add("all", texts))
    _, alone = _timed(lambda: theirs.add("passages", passages))
    return {
        "characters": sum(len(section.text) for section in page.sections),
        "texts": len(texts),
        "passages": len(passages),
        "load": round(load, 2),
        "chroma": round(chroma, 2),
        "ratio": round(load / chroma, 3),
        "chroma_passages": round(alone, 2),
        "ratio_to_passages": round(load / alone, 3),
        "reload": round(reload, 2),
        "embedded_again": again.embedded,
    }


class _Noting(MiniLM):
    """MiniLM that keeps what it was given."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def embed(self, texts: Sequence[str]) -> Vectors:
        self.texts += texts
        return super().embed(texts)


class _Chroma:
    """Chroma's client and its own embedding function, over our copy of the model."""

    def __init__(self, folder: Path) -> None:
        self._client = chromadb.PersistentClient(
            str(folder / "theirs"), settings=ChromaSettings(anonymized_telemetry=False)
        )
        self._embed = _own_function(folder / "model")
        self._embed(["ready"])

    def add(self, name: str, texts: Sequence[str]) -> None:
        """One collection with all texts."""
        collection = self._client.create_collection(name, embedding_function=self._embed)  # type: ignore[arg-type]
        collection.add(ids=[str(n) for n in range(len(texts))], documents=list(texts))


def _own_function(folder: Path) -> ONNXMiniLM_L6_V2:
    """Chroma's class looks for its files where it would download them; there it finds ours."""
    function = ONNXMiniLM_L6_V2()
    function.DOWNLOAD_PATH = folder
    files = folder / function.EXTRACTED_FOLDER_NAME
    files.mkdir(parents=True)
    (files / "model.onnx").symlink_to(package_file(*MODEL))
    (files / "tokenizer.json").symlink_to(package_file(*TOKENIZER))
    for name in ("config.json", "special_tokens_map.json", "tokenizer_config.json", "vocab.txt"):
        (files / name).touch()  # looked for, and not read
    return function


def _timed(act: Callable[[], T]) -> tuple[T, float]:
    began = time.perf_counter()
    value = act()
    return value, time.perf_counter() - began


def _load(wiring: Wiring, page: Page) -> Loaded:
    *_, last = wiring.ingest.load(page)
    if not isinstance(last, Loaded):  # pragma: no cover - load's promise
        raise TypeError(last)
    return last


def _edited(page: Page) -> Page:
    """The next revision: the last section has another first word."""
    *sections, last = page.sections
    edited = replace(last, text=f"Indeed, {last.text}")
    return replace(page, revision=f"{page.revision}-edited", sections=(*sections, edited))


def _settings(home: Path) -> Settings:
    return load_settings().model_copy(update={"home": home, "database": "", "chroma": ""})


def _page(title: str) -> Page:
    wanted = (read_markdown(path, "sample") for path in samples())
    if sample := next((page for page in wanted if page.title == title), None):
        return sample
    wiring = Wiring()
    found = wiring.wiki.fetch(title, wiring.settings.language)
    if isinstance(found, Choice):
        raise InputError(f"There is no page “{title}”. Name another: make load-bench PAGE=TITLE.")
    return found


def _tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
