from __future__ import annotations

import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest

from persona.adapters.embedding import estimate, unit
from persona.adapters.ollama import OllamaEmbedder, OllamaModel, PullProgress
from persona.adapters.ollama_client import cache_bytes
from persona.errors import EmbedderError, ModelError, ModelGarbled, ModelMissing, ModelUnreachable
from persona.records import ChatRequest, Message, Usage
from persona.settings import Settings
from tests.loopback import Exchange, LoopbackServer, WireReply
from tests.ollama_server import BGE_M3, QWEN3, Installed, OllamaServer

SCHEMA = {"type": "object", "properties": {"section": {"type": "integer"}}, "required": ["section"]}
QUESTION = (Message("system", "You are he."), Message("user", "Where were you born?"))


def ask(model: OllamaModel, messages: tuple[Message, ...] = QUESTION, **fields: object) -> str:
    return "".join(delta.text for delta in model.chat(ChatRequest(messages, 100, **fields)))  # type: ignore[arg-type]


# --- what is sent ---


@pytest.mark.parametrize("stream", [True, False])
def test_a_request_holds_exactly_what_it_should(ollama_server: OllamaServer, stream: bool) -> None:
    ollama_server.replies.append('{"section": 3}')
    model = OllamaModel(ollama_server.address, "qwen3:8b", 8192)
    messages = (*QUESTION, Message("assistant", "In Smiljan."), Message("user", "And {when}?"))
    ask(model, messages, schema=SCHEMA, stop=("\n\n", "Q:"), stream=stream, temperature=0.25)
    assert ollama_server.chats == [
        {
            "model": "qwen3:8b",
            "messages": [
                {"role": "system", "content": "You are he."},
                {"role": "user", "content": "Where were you born?"},
                {"role": "assistant", "content": "In Smiljan."},
                {"role": "user", "content": "And {when}?"},
            ],
            "stream": stream,
            "format": SCHEMA,
            "think": False,
            "tools": [],
            "keep_alive": "30m",
            "options": {"num_ctx": 8192, "num_predict": 100, "temperature": 0.25, "stop": ["\n\n", "Q:"]},
        }
    ]


def test_what_was_not_asked_for_is_not_sent(ollama_server: OllamaServer) -> None:
    ollama_server.replies.append("Hi")
    ask(OllamaModel(ollama_server.address, "qwen3:8b", 8192))
    (body,) = ollama_server.chats
    assert "format" not in body
    assert body["options"] == {"num_ctx": 8192, "num_predict": 100, "temperature": 0.0}


def test_rewrite_and_answer_load_the_model_once(ollama_server: OllamaServer) -> None:
    ollama_server.replies += ['{"question": "Where?"}', "In Smiljan.", "In 1856."]
    ask(OllamaModel(ollama_server.address, "qwen3:8b", 8192), schema=SCHEMA)
    ask(OllamaModel(ollama_server.address, "qwen3:8b", 8192), stream=True)
    assert ollama_server.loads == [("qwen3:8b", 8192)]
    ask(OllamaModel(ollama_server.address, "qwen3:8b", 4096))
    assert ollama_server.loads == [("qwen3:8b", 8192), ("qwen3:8b", 4096)]


def test_thinking_is_turned_off_without_an_error_for_models_that_cannot_think(ollama_server: OllamaServer) -> None:
    ollama_server.replies.append("Hi")
    assert ask(OllamaModel(ollama_server.address, "llama3.2", 8192)) == "Hi"
    assert ollama_server.chats[0]["think"] is False


@pytest.mark.parametrize(
    ("model", "think", "tokens"),
    [("gpt-oss:20b", "low", 1124), ("qwen3:4b-thinking", False, 1124), ("qwen3:8b", False, 100)],
)
def test_what_cannot_be_kept_from_thinking_has_room_for_it(
    ollama_server: OllamaServer, model: str, think: str | bool, tokens: int
) -> None:
    ollama_server.models[model] = Installed(model, 5 << 30, ("completion", "thinking"), {})
    ollama_server.replies.append(WireReply("Hi", thinking="Who asks? " * 10))
    assert ask(OllamaModel(ollama_server.address, model, 8192), stream=True) == "Hi"
    assert ollama_server.chats[0]["think"] == think
    assert ollama_server.chats[0]["options"]["num_predict"] == tokens


def test_looking_at_the_server_loads_nothing(ollama_server: OllamaServer) -> None:
    OllamaModel(ollama_server.address, "qwen3:8b", 8192).status()
    assert ollama_server.loads == []
    assert ollama_server.chats == []


# --- what comes back ---


@pytest.mark.parametrize("stream", [True, False])
def test_usage_is_what_the_server_counted(ollama_server: OllamaServer, stream: bool) -> None:
    ollama_server.replies.append(WireReply("12345678", prompt_tokens=321))
    *_, last = OllamaModel(ollama_server.address, "qwen3:8b", 8192).chat(ChatRequest(QUESTION, 100, stream=stream))
    assert last.usage == Usage(321, 2)


