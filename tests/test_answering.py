"""What is said of what answers, whether it fits the card, and what the button offers."""

from __future__ import annotations

import pytest

from persona.answering import fit, gb, health, instead, named
from persona.records import ModelStatus
from persona.settings import Settings, keep_choice, load_settings

GIB = 2**30
BUILTIN = ModelStatus("builtin", "", "tiny.gguf", ready=True)
NO_BUILTIN = ModelStatus("builtin", "", "tiny.gguf", ready=False, problem="It is not installed", remedy="Install it")
DOWN = ModelStatus("ollama", "http://127.0.0.1:11434", "qwen3:8b", ready=False, problem="down")
MISSING = ModelStatus("ollama", "http://127.0.0.1:11434", "qwen3:8b", ready=False, details={"missing": True})


def on_ollama(name: str, weights: float, cache: float = 1.0, in_video: float | None = None) -> ModelStatus:
    """A model that is there; sizes in GiB. `in_video` if it is loaded."""
    details: dict[str, object] = {"weights_bytes": int(weights * GIB), "cache_bytes": int(cache * GIB)}
    if in_video is not None:
        size = int((weights + cache) * GIB)
        details |= {"loaded": True, "loaded_bytes": size, "loaded_video_bytes": int(in_video * GIB)}
    return ModelStatus("ollama", "http://127.0.0.1:11434", name, ready=True, details=details)


QWEN = on_ollama("qwen3:8b", 4.9)


@pytest.mark.parametrize(
    ("status", "fits"),
    [
        (on_ollama("m", 5.9, 1.0), True),
        (on_ollama("m", 6.1, 1.0), False),
        (on_ollama("m", 20.0, 1.0, in_video=21.0), True),  # a larger card than we calculate with
        (on_ollama("m", 4.0, 1.0, in_video=3.0), False),  # a smaller one
        (DOWN, True),  # qwen3:8b, as it is known
    ],
)
def test_a_model_fits_by_calculation_or_as_it_was_seen(status: ModelStatus, fits: bool) -> None:
    assert fit(status, 8192).fits is fits


def test_what_a_model_needs_is_told_with_where_it_is() -> None:
    assert fit(DOWN, 8192).words == "qwen3:8b with a context of 8192 tokens needs 5.2 GB and 1.2 GB of cache"
    assert fit(on_ollama("m", 4.0, 1.0, in_video=3.0), 4096).words.endswith(
        "; 3.2 GB of 5.4 GB are in video memory now"
    )
    assert gb(5.25e9) == "5.2 GB"


def test_the_largest_that_fits_is_taken_instead_else_a_smaller_one_to_get() -> None:
    assert instead([on_ollama("a", 2.0), on_ollama("b", 4.0), on_ollama("c", 9.0), BUILTIN], 8192) == "b"
    assert instead([on_ollama("c", 9.0)], 8192) == "qwen3:4b"
    assert instead([], 40960) == ""


def test_a_good_model_that_fits_needs_nothing() -> None:
    assert health(QWEN, QWEN, [QWEN, BUILTIN], 8192).offer is None
    served = ModelStatus("openai", "http://x/v1", "m", ready=True)
    assert health(served, DOWN, [served], 8192).offer is None


def test_beside_the_built_in_model_ollama_is_offered_to_be_started() -> None:
    offer = health(BUILTIN, DOWN, [BUILTIN], 8192).offer
    assert offer
    assert offer.action == "look"
    assert "qwen3:8b on Ollama answers better" in offer.words
    assert "“ollama serve”" in offer.words


def test_beside_the_built_in_model_a_missing_one_is_offered_to_be_fetched() -> None:
    offer = health(BUILTIN, MISSING, [BUILTIN], 8192).offer
    assert offer
    assert (offer.action, offer.kind, offer.model) == ("pull", "ollama", "qwen3:8b")
    assert "qwen3:8b (5.2 GB to download)" in offer.words
    small = health(BUILTIN, MISSING, [BUILTIN], 20_000).offer
    assert small
    assert small.model == "qwen3:4b"  # the usual one and so long a context do not fit


