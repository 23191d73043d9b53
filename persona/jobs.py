"""What takes long and is not a turn: loading pages, fetching a model, making the built-in model's file.

Each runs in a worker thread of the process, so that a click or a closed tab costs nothing; pages read how far it came.
Knows no Streamlit.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from persona.calls import serve
from persona.errors import PersonaError
from persona.records import Choice, Loaded, Progress, new_id

JobEvent = Progress | Loaded | Choice | tuple[int, int]  # the pair: bytes done and in all
UNEXPECTED = "Something went wrong, and it was logged. Try again; if it stays, restart the program."
_MODEL = "model "  # begins the key of a job that readies a model; all others load pages
PREPARE = f"{_MODEL}prepare"  # makes the built-in model's file
PULL = f"{_MODEL}pull "  # and the name: Ollama downloads it
_KEPT = 50  # ended jobs
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Job:
    """How far one came. `loaded` grows by one with each page; `error` is a sentence, of `trouble` if we raised it.

    One that was cancelled has ended, though its work may need a moment to notice.
    """

    id: str
    key: str  # what it does: the same job is not started twice at once
    title: str
    language: str
    began: float
    latest: JobEvent | None = None
    loaded: tuple[Loaded, ...] = ()
    choice: Choice | None = None
    error: str = ""
    trouble: PersonaError | None = None
    ended: float | None = None
    cancelled: bool = False

    @property
    def loads(self) -> bool:
        """Whether people come of it."""
        return not self.key.startswith(_MODEL)

    @property
    def seconds(self) -> float:
        """How long it ran, or has been running."""
        return (self.ended or time.monotonic()) - self.began


class Jobs:
    """The jobs of one process. Usable from any thread."""

    def __init__(self) -> None:
        self._jobs: dict[str, Job] = {}
        self._work: dict[str, Callable[[], Iterator[JobEvent]]] = {}
        self._lock = threading.Lock()

    def start(self, key: str, title: str, language: str, work: Callable[[], Iterator[JobEvent]]) -> Job:
        """Begin the work; if that very job is running, it is the one returned."""
        with self._lock:
            for job in self._jobs.values():
                if job.key == key and job.ended is None:
                    return job
            job = Job(new_id(), key, title, language, time.monotonic())
            self._jobs[job.id], self._work[job.id] = job, work
            self._forget_old()
        threading.Thread(target=self._run, args=(job.id, work), name=f"job-{key}", daemon=True).start()
        return job

    def again(self, job: Job) -> Job:
        """Begin anew what ended."""
        return self.start(job.key, job.title, job.language, self._work[job.id])

    def cancel(self, job: str) -> None:
        """End it now, if it has not ended; its work stops before its next event."""
        self._end(job, cancelled=True)

    def get(self, job: str) -> Job | None:
        """As it stands now."""
        with self._lock:
            return self._jobs.get(job)

    def running(self) -> list[Job]:
        """Those that have not ended, oldest first."""
        with self._lock:
            return [job for job in self._jobs.values() if job.ended is None]

    def ended(self) -> list[Job]:
        """Those that have, oldest first; only some are remembered."""
        with self._lock:
            return [job for job in self._jobs.values() if job.ended is not None]

    def find(self, key: str) -> Job | None:
        """The latest with that key."""
        with self._lock:
            return next((job for job in reversed(self._jobs.values()) if job.key == key), None)

    def _run(self, job: str, work: Callable[[], Iterator[JobEvent]]) -> None:
        error, trouble = "", None
        serve(job)
        try:
            for event in work():  # left early, the work is closed where it stands
                if not self._is_running(job):
                    return
                self._note(job, event)
        except PersonaError as raised:
            error, trouble = str(raised), raised
            _log.warning("a job failed: %s", raised)
        except Exception:
            error = UNEXPECTED
            _log.exception("a job failed")
        self._end(job, error=error, trouble=trouble)

    def _note(self, job: str, event: JobEvent) -> None:
        if isinstance(event, Loaded):
            with self._lock:
                loaded = self._jobs[job].loaded
            self._change(job, latest=event, loaded=(*loaded, event))
        elif isinstance(event, Choice):
            self._change(job, latest=event, choice=event)
        else:
            self._change(job, latest=event)

    def _is_running(self, job: str) -> bool:
        found = self.get(job)
        return found is not None and found.ended is None

    def _end(self, job: str, **how: object) -> None:
        self._change(job, ended=time.monotonic(), **how)

    def _change(self, job: str, **changes: object) -> None:
        """Of what has ended nothing changes any more."""
        with self._lock:
            found = self._jobs.get(job)
            if found and found.ended is None:
                self._jobs[job] = replace(found, **changes)  # type: ignore[arg-type]

    def _forget_old(self) -> None:
        ended = [id_ for id_, job in self._jobs.items() if job.ended is not None]
        for id_ in ended[: max(len(ended) - _KEPT, 0)]:
            del self._jobs[id_], self._work[id_]
