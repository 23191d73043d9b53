"""The parts that all pages of the process share, made once: wiring, runner, jobs.

Holds nothing of any reader: that is in a tab's session_state, and what was said is in the store.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from datetime import timedelta
from importlib import import_module

import streamlit as st

from persona.answering import Health
from persona.errors import InputError, PersonaError, StoreError
from persona.importing import IMPORTS
from persona.jobs import PREPARE, PULL, Job, Jobs
from persona.loading import Loader
from persona.lookup import Lookup
from persona.ports import History
from persona.records import Loaded, ModelStatus, Person, Progress, new_id
from persona.runner import Runner
from persona.settings import Settings, keep_choice
from persona.ui import visitors
from persona.ui.own import OwnThreads
from persona.wiring import Wiring

SAMPLES = "samples"
PUBLIC = (
    "This is a public demo: whoever is loaded can be interviewed, and its keeper looks after pages and models. "
    "On your own computer you can load anyone."
)
_SEEN = 5.0  # seconds between two notes of who is here
_OPENAI = ("llama_index.llms.openai_like", "openai.resources.chat.completions")  # the second is half of the time
_CLIENTS = {"ollama": ("llama_index.llms.ollama",), "openai": _OPENAI}
_LOCAL = frozenset({"builtin", "ollama"})  # servers that are warmed: a call elsewhere may cost money
_UNDONE = timedelta(days=1)  # for which a deleted thread can be brought back
FRESH = 15.0  # seconds for which what a model server said is repeated
_log = logging.getLogger(__name__)


class Engine:
    """The parts of one process. Usable from any thread; `warm` makes in the background what is slow to make."""

    def __init__(self, wiring: Wiring) -> None:
        self._wiring = wiring
        self._making = threading.RLock()  # a part of the wiring is made by one thread only
        self._looking = threading.Lock()
        self._runner: Runner | None = None
        self._health: Health | None = None
        self._checked = float("-inf")
        self._checking = threading.Lock()
        self.library, self._history, self._line = wiring.library, wiring.history, wiring.line
        self.jobs = Jobs()
        self._warming = False
        self._ready_to_greet = threading.Event()
        self._greeted: set[tuple[str, str, str]] = set()

    @property
    def runner(self) -> Runner:
        """Runs turns; the first call waits until models and embedder are wired. Raises PersonaError."""
        with self._making:
            if self._runner is None:
                self._runner = Runner(self._wiring.interview, self._history, visitors.current)
            return self._runner

    @property
    def history(self) -> History:
        """Threads and turns; in a public demo only those of the visitor whose page is being drawn."""
        if not self.settings.public:
            return self._history
        visitor = visitors.current()
        return OwnThreads(self._history, visitor.id if visitor else new_id())

    @property
    def settings(self) -> Settings:
        """As they are now: another model may have been chosen."""
        return self._wiring.settings

    @property
    def embedder_name(self) -> str:
        """The embedder's name once it is made, else nothing: a page need not wait for it."""
        made = vars(self._wiring).get("embedder")
        return made.name if made else ""

    def stop(self, turn: str) -> None:
        """Ask a turn of this process to end."""
        if self._runner:
            self._runner.stop(turn)

    def answers(self, turn: str) -> bool:
        """Whether this process is answering it."""
        return self._runner is not None and turn in self._runner.running()

    def end_the_dead(self) -> None:
        """Mark as interrupted what another process was answering, on this machine or elsewhere, and never will."""
        self._history.abandon()
        self._line.beat()

    def health(self) -> Health | None:
        """What answers and what would be better, as last heard; None until it is known.

        Never waits: servers are asked in the background.
        """
        if time.monotonic() - self._checked > FRESH:
            self.look()
        return self._health

    def look(self) -> None:
        """Ask anew what answers, in the background."""
        if not self._checking.locked():
            threading.Thread(target=self._check, name="model-status", daemon=True).start()

    def answer_with(self, kind: str, model: str) -> str:
        """From the next question on that model answers, after a restart too; "auto" for the best that is there.

        The setting that stands against keeping it, if any. Raises StoreError.
        """
        self._not_in_public()
        with self._making:
            self._wiring.answer_with(kind, model)
        self._health = None
        threading.Thread(target=self._ready, name="model-ready", daemon=True).start()
        return keep_choice(self.settings.home, kind, model)

    def pull(self, model: str) -> Job:
        """Have Ollama download a model and answer with it, in the background."""
        self._not_in_public()
        return self.jobs.start(f"{PULL}{model}", model, "", lambda: self._pull(model))

    def cancel(self, job: Job) -> None:
        """End a job: a page that is half loaded is not used, a half download is gone on with the next time."""
        self._not_in_public()
        self.jobs.cancel(job.id)

    @property
    def lookup(self) -> Lookup:
        """Suggestions while typing, and portraits; made without waiting for a model."""
        with self._looking:
            return self._wiring.lookup

    def load(self, title: str, language: str) -> Job:
        """Load a page of the wiki, in the background."""
        self._not_in_public()
        return self.jobs.start(f"load {language} {title}", title, language, lambda: self._loader.title(title, language))

    def reload(self, person: Person) -> Job:
        """Load a person's page again, in the background."""
        self._not_in_public()
        return self.jobs.start(f"again {person.id}", person.title, person.language, lambda: self._loader.again(person))

    def add_samples(self) -> Job:
        """Load the samples that are not there, in the background."""
        self._not_in_public()
        return self._start_samples()

    def _start_samples(self) -> Job:
        return self.jobs.start(SAMPLES, "the samples", "en", self._samples)

    def delete(self, person: Person) -> None:
        """Forget a person; the threads stay readable."""
        self._not_in_public()
        self._loader.delete(person)

    def _not_in_public(self) -> None:
        """The buttons are not there; this is for whoever gets past them."""
        if self.settings.public:
            raise InputError(PUBLIC)

    @property
    def _loader(self) -> Loader:
        """Waits for the embedder, the first time."""
        with self._making:
            return self._wiring.loader

    def warm(self) -> None:
        """Make what is slow to make, in the background; the samples too where nobody is there to interview."""
        self._warming = True
        try:
            self._history.abandon()
            self._history.purge(_UNDONE)
        except StoreError as error:  # what can only be read can be shown
            _log.warning("what is old is left as it is: %s", error)
        if not self.library.people():
            self._start_samples()
        threading.Thread(target=self._warm, name="warm", daemon=True).start()
        if self.settings.public:  # elsewhere nobody loses a place by leaving
            threading.Thread(target=self._note_presence, name="presence", daemon=True).start()

    def _note_presence(self) -> None:
        """Who has a page open here waits for their answers, whichever process answers them."""
        while True:
            time.sleep(_SEEN)
            try:
                if here := visitors.presence.here():
                    self._wiring.queue.seen(here)
            except PersonaError as error:
                _log.warning("who is here could not be noted: %s", error)

    def _samples(self) -> Iterator[Progress | Loaded]:
        yield from self._loader.samples()

    def _pull(self, model: str) -> Iterator[tuple[int, int]]:
        yield from self._wiring.pull(model)
        usual = self._wiring.ollama_status()
        if self.settings.llm != "auto" or (usual.model, usual.ready) != (model, True):
            self.answer_with("ollama", model)
        self._check()

    def _check(self) -> None:
        with self._checking:
            try:
                ollama = self._wiring.ollama_status()
                with self._making:
                    self._wiring.follow(ollama)
                    _ = self._wiring.builtin, self._wiring.model
                self._health = self._wiring.health(ollama)
            except PersonaError as error:
                self._health = Health(ModelStatus("", "", "", ready=False, problem=str(error)), ())
            except Exception:
                _log.exception("the model's status could not be read")
            finally:
                self._checked = time.monotonic()

    def _ready(self) -> None:
        """What was chosen is made ready before the first question."""
        self._check()
        try:
            self._warm_builtin()
        except PersonaError as error:
            _log.warning("the built-in model is not ready: %s", error)

    def _warm(self) -> None:
        try:
            self._check()
            _ = self.runner
            # both take seconds, which the first question should not wait for; it needs them in this order
            self._search_once()
            with IMPORTS:
                for module in _CLIENTS.get(self._wiring.kind, _OPENAI):
                    import_module(module)
            self._warm_builtin()
        except PersonaError as error:
            _log.warning("not all could be made ready: %s", error)
        except Exception:
            _log.exception("not all could be made ready")
        finally:
            self._ready_to_greet.set()

    def greet(self, person: Person) -> None:
        """While the greeting is read, make ready what the first question will need; once for each page and model.

        Not in a public demo, where others may be waiting for the model.
        """
        settings = self.settings
        key = (person.build, settings.llm, settings.model)
        if not settings.public and self._warming and key not in self._greeted:
            self._greeted.add(key)
            threading.Thread(target=self._greet, args=(person.id,), name="greet", daemon=True).start()

    def _greet(self, person: str) -> None:
        self._ready_to_greet.wait()
        try:
            answers = self._health.answers if self._health else None
            ready = bool(answers and answers.ready and answers.kind in _LOCAL)
            asked = bool(self._runner and self._runner.running())  # then the question itself does it
            self._wiring.interview.warm(person, model=ready and not asked)
        except PersonaError as error:
            _log.warning("the first question will have to wait: %s", error)
        except Exception:
            _log.exception("the first question will have to wait")

    def _search_once(self) -> None:
        """Load the embedder, open the vectors and index the page that is likeliest to be asked."""
        latest = [thread.person for thread in self._history.threads()[:1]]
        for person in latest or [person.id for person in self.library.people()[:1]]:
            if self.library.person(person):
                found = self._wiring.interview.subject(person).searcher.search("Who are you?")
                _ = found.features, found.candidates  # the n-grams are made ready, too

    def _warm_builtin(self) -> None:
        status = self._health.answers if self._health else None
        if status is None or status.kind != "builtin" or not status.ready:
            return
        builtin = self._wiring.builtin
        if not status.details.get("joined"):
            preparing = self.jobs.start(PREPARE, "the built-in model", "en", builtin.prepare)
            while (job := self.jobs.get(preparing.id)) and job.ended is None:
                time.sleep(0.2)
            if job and job.error:
                return
        builtin.address()
        self._check()


@st.cache_resource(show_spinner=False)  # a spinner would move all that is drawn after it, in one run only
def engine() -> Engine:
    """The engine of this process. Raises PersonaError when a setting is wrong or the database cannot be opened."""
    made = Engine(Wiring())
    made.warm()
    return made
