"""Ollama's own client: what the server has and needs, and what its errors mean.

Knows addresses, timeouts, the memory a model takes and how Ollama words its refusals. Knows nothing of chats. Nothing
is imported or contacted before the first call.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from persona.adapters.proxies import LOOPBACK
from persona.errors import ContextExceeded, EmbedderError, ModelError, ModelGarbled, ModelMissing, ModelUnreachable
from persona.importing import IMPORTS

if TYPE_CHECKING:
    import ollama

CONNECT_SECONDS = 5.0
REPLY_SECONDS = 600.0  # between two pieces; a cold load from a slow disk counts as one
LOOK_SECONDS = 10.0  # for questions that load nothing

_known: dict[str, ollama.ShowResponse] = {}  # by digest
_TOO_LONG = re.compile(r"context.*exceed|exceed.*context|input is too (long|large)", re.IGNORECASE)


class Server:
    """The client, shared by threads, and what its errors mean."""

    def __init__(self, host: str) -> None:
        self.host = host.rstrip("/")

    @cached_property
    def client(self) -> ollama.Client:
        """For whatever may load a model."""
        return self._client(REPLY_SECONDS)

    def _client(self, seconds: float) -> ollama.Client:
        with IMPORTS:
            import httpx
            import ollama

        # a proxy for the internet must not get in the way of this machine
        proxies = urlsplit(self.host).hostname not in LOOPBACK
        timeout = httpx.Timeout(seconds, connect=min(seconds, CONNECT_SECONDS))
        return ollama.Client(self.host, timeout=timeout, trust_env=proxies)

    def look(self, model: str, context_window: int) -> dict[str, Any]:
        """What the server knows of a model, sizes in bytes, without loading it. Raises ModelMissing."""
        client = self._client(LOOK_SECONDS)
        with closing(client):
            here = next((m for m in client.list().models if same_model(m.model, model)), None)
            if here is None:
                raise ModelMissing(self._missing(model))
            return _facts(here, _shown(client, here), client.ps().models, context_window)

    def look_at_all(self, context_window: int) -> dict[str, dict[str, Any]]:
        """The same of all models that the server has, of any kind; names without ":latest", as people type them."""
        with IMPORTS:
            import ollama

        found: dict[str, dict[str, Any]] = {}
        client = self._client(LOOK_SECONDS)
        with closing(client):
            here, running = client.list().models, client.ps().models
            for model in here:
                with suppress(ollama.ResponseError):  # one that is damaged, or has just been deleted
                    found[_name(model)] = _facts(model, _shown(client, model), running, context_window)
        return dict(sorted(found.items()))

    @contextmanager
    def embedding(self, model: str) -> Iterator[None]:
        """`translated`, for an embedder."""
        try:
            with self.translated(model):
                yield
        except ModelError as error:
            raise EmbedderError(str(error)) from error

    @contextmanager
    def translated(self, model: str) -> Iterator[None]:
        """The client's errors as ours."""
        with IMPORTS:
            import httpx
            import ollama

        try:
            yield
        except ollama.ResponseError as error:
            raise self._refused(model, error) from error
        except (ConnectionError, httpx.ConnectError, httpx.ConnectTimeout, httpx.UnsupportedProtocol) as error:
            raise ModelUnreachable(
                f"Ollama does not answer at {self.host}. Start it with `ollama serve`, or set PERSONA_OLLAMA_HOST to "
                "its address or PERSONA_LLM=builtin for the built-in model."
            ) from error
        except httpx.TimeoutException as error:
            raise ModelUnreachable(
                f"Ollama at {self.host} went silent. Ask again, or look at its log when it stays so."
            ) from error
        except httpx.TransportError as error:
            raise ModelUnreachable(self.broke_off()) from error
        except (ValueError, KeyError, TypeError, AttributeError) as error:  # no JSON, or not the fields there must be
            raise ModelGarbled(
                f"The reply from {self.host} could not be understood. Check that Ollama answers there and is up to date."
            ) from error

    def broke_off(self) -> str:
        """The message for a reply without an end."""
        return f"Ollama at {self.host} broke off in the middle of its reply. Ask again, or restart it."

    def _missing(self, model: str) -> str:
        return f"Ollama at {self.host} does not have the model {model}. Get it with `ollama pull {model}`."

    def _refused(self, model: str, error: ollama.ResponseError) -> ModelError:
        reason = str(error.error).strip().rstrip(".") or "no reason given"
        if error.status_code == 404:
            return ModelMissing(self._missing(model))
        if is_too_long(reason):
            return ContextExceeded(
                f"The request does not fit the model's context window ({reason}). Set PERSONA_CONTEXT_WINDOW higher."
            )
        if "memory" in reason:
            remedy = "Set PERSONA_MODEL to a smaller model, or PERSONA_CONTEXT_WINDOW lower."
        else:
            remedy = "Ask again, or look at Ollama's log."
        return ModelError(f"Ollama could not answer with {model}: {reason}. {remedy}")


def _name(model: ollama.ListResponse.Model) -> str:
    return (model.model or "").removesuffix(":latest")


def _shown(client: ollama.Client, model: ollama.ListResponse.Model) -> ollama.ShowResponse:
    """Asked for once: for each the server reads a whole file, and a digest names what never changes."""
    if not model.digest:
        return client.show(model.model or "")
    if model.digest not in _known:
        _known[model.digest] = client.show(model.model or "")
    return _known[model.digest]


def _facts(
    here: ollama.ListResponse.Model,
    shown: ollama.ShowResponse,
    running: Sequence[ollama.ProcessResponse.Model],
    context_window: int,
) -> dict[str, Any]:
    loaded = next((m for m in running if same_model(m.model, here.model or "")), None)
    size, in_video = (int(loaded.size or 0), int(loaded.size_vram or 0)) if loaded else (0, 0)
    weights, cache = int(here.size or 0), cache_bytes(shown.modelinfo or {}, context_window)
    return {
        "capabilities": list(shown.capabilities or []),
        "weights_bytes": weights,
        "cache_bytes": cache,
        "needed_bytes": weights + cache,
        "loaded": loaded is not None,
        "loaded_bytes": size,
        "loaded_video_bytes": in_video,
        "loaded_context": loaded.context_length if loaded else None,
        "partly_on_cpu": 0 < in_video < size,
    }


def cache_bytes(info: Mapping[str, Any], context_window: int) -> int:
    """Memory of the cache at 16 bit, from `show`'s model_info: layers x heads x (key + value) x 2 bytes x tokens.

    An upper bound for models whose layers look back less far than the window. 0 when the server does not tell.
    """
    fields = {key.partition(".")[2]: value for key, value in info.items()}
    layers, heads = fields.get("block_count"), fields.get("attention.head_count_kv")
    if not layers or not heads:
        return 0
    queries = fields.get("attention.head_count") or 1
    most = max(queries) if isinstance(queries, list) else queries
    width = (fields.get("embedding_length") or 0) // (most or 1)
    both = (fields.get("attention.key_length") or width) + (fields.get("attention.value_length") or width)
    all_heads = sum(heads) if isinstance(heads, list) else layers * heads
    return int(all_heads * both * 2 * context_window)


def same_model(listed: str | None, model: str) -> bool:
    """Names are the same with and without ":latest", and in any case, as the server takes them."""
    return (listed or "").removesuffix(":latest").lower() == model.removesuffix(":latest").lower()


def is_too_long(reason: str) -> bool:
    """Whether a server's complaint is about the length of what it was sent."""
    return bool(_TOO_LONG.search(reason))
