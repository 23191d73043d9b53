"""All settings, in one frozen object.

Read from, the later winning: the defaults, `persona.toml` in the data folder, `persona.toml` in the working folder,
what was chosen in the app, the environment (PERSONA_…). Knows nothing of what the values are used for.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, cast
from urllib.parse import quote, urlsplit

from platformdirs import user_data_path
from pydantic import Field, ValidationError, field_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict, TomlConfigSettingsSource

from persona.errors import ModelUnreachable, SettingsError, StoreError
from persona.records import STAGES, StageName, is_language
from persona.setup.bundled import prompts as bundled_prompts

_CHOSEN = "chosen.toml"  # in the data folder: the model that was chosen in the app


def _home(*files: Mapping[str, Any]) -> Path:
    """The data folder: the environment's, else that of the first file which names one, else the platform's."""
    named = (str(file["home"]) for file in files if file.get("home"))
    return _expanded(os.environ.get("PERSONA_HOME") or next(named, "") or user_data_path("persona", appauthor=False))


def _expanded(path: str | Path) -> Path:
    """`~` in a file means what it means in a shell."""
    return Path(os.path.expanduser(path))


class Settings(BaseSettings):
    """Everything a user can set; each field's description is its documentation."""

    model_config = SettingsConfigDict(env_prefix="PERSONA_", frozen=True, extra="ignore", env_ignore_empty=True)

    home: Path = Field(default_factory=_home, description="The folder that holds all data.")
    llm: Literal["auto", "builtin", "ollama", "openai"] = Field(
        default="auto",
        description="Who answers: auto takes the OpenAI-style server or the GGUF file that is set, else Ollama where it "
        "answers and has the model, else the built-in model.",
    )
    model: str = Field(
        default="", description="The chat model's name at its server, or for builtin the path of a GGUF file."
    )
    rewrite_model: str = Field(
        default="", description="A smaller model that rewrites questions; empty for the chat model."
    )
    ollama_host: str = Field(
        default="", description="Ollama's address; empty for OLLAMA_HOST, else http://127.0.0.1:11434."
    )
    openai_url: str = Field(default="", description="The address of an OpenAI-style server, with /v1.")
    openai_key: str = Field(default="", description="The key for the OpenAI-style server, if it wants one.", repr=False)
    context_window: int = Field(
        default=8192, ge=2048, description="Tokens of prompt and reply together, sent with every call."
    )
    embedder: str = Field(
        default="minilm", description="minilm, ollama:MODEL for one of Ollama's embedding models, or openai:MODEL."
    )
    chroma: str = Field(
        default="", description="The folder or the address (http://…) of Chroma; empty for a folder in home."
    )
    database: str = Field(default="", description="SQLAlchemy's URL of the database; empty for SQLite in home.")
    wiki_api: str = Field(default="", description="The address of a MediaWiki's api.php; empty for Wikipedia.")
    language: str = Field(default="en", description="The language whose Wikipedia is read when none is named.")
    stages: str = Field(
        default=",".join(STAGES),
        description="Which stages look for an answer on the page, and in which order; leave one out to switch it off.",
    )
    prompts: Path = Field(default_factory=bundled_prompts, description="The folder with the prompt files.")
    at_once: int = Field(
        default=1, ge=1, description="Questions that are answered at once; one graphics card does one at a time."
    )
    waiting: int = Field(
        default=3, ge=0, description="Questions that may wait in line for an answer; one more is asked to come back."
    )
    public: bool = Field(
        default=False,
        description="A public demo: limits for each visitor and network, own threads only, and no page can be changed.",
    )
    log_texts: bool = Field(
        default=False, description="Whether the log's lines on outside calls hold what was asked and looked for."
    )
    secret: str = Field(
        default="",
        repr=False,
        description="Signs visitors' cookies, the same for all processes of one app; empty for a file in home.",
    )
    idle_minutes: float = Field(
        default=15, gt=0, description="The built-in model's process ends after so long without a call."
    )

    @field_validator("home", "prompts")
    @classmethod
    def _expand(cls, value: Path) -> Path:
        return _expanded(value)

    @field_validator("language")
    @classmethod
    def _is_language(cls, value: str) -> str:
        if not is_language(value):
            raise ValueError(f"{value!r} is no language code; take one like en, de or zh")
        return value

    @field_validator("stages")
    @classmethod
    def _are_stages(cls, value: str) -> str:
        names = [name.strip() for name in value.split(",") if name.strip()]
        if not names or len({*names}) < len(names) or not {*names} <= {*STAGES}:
            raise ValueError(f"{value!r} must name some of {', '.join(STAGES)}, each once, with commas between them")
        return ",".join(names)

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """What is passed wins over the environment, that over what was chosen in the app, and that over the files."""
        working = _read(settings_cls, Path("persona.toml"))
        data = _read(settings_cls, _home(working()) / "persona.toml")
        chosen = _read(settings_cls, _home(working(), data()) / _CHOSEN)
        return init_settings, env_settings, chosen, working, data

    @property
    def ollama_address(self) -> str:
        """Ollama's address with scheme and port, as its own client reads OLLAMA_HOST. Raises ModelUnreachable."""
        host = self.ollama_host or os.environ.get("OLLAMA_HOST") or "127.0.0.1"
        try:
            where = urlsplit(host if "://" in host else f"http://{host}")
            port = where.port
        except ValueError as error:
            raise ModelUnreachable(
                f"{host!r} is no address of Ollama ({error}). Correct PERSONA_OLLAMA_HOST or OLLAMA_HOST."
            ) from error
        if "://" in host:
            return host
        name = where.hostname or "127.0.0.1"
        return f"http://{f'[{name}]' if ':' in name else name}:{port or 11434}{where.path.rstrip('/')}"

    @property
    def stage_names(self) -> tuple[StageName, ...]:
        """The stages in their order."""
        return tuple(cast("StageName", name) for name in self.stages.split(","))

    @property
    def chroma_location(self) -> str:
        """A folder, or an address that starts with http."""
        if self.chroma.startswith("http"):
            return self.chroma
        return str(_expanded(self.chroma) if self.chroma else self.home / "chroma")

    @property
    def database_url(self) -> str:
        """SQLAlchemy's URL."""
        return self.database or f"sqlite:///{quote(str(self.home / 'persona.db'))}"