def test_a_prompt_that_the_server_cut_shows_in_the_tokens_it_read(ollama_server: OllamaServer) -> None:
    ollama_server.replies.append("Hi")
    messages = (Message("system", "s" * 40), Message("user", "u" * 20_000), Message("user", "q" * 40))
    *_, last = OllamaModel(ollama_server.address, "qwen3:8b", 2048).chat(ChatRequest(messages, 100))
    assert last.usage == Usage(20, 1)


def test_a_cold_load_is_waited_for(ollama_server: OllamaServer) -> None:
    ollama_server.load_seconds = 1.5
    ollama_server.replies.append("Hi")
    assert ask(OllamaModel(ollama_server.address, "qwen3:8b", 8192), stream=True) == "Hi"


def test_a_model_too_large_for_the_machine_says_what_to_set(ollama_server: OllamaServer) -> None:
    reason = "model requires more system memory (9.6 GiB) than is available (4.1 GiB)"
    ollama_server.replies.append(WireReply(status=500, error=reason))
    with pytest.raises(ModelError, match=r"9\.6 GiB.*smaller model.*PERSONA_CONTEXT_WINDOW lower"):
        ask(OllamaModel(ollama_server.address, "qwen3:8b", 8192))


def test_an_embedding_model_cannot_chat(ollama_server: OllamaServer) -> None:
    model = OllamaModel(ollama_server.address, "bge-m3", 8192)
    with pytest.raises(ModelError, match="does not support chat"):
        ask(model)
    assert not model.status().ready
    assert model.status().problem == "bge-m3 cannot chat."


def test_something_else_at_the_address_is_not_taken_for_ollama() -> None:
    with LoopbackServer() as server:
        server.routes["GET /api/tags"] = lambda exchange: exchange.text(200, "<html>", "text/html")
        status = OllamaModel(server.address, "qwen3:8b", 8192).status()
    assert not status.ready
    assert "could not be understood" in status.problem


# --- status ---


def test_status_of_a_model_that_is_there_but_not_loaded(ollama_server: OllamaServer) -> None:
    status = OllamaModel(ollama_server.address, "qwen3:8b", 8192).status()
    assert (status.kind, status.address, status.model) == ("ollama", ollama_server.address, "qwen3:8b")
    assert status.ready
    assert status.problem == status.remedy == ""
    assert status.details == {
        "capabilities": ["completion", "tools", "thinking"],
        "weights_bytes": 5_225_388_164,
        "cache_bytes": 8192 * 144 * 1024,
        "needed_bytes": 5_225_388_164 + 8192 * 144 * 1024,
        "loaded": False,
        "loaded_bytes": 0,
        "loaded_video_bytes": 0,
        "loaded_context": None,
        "partly_on_cpu": False,
    }


def test_status_of_a_loaded_model_tells_its_size_and_context(ollama_server: OllamaServer) -> None:
    ollama_server.replies.append("Hi")
    model = OllamaModel(ollama_server.address, "qwen3:8b", 4096)
    ask(model)
    details = model.status().details
    assert details["loaded"]
    assert details["loaded_context"] == 4096
    assert details["loaded_bytes"] == details["loaded_video_bytes"] == details["needed_bytes"]


@pytest.mark.parametrize(("share", "spills"), [(0.7, True), (1.0, False), (0.0, False)])
def test_only_a_model_that_is_partly_on_the_processor_is_warned_of(share: float, spills: bool) -> None:
    spilling = Installed(QWEN3.name, QWEN3.size, QWEN3.capabilities, QWEN3.info, video_share=share)
    with OllamaServer(["Hi"], [spilling]) as server:
        model = OllamaModel(server.address, "qwen3:8b", 8192)
        ask(model)
        status = model.status()
    assert status.ready
    assert status.details["partly_on_cpu"] is spills
    assert ("slowly" in status.problem) is spills
    assert ("PERSONA_CONTEXT_WINDOW" in status.remedy) is spills


@pytest.mark.parametrize("name", ["llama3.2", "llama3.2:latest", "Llama3.2"])
def test_names_are_the_same_with_and_without_latest(ollama_server: OllamaServer, name: str) -> None:
    status = OllamaModel(ollama_server.address, name, 8192).status()
    assert "does not have" not in status.problem


def test_another_size_of_the_same_model_is_another_model(ollama_server: OllamaServer) -> None:
    status = OllamaModel(ollama_server.address, "qwen3:4b", 8192).status()
    assert not status.ready
    assert status.remedy == "Run `ollama pull qwen3:4b`."


