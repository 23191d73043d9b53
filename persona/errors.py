"""Every error that persona raises on purpose.

PersonaError
├── InputError            what was asked for cannot be done as asked
│   ├── OtherWiki         the title belongs to another wiki
│   └── SettingsError     a setting is not valid
├── Busy                  too many ask at once, or one asked too much: later it can be done
├── Absent                who asked was gone before the answer was begun
├── PageError             the wiki or the file gave no page
│   ├── WikiUnreachable   no network, refused, timed out
│   ├── WikiBusy          429 or 5xx: try later
│   └── WikiGarbled       the reply could not be understood
├── ModelError            the model server gave no usable reply
│   ├── ModelUnreachable  nothing answers at its address
│   ├── ModelMissing      the server answers but does not have the model
│   ├── ModelGarbled      the reply was empty or could not be understood
│   │   └── ThoughtAloud  thinking came as if it were the answer
│   └── ContextExceeded   the request does not fit the context window
├── EmbedderError         the embedder cannot be used
├── IndexMismatch         the index was built by another embedder or chunker
├── StoreError            the database or the vector store failed
│   └── MissingBuild      the build's vectors are gone: another load replaced it
└── PromptError           a prompt file is not valid

Each message is one or two plain sentences and says what to do next; adapters raise them `from` the vendor's error.
`cli.py` and `ui/` catch PersonaError only.
"""


class PersonaError(Exception):
    """The root of the tree."""


class InputError(PersonaError):
    """What was asked for cannot be done as asked."""


class OtherWiki(InputError):
    """The title belongs to another wiki: `title` there, and the `language` of that wiki where it is a matter of that."""

    def __init__(self, asked: str, title: str, language: str) -> None:
        remedy = f"choose the language “{language}” for it" if language else "choose a title of this wiki"
        ask_for = f"ask for “{title}” alone and " if title else ""
        super().__init__(f"“{asked}” leads to another wiki. Instead, {ask_for}{remedy}.")
        self.title, self.language = title, language


class SettingsError(InputError):
    """A setting is not valid: whoever runs the program can mend it, and nobody else need know of it."""


class Busy(PersonaError):
    """Too many ask at once, or one asked too much; in `seconds` it can be tried again."""

    def __init__(self, message: str, seconds: float) -> None:
        super().__init__(message)
        self.seconds = seconds

    @property
    def data(self) -> dict[str, float]:
        """What goes beside the message in JSON."""
        return {"retry_after": round(self.seconds, 1)}


class Absent(PersonaError):
    """Who asked, or the process that was to answer, was gone before the answer was begun."""


class PageError(PersonaError):
    """The wiki or the file gave no page."""


class WikiUnreachable(PageError):
    """No network, connection refused, or timed out."""


class WikiBusy(PageError):
    """The wiki asks to wait: 429 or 5xx."""


class WikiGarbled(PageError):
    """The wiki's reply could not be understood."""


class ModelError(PersonaError):
    """The model server gave no usable reply."""


class ModelUnreachable(ModelError):
    """Nothing answers at the model server's address, or it went away."""


class ModelMissing(ModelError):
    """The server answers but does not have the model."""


class ModelGarbled(ModelError):
    """The reply was empty or could not be understood."""


class ThoughtAloud(ModelGarbled):
    """What came until now as the answer was thinking. The model's next replies are passed on only when they are whole."""


class ContextExceeded(ModelError):
    """The request does not fit the context window."""


class EmbedderError(PersonaError):
    """The embedder cannot be used."""


class IndexMismatch(PersonaError):
    """The index was built by another embedder or chunker: rebuild it."""


class StoreError(PersonaError):
    """The database or the vector store failed."""


class MissingBuild(StoreError):
    """The build's vectors are gone: another load replaced it."""


class PromptError(PersonaError):
    """A prompt file is not valid."""
