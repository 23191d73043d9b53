"""Settings from the environment and files, and what is said of those that are not valid."""

from pathlib import Path

import pytest

from persona.errors import InputError, ModelUnreachable, SettingsError
from persona.settings import Settings, is_public, keep_choice, load_settings
from persona.wiring import Wiring


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A machine with nothing set up; the working folder and the data folder are empty."""
    import os

    for name in list(os.environ):
        if name.startswith("PERSONA_") or name == "OLLAMA_HOST":
            monkeypatch.delenv(name)
    (tmp_path / "work").mkdir()
    (tmp_path / "home").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setenv("PERSONA_HOME", str(tmp_path / "home"))
    return tmp_path


def toml(folder: Path, text: str) -> None:
    (folder / "persona.toml").write_text(text, "utf-8")


def test_with_nothing_set_up_there_are_defaults(nothing_set):
    settings = load_settings()
    assert (settings.llm, settings.model, settings.embedder, settings.context_window) == ("auto", "", "minilm", 8192)
    assert settings.chroma_location == str(nothing_set / "home" / "chroma")
    assert settings.database_url == f"sqlite:///{nothing_set / 'home' / 'persona.db'}"
    assert settings.language == "en"
    assert (settings.prompts / "answer.md").is_file()


def test_every_field_is_documented_by_a_sentence_and_in_the_readme():
    readme = (Path(__file__).parents[1] / "README.md").read_text("utf-8")
    for name, field in Settings.model_fields.items():
        assert field.description, name
        assert field.description.endswith("."), name
        assert f"`PERSONA_{name.upper()}`" in readme


@pytest.mark.parametrize(
    ("name", "value", "field", "read"),
    [
        ("PERSONA_LLM", "ollama", "llm", "ollama"),
        ("PERSONA_MODEL", "qwen3:8b", "model", "qwen3:8b"),
        ("PERSONA_REWRITE_MODEL", "qwen3:0.6b", "rewrite_model", "qwen3:0.6b"),
        ("PERSONA_OLLAMA_HOST", "http://other:1", "ollama_host", "http://other:1"),
        ("PERSONA_STAGES", " section, nearest,", "stage_names", ("section", "nearest")),
        ("PERSONA_OPENAI_URL", "http://x/v1", "openai_url", "http://x/v1"),
        ("PERSONA_CONTEXT_WINDOW", "4096", "context_window", 4096),
        ("PERSONA_EMBEDDER", "ollama:bge-m3", "embedder", "ollama:bge-m3"),
        ("PERSONA_CHROMA", "http://chroma:8000", "chroma_location", "http://chroma:8000"),
        ("PERSONA_DATABASE", "postgresql://x/y", "database_url", "postgresql://x/y"),
        ("PERSONA_WIKI_API", "http://wiki/api.php", "wiki_api", "http://wiki/api.php"),
        ("PERSONA_LANGUAGE", "zh-yue", "language", "zh-yue"),
        ("PERSONA_PROMPTS", "/my/prompts", "prompts", Path("/my/prompts")),
        ("PERSONA_IDLE_MINUTES", "0.5", "idle_minutes", 0.5),
        ("PERSONA_AT_ONCE", "2", "at_once", 2),
        ("PERSONA_WAITING", "5", "waiting", 5),
        ("PERSONA_PUBLIC", "1", "public", True),
        ("PERSONA_SECRET", "s3cret", "secret", "s3cret"),
    ],
)
def test_each_setting_is_read_from_its_variable(monkeypatch, name, value, field, read):
    monkeypatch.setenv(name, value)
    assert getattr(load_settings(), field) == read


def test_an_empty_variable_is_none(monkeypatch):
    for name in ("LLM", "CONTEXT_WINDOW", "LANGUAGE", "PROMPTS", "IDLE_MINUTES", "CHROMA", "MODEL"):
        monkeypatch.setenv(f"PERSONA_{name}", "")
    assert load_settings() == load_settings()
    assert (load_settings().llm, load_settings().context_window, load_settings().language) == ("auto", 8192, "en")


def test_an_empty_data_folder_is_the_platform_s(monkeypatch):
    monkeypatch.setenv("PERSONA_HOME", "")
    assert load_settings().home.name == "persona"


def test_files_are_read_and_the_nearer_one_wins_and_the_environment_over_both(nothing_set, monkeypatch):
    toml(nothing_set / "home", 'model = "of-home"\nlanguage = "de"\nembedder = "of-home"\n')
    toml(nothing_set / "work", 'model = "of-work"\nlanguage = "fr"\n')
    monkeypatch.setenv("PERSONA_LANGUAGE", "es")
    settings = load_settings()
    assert (settings.embedder, settings.model, settings.language) == ("of-home", "of-work", "es")


def test_a_file_in_the_working_folder_names_the_data_folder(nothing_set, monkeypatch):
    monkeypatch.delenv("PERSONA_HOME")
    monkeypatch.setenv("HOME", str(nothing_set))
    toml(nothing_set / "work", 'home = "~/home"\n')
    toml(nothing_set / "home", 'language = "de"\n')
    assert keep_choice(load_settings().home, "ollama", "llama3.2") == ""
    settings = load_settings()
    assert (settings.home, settings.language) == (nothing_set / "home", "de")
    assert (settings.llm, settings.model) == ("ollama", "llama3.2")


def test_a_file_in_the_usual_data_folder_names_another(nothing_set, monkeypatch):
    monkeypatch.delenv("PERSONA_HOME")
    monkeypatch.setattr("persona.settings.user_data_path", lambda *_, **__: nothing_set / "home")
    toml(nothing_set / "home", f"home = {str(nothing_set / 'other')!r}\n")
    keep_choice(load_settings().home, "builtin", "")
    assert (load_settings().home, load_settings().llm) == (nothing_set / "other", "builtin")


def test_a_tilde_is_the_home_folder_in_every_path(nothing_set, monkeypatch):
    monkeypatch.setenv("HOME", str(nothing_set))
    toml(nothing_set / "work", 'prompts = "~/my prompts"\nchroma = "~/vectors"\n')
    monkeypatch.setenv("PERSONA_HOME", "~/höme")
    settings = load_settings()
    assert settings.home == nothing_set / "höme"
    assert settings.prompts == nothing_set / "my prompts"
    assert settings.chroma_location == str(nothing_set / "vectors")


def test_what_is_passed_wins_over_all(monkeypatch):
    monkeypatch.setenv("PERSONA_MODEL", "of-env")
    assert Settings(model="passed").model == "passed"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PERSONA_LLM", "gpt"), ("PERSONA_CONTEXT_WINDOW", "many"), ("PERSONA_CONTEXT_WINDOW", "100"), ("PERSONA_LANGUAGE", "en.evil.com/"),
        ("PERSONA_LANGUAGE", "English"), ("PERSONA_IDLE_MINUTES", "0"), ("PERSONA_IDLE_MINUTES", "-1"),
        ("PERSONA_STAGES", ","), ("PERSONA_STAGES", "nearest,nearest"), ("PERSONA_STAGES", "nearest,vectors"),
    ],
)  # fmt: skip
def test_a_value_that_is_not_valid_is_named(monkeypatch, name, value):
    monkeypatch.setenv(name, value)
    with pytest.raises(InputError, match=f"Correct these settings.*{name}: "):
        load_settings()


def test_all_that_is_not_valid_is_named_at_once(monkeypatch):
    monkeypatch.setenv("PERSONA_LLM", "gpt")
    monkeypatch.setenv("PERSONA_LANGUAGE", "?")
    with pytest.raises(InputError, match=r"PERSONA_LLM.*PERSONA_LANGUAGE"):
        load_settings()


def test_a_value_in_a_file_that_is_not_valid_is_named(nothing_set):
    toml(nothing_set / "work", "context_window = 10\n")
    with pytest.raises(InputError, match="PERSONA_CONTEXT_WINDOW"):
        load_settings()


def test_a_file_that_is_no_toml_is_named(nothing_set):
    toml(nothing_set / "work", "model = \n")
    with pytest.raises(InputError, match=r"persona\.toml"):
        load_settings()


def test_a_misspelt_name_in_a_file_is_told(nothing_set):
    toml(nothing_set / "work", 'modell = "x"\n')
    with pytest.raises(InputError, match="modell"):
        load_settings()


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("", "http://127.0.0.1:11434"), ("box", "http://box:11434"), ("box:1234", "http://box:1234"), ("http://box:1", "http://box:1"),
        ("https://box", "https://box"), ("0.0.0.0:5", "http://0.0.0.0:5"), ("[::1]", "http://[::1]:11434"), ("[::1]:9", "http://[::1]:9"),
        ("box/ollama/", "http://box:11434/ollama"), (":5", "http://127.0.0.1:5"),
    ],
)  # fmt: skip
def test_ollama_s_address_is_read_as_its_own_client_reads_it(monkeypatch, host, address):
    monkeypatch.setenv("OLLAMA_HOST", host)
    assert load_settings().ollama_address == address
    monkeypatch.setenv("PERSONA_OLLAMA_HOST", "http://mine:7")
    assert load_settings().ollama_address == "http://mine:7"


@pytest.mark.parametrize("host", ["localhost:port", "http://box:99999", "[::1"])
def test_what_is_no_address_of_ollama_is_said_in_a_sentence(monkeypatch, host):
    monkeypatch.setenv("OLLAMA_HOST", host)
    with pytest.raises(ModelUnreachable, match=r"is no address of Ollama.*OLLAMA_HOST"):
        _ = load_settings().ollama_address


@pytest.mark.parametrize(
    ("value", "public"), [("1", True), ("true", True), ("0", False), ("False", False), ("", False)]
)
@pytest.mark.parametrize("broken", [True, False])
def test_a_public_demo_is_one_also_where_another_setting_is_wrong(nothing_set, monkeypatch, value, public, broken):
    monkeypatch.setenv("PERSONA_PUBLIC", value)
    if broken:
        toml(nothing_set / "work", "model = \n")
    assert is_public() is public


@pytest.mark.parametrize("embedder", ["bge-m3", "ollama:", "openai", "minilm:2", "MiniLM"])
def test_an_embedder_that_is_none_is_not_taken_for_the_one_that_comes_along(embedder):
    with pytest.raises(SettingsError, match=r"PERSONA_EMBEDDER.*ollama:bge-m3"):
        _ = Wiring(Settings(embedder=embedder)).embedder


def test_settings_cannot_be_changed_and_do_not_show_the_key():
    settings = Settings(openai_key="secret-key", secret="secret-key")
    with pytest.raises(Exception, match="frozen"):
        settings.model = "x"  # type: ignore[misc]
    assert "secret-key" not in repr(settings)