def test_all_that_are_there_are_looked_at_in_few_requests(ollama_server: OllamaServer) -> None:
    model = OllamaModel(ollama_server.address, "qwen3:8b", 8192)
    for _ in range(2):
        assert [one.model for one in model.there()] == ["llama3.2", "qwen3:8b"]
    asked = [request.path for request in ollama_server.received]
    assert asked.count("/api/tags") == asked.count("/api/ps") == 2
    assert asked.count("/api/show") <= len(ollama_server.models)  # some were shown to another test
    assert model.there()[1] == model.status()


def test_one_that_is_damaged_hides_no_other() -> None:
    damaged = Installed("damaged:1b", 1, ("completion",), {"general.architecture": "never shown"})
    with OllamaServer(models=[damaged, QWEN3]) as server:
        show = server.routes["POST /api/show"]
        server.routes["POST /api/show"] = lambda exchange: (
            exchange.json(500, {"error": "invalid manifest"}) if "damaged" in exchange.body["model"] else show(exchange)
        )
        assert [one.model for one in OllamaModel(server.address, "qwen3:8b", 8192).there()] == ["qwen3:8b"]


def test_an_address_that_is_none_is_a_clear_error() -> None:
    status = OllamaModel("http://127.0.0.1:1", "qwen3:8b", 8192).status()
    assert not status.ready
    assert "ollama serve" in status.problem + status.remedy


def test_the_cache_of_a_model_whose_layers_differ_is_summed() -> None:
    info = {
        "gemma3n.attention.head_count": 8,
        "gemma3n.attention.head_count_kv": [2, 4],
        "gemma3n.block_count": 2,
        "gemma3n.embedding_length": 1024,
    }
    assert cache_bytes(info, 1000) == (2 + 4) * (128 + 128) * 2 * 1000
    assert cache_bytes({"general.architecture": "unheard-of"}, 1000) == 0


# --- pull ---


def test_pulling_tells_how_far_it_has_come_layer_by_layer() -> None:
    with OllamaServer(models=[]) as server:
        model = OllamaModel(server.address, "qwen3:8b", 8192)
        assert not model.status().ready
        steps = list(model.pull())
        assert model.status().ready
    assert steps[0] == PullProgress("pulling manifest")
    assert steps[-1] == PullProgress("success")
    layers = [step for step in steps if step.digest]
    assert len({step.digest for step in layers}) == 2
    assert layers[0].completed is None
    assert layers[0].total == QWEN3.size
    assert all((a.completed or 0) <= (b.completed or 0) for a, b in pairwise(layers) if a.digest == b.digest)


def test_a_download_that_ends_without_success_has_broken_off() -> None:
    def half(exchange: Exchange) -> None:
        exchange.begin("application/x-ndjson")
        exchange.chunk(
            '{"status": "pulling a3de86cd1c13", "digest": "sha256:a3de86cd1c13", "total": 9, "completed": 4}\n'
        )
        exchange.end()

    with OllamaServer(models=[]) as server:
        server.routes["POST /api/pull"] = half
        with pytest.raises(ModelUnreachable, match="The download of qwen3:8b broke off"):
            list(OllamaModel(server.address, "qwen3:8b", 8192).pull())


def test_pulling_a_model_that_there_is_not_says_so(ollama_server: OllamaServer) -> None:
    with pytest.raises(ModelError, match="file does not exist"):
        list(OllamaModel(ollama_server.address, "no-such-model", 8192).pull())


# --- address ---


@pytest.mark.parametrize(
    ("given", "address"),
    [
        ("", "http://127.0.0.1:11434"),
        ("0.0.0.0", "http://0.0.0.0:11434"),
        ("box.local", "http://box.local:11434"),
        (":8080", "http://127.0.0.1:8080"),
        ("box:8080", "http://box:8080"),
        ("[::1]", "http://[::1]:11434"),
        ("https://box", "https://box"),
    ],
)
def test_the_host_is_read_as_ollama_itself_reads_it(monkeypatch: pytest.MonkeyPatch, given: str, address: str) -> None:
    monkeypatch.delenv("PERSONA_OLLAMA_HOST", raising=False)
    monkeypatch.setenv("OLLAMA_HOST", given)
    assert Settings().ollama_address == address


# --- embedder ---


def test_vectors_have_length_one_and_keep_their_order(ollama_server: OllamaServer) -> None:
    embedder = OllamaEmbedder(ollama_server.address, "bge-m3")
    texts = [f"text number {number}" for number in range(150)]
    vectors = embedder.embed(texts)
    assert vectors.shape == (150, 64)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    assert np.array_equal(vectors[77], embedder.embed([texts[77]])[0])
    sent = ollama_server.bodies("/api/embed")
    assert [len(body["input"]) for body in sent] == [64, 64, 22, 1]
    assert sent[3] == {"model": "bge-m3", "input": ["text number 77"], "truncate": False, "keep_alive": "30m"}


