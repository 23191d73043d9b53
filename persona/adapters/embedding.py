"""What is known of embedding models that run behind a server, by their names.

Knows which of them can be trusted with other languages than English, estimates word pieces (the servers count only
after the fact) and brings vectors to length 1. Knows no server.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import numpy as np

from persona.errors import EmbedderError
from persona.ports import Vectors

ENGLISH = frozenset({"en"})
ALL = frozenset[str]()
BATCH = 64  # texts in one request
MOST_TOKENS = 512  # longer chunks blur what is found in them, however much a model can read

# Models whose own cards name many languages; any other is taken for an English one, which is the safe mistake.
_MULTILINGUAL = re.compile(
    r"bge-m3|embeddinggemma|qwen3-embedding|multilingual|granite-embedding:278m|nomic-embed-text-v2|arctic-embed2"
    r"|arctic-embed-l-v2|\be5-mistral|jina-embeddings-v[34]|paraphrase-multi|labse|text-embedding-3",
    re.IGNORECASE,
)
_WORD_LIKE = re.compile(
    r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+|[^\w\s]"
)


def languages_of(model: str) -> frozenset[str]:
    """Language codes the model can be trusted in; empty for all."""
    return ALL if _MULTILINGUAL.search(model) else ENGLISH


def estimate(text: str) -> int:
    """Word pieces of a text, rather too many than too few.

    One for every four letters begun of a word, for every Chinese, Japanese or Korean character and for every mark, and
    two at the ends.
    """
    return 2 + sum(math.ceil(len(piece) / 4) for piece in _WORD_LIKE.findall(text))


def unit(rows: Sequence[Sequence[float]], texts: int) -> Vectors:
    """The rows as float32, each of length 1. Raises EmbedderError unless there is one usable row for each text."""
    try:
        vectors = np.asarray(rows, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise EmbedderError("The server's vectors could not be understood. Choose another embedding model.") from error
    if vectors.ndim != 2 or len(vectors) != texts or not np.isfinite(vectors).all():
        raise EmbedderError("The server did not give a vector for every text. Choose another embedding model.")
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not (lengths > 0).all():
        raise EmbedderError("The server gave a vector of zeros. Choose another embedding model.")
    return np.asarray(vectors / lengths, dtype=np.float32)