def test_whoever_chose_the_built_in_model_is_left_alone() -> None:
    assert health(BUILTIN, QWEN, [QWEN, BUILTIN], 8192).offer is None


def test_a_model_too_large_names_one_that_is_there_and_fits() -> None:
    large, small = on_ollama("large", 9.0, 1.0, in_video=6.0), on_ollama("small", 2.0)
    offer = health(large, large, [large, small, BUILTIN], 8192).offer
    assert offer
    assert (offer.action, offer.model) == ("choose", "small")
    assert "too much for the card. small fits." in offer.words


def test_a_model_too_large_with_nothing_else_there_names_one_to_get() -> None:
    large = on_ollama("large", 9.0)
    offer = health(large, large, [large, BUILTIN], 8192).offer
    assert offer
    assert (offer.action, offer.model) == ("pull", "qwen3:4b")
    assert "too much for a card of 8 GB. qwen3:4b (2.6 GB to download) fits." in offer.words
    only = health(large, large, [large], 60_000).offer
    assert only
    assert "PERSONA_CONTEXT_WINDOW lower" in only.words


def test_when_ollama_is_down_it_is_to_be_started_or_another_answers() -> None:
    offer = health(DOWN, DOWN, [BUILTIN], 8192).offer
    assert offer
    assert (offer.action, offer.kind) == ("choose", "builtin")
    assert offer.words.startswith("Ollama does not answer at http://127.0.0.1:11434.")
    assert health(DOWN, DOWN, [], 8192).offer.action == "look"  # type: ignore[union-attr]


def test_when_the_chosen_model_is_missing_it_is_offered_to_be_fetched() -> None:
    offer = health(MISSING, MISSING, [BUILTIN], 8192).offer
    assert offer
    assert (offer.action, offer.model) == ("pull", "qwen3:8b")


def test_without_a_built_in_model_whatever_ollama_has_may_answer() -> None:
    offer = health(NO_BUILTIN, MISSING, [on_ollama("llama3.2", 2.0)], 8192).offer
    assert offer
    assert (offer.action, offer.model) == ("choose", "llama3.2")
    assert offer.words == "It is not installed. Install it. Or let llama3.2 on Ollama answer."


def test_what_would_leave_this_machine_is_never_offered() -> None:
    cloud = on_ollama("gpt-oss:120b-cloud", 384 / GIB)
    assert instead([cloud], 8192) == "qwen3:4b"
    offer = health(DOWN, DOWN, [cloud, BUILTIN], 8192).offer
    assert offer
    assert (offer.kind, offer.action) == ("builtin", "choose")
    assert cloud in health(DOWN, DOWN, [cloud, BUILTIN], 8192).there


def test_each_kind_of_server_is_named_in_words() -> None:
    assert named(BUILTIN) == "the built-in model (tiny)"
    assert named(QWEN) == "qwen3:8b on Ollama"
    assert named(ModelStatus("openai", "http://x/v1", "m", ready=True)) == "m on http://x/v1"
    assert named(ModelStatus("openai", "http://x/v1", "", ready=False)) == "the server at http://x/v1"


# --- a choice outlasts the process ---


@pytest.fixture
def home(tmp_path, monkeypatch):
    for name in ("PERSONA_LLM", "PERSONA_MODEL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PERSONA_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def chosen() -> tuple[str, str]:
    settings: Settings = load_settings()
    return settings.llm, settings.model


def test_a_choice_is_read_at_the_next_start_before_the_files(home):
    (home / "persona.toml").write_text('llm = "openai"\nrewrite_model = "small"\n')
    assert keep_choice(home, "ollama", 'a"\\ä') == ""
    assert chosen() == ("ollama", 'a"\\ä')
    assert load_settings().rewrite_model == ""
    keep_choice(home, "auto", "")
    assert chosen() == ("openai", "")
    assert load_settings().rewrite_model == "small"


@pytest.mark.parametrize("name", ["PERSONA_LLM", "PERSONA_MODEL"])
def test_what_the_environment_sets_is_named_and_nothing_is_kept(home, monkeypatch, name):
    monkeypatch.setenv(name, "openai")
    assert keep_choice(home, "ollama", "m") == name
    assert list(home.iterdir()) == []