def test_the_dimension_is_asked_for_once_and_nothing_before_it_is_needed(ollama_server: OllamaServer) -> None:
    embedder = OllamaEmbedder(ollama_server.address, "bge-m3")
    assert ollama_server.received == []
    assert embedder.dimension == 64
    assert embedder.dimension == 64
    assert embedder.embed([]).shape == (0, 64)
    assert len(ollama_server.received) == 1


def test_a_text_that_is_too_long_after_all_is_cut_rather_than_refused(ollama_server: OllamaServer) -> None:
    embedder = OllamaEmbedder(ollama_server.address, "all-minilm")
    assert embedder.embed(["short", "long " * 500]).shape == (2, 32)
    assert [body["truncate"] for body in ollama_server.bodies("/api/embed")] == [False, True]


@pytest.mark.parametrize(("model", "tokens"), [("all-minilm", 230), ("bge-m3", 512)])
def test_chunks_are_as_long_as_the_model_reads_but_never_long(
    ollama_server: OllamaServer, model: str, tokens: int
) -> None:
    assert OllamaEmbedder(ollama_server.address, model).max_tokens == tokens


@pytest.mark.parametrize(
    ("model", "languages"),
    [
        ("bge-m3", set()),
        ("bge-m3:latest", set()),
        ("embeddinggemma:300m", set()),
        ("qwen3-embedding:0.6b", set()),
        ("paraphrase-multilingual", set()),
        ("nomic-embed-text-v2-moe", set()),
        ("snowflake-arctic-embed2", set()),
        ("nomic-embed-text", {"en"}),
        ("mxbai-embed-large", {"en"}),
        ("all-minilm:22m", {"en"}),
        ("snowflake-arctic-embed", {"en"}),
        ("somebodys-own", {"en"}),
    ],
)
def test_an_embedder_knows_its_languages_by_its_name(model: str, languages: set[str]) -> None:
    assert OllamaEmbedder("http://127.0.0.1:1", model).languages == languages


def test_an_embedders_name_is_the_same_with_and_without_latest() -> None:
    names = {OllamaEmbedder("http://127.0.0.1:1", name).name for name in ("bge-m3", "bge-m3:latest")}
    assert names == {"ollama:bge-m3"}


@pytest.mark.parametrize(
    "text", ["", "Where were you born?", "R2-D2 is a droid.", "尼古拉·特斯拉是发明家。", "Donaudampfschiff"]
)
def test_word_pieces_are_estimated_rather_too_high(text: str) -> None:
    words = len(text.split())
    assert words + 2 <= estimate(text) <= len(text) + 2


def test_embedding_errors_say_what_to_do(ollama_server: OllamaServer) -> None:
    with pytest.raises(EmbedderError, match="`ollama pull nobody`") as missing:
        OllamaEmbedder(ollama_server.address, "nobody").embed(["Hi"])
    assert isinstance(missing.value.__cause__, ModelMissing)
    with pytest.raises(EmbedderError, match="ollama serve") as down:
        OllamaEmbedder("http://127.0.0.1:1", "bge-m3").embed(["Hi"])
    assert isinstance(down.value.__cause__, ModelUnreachable)
    with pytest.raises(EmbedderError, match="ollama pull"):
        _ = OllamaEmbedder(ollama_server.address, "nobody").max_tokens


@pytest.mark.parametrize(
    "rows", [[], [[1.0, 2.0]], [[0.0, 0.0], [1.0, 0.0]], [[1.0], [1.0, 2.0]], [[float("nan")], [1.0]]]
)
def test_vectors_that_are_none_are_refused(rows: list[list[float]]) -> None:
    with pytest.raises(EmbedderError, match="Choose another embedding model"):
        unit(rows, 2)


def test_an_embedder_with_garbled_replies_is_an_error() -> None:
    with LoopbackServer() as server:
        server.routes["POST /api/embed"] = lambda exchange: exchange.json(200, {"unexpected": True})
        with pytest.raises(EmbedderError) as raised:
            OllamaEmbedder(server.address, BGE_M3.name).embed(["Hi"])
    assert isinstance(raised.value.__cause__, ModelGarbled)


# --- the adapters' manners ---


@pytest.mark.parametrize("module", ["ollama", "openai_server"])
def test_importing_an_adapter_imports_no_vendor(module: str) -> None:
    code = (
        f"import sys, persona.adapters.{module} as m; m.{'OllamaModel' if module == 'ollama' else 'OpenAIServerModel'}\n"
        "print([n for n in ('llama_index', 'ollama', 'openai', 'httpx') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_proxy_does_not_get_between_us_and_this_machine(
    ollama_server: OllamaServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    ollama_server.replies.append("Hi")
    assert ask(OllamaModel(ollama_server.address, "qwen3:8b", 8192)) == "Hi"