def _read(settings_cls: type[BaseSettings], file: Path) -> TomlConfigSettingsSource:
    """A file's settings. Raises SettingsError if it is no TOML or sets what does not exist."""
    try:
        source = TomlConfigSettingsSource(settings_cls, file)
    except (OSError, ValueError) as error:
        raise SettingsError(f"{file} cannot be read ({error}). Correct it, or move it away.") from error
    if unknown := source().keys() - settings_cls.model_fields.keys():
        names = ", ".join(sorted(settings_cls.model_fields))
        raise SettingsError(f"{file} sets {', '.join(sorted(unknown))}, which does not exist. There are: {names}.")
    return source


def keep_choice(home: Path, llm: str, model: str) -> str:
    """Have the choice of a model outlast the process; "auto" forgets it. The setting that stands against it, if any."""
    file = home / _CHOSEN
    against = next((name for name in ("PERSONA_LLM", "PERSONA_MODEL") if os.environ.get(name)), "")
    try:
        if llm == "auto":
            file.unlink(missing_ok=True)
        elif not against:
            file.parent.mkdir(parents=True, exist_ok=True)
            # a smaller model that a file sets to rewrite questions need not be at the server that was chosen
            file.write_text(f'llm = {_toml(llm)}\nmodel = {_toml(model)}\nrewrite_model = ""\n', "utf-8")
    except OSError as error:
        raise StoreError(f"The choice cannot be kept in {file} ({error.strerror or error}).") from error
    return against


def _toml(text: str) -> str:
    """A string of TOML, which JSON's strings are, too."""
    return json.dumps(text, ensure_ascii=False)


def load_settings() -> Settings:
    """The settings of this process. Raises SettingsError naming each setting that is not valid."""
    try:
        return Settings()
    except ValidationError as error:
        wrong = "; ".join(f"PERSONA_{'_'.join(map(str, e['loc'])).upper()}: {e['msg']}" for e in error.errors())
        raise SettingsError(f"Correct these settings (environment or persona.toml): {wrong}.") from error


def is_public() -> bool:
    """Whether this is a public demo; where the settings are not valid, by the environment alone."""
    try:
        return load_settings().public
    except SettingsError:
        return os.environ.get("PERSONA_PUBLIC", "").lower() not in ("", "0", "false", "no", "off")
