"""The commands and their options, and what becomes of every error.

Exit codes: 0 done (a refusal is an answer), 1 an error said in a sentence, 2 wrong usage, 130 after Ctrl-C, 141 when
nobody reads the output any more. No traceback is shown unless PERSONA_DEBUG is set. Knows nothing of what a command
does.
"""

from __future__ import annotations

import logging
import os
import sys
import traceback
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from persona.calls import serve, to_stderr
from persona.cli.output import note, silence, write_json
from persona.errors import PersonaError
from persona.records import new_id

_AS_JSON = "persona.json"
_LONGEST_LOG = 1_000_000  # bytes; a longer one is begun anew
_SIGINT, _SIGPIPE = 130, 141


class _Commands(TyperGroup):
    """Turns whatever a command raises into a sentence and an exit code."""

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401 - typer keeps the type to itself
        try:
            return super().invoke(ctx)
        except (typer.Exit, typer.Abort, typer.BadParameter):
            raise
        except PersonaError as error:
            _report(error, ctx.meta.get(_AS_JSON, False))
        except BrokenPipeError as error:
            silence()
            raise typer.Exit(_SIGPIPE) from error
        except Exception as error:
            if type(error).__module__.startswith("typer.") or os.environ.get("PERSONA_DEBUG"):
                raise
            _report(PersonaError(_unexpected(error)), ctx.meta.get(_AS_JSON, False))
        raise typer.Exit(1)


def _report(error: PersonaError, as_json: bool) -> None:
    note(str(error), style="red")
    for line in getattr(error, "lines", ()):
        note(line)
    if as_json:
        write_json({"error": str(error), **getattr(error, "data", {})})


def _unexpected(error: Exception) -> str:
    kept = _keep(error)
    where = f"The details are in {kept}" if kept else "The details could not be stored"
    return (
        f"Something went wrong that should not have ({type(error).__name__}: {error}). {where}; "
        "with PERSONA_DEBUG=1 they are shown. Try again, and report it if it stays."
    )


def _keep(error: Exception) -> str:
    """The file that the traceback was added to; empty where it cannot be written."""
    with suppress(Exception):
        from persona.settings import load_settings

        file = load_settings().home / "errors.log"
        file.parent.mkdir(parents=True, exist_ok=True)
        mode = "w" if file.exists() and file.stat().st_size > _LONGEST_LOG else "a"
        with file.open(mode, encoding="utf-8", errors="backslashreplace") as log:
            log.write("".join(traceback.format_exception(error)) + "\n")
        return str(file)
    return ""


app = typer.Typer(
    cls=_Commands,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _note_json(ctx: typer.Context, value: bool) -> bool:
    ctx.meta[_AS_JSON] = value
    return value


Json = Annotated[
    bool, typer.Option("--json", callback=_note_json, help="Print one JSON document; everything else goes to stderr.")
]
Who = Annotated[str, typer.Argument(metavar="PERSON", help="A title, an id, or the first 6 or more digits of an id.")]


@app.callback()
def _common(
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Tell on stderr what is called outside.")] = False,
) -> None:
    """Interview anyone who has a Wikipedia page: answers in the first person, from the page alone, with sources."""
    serve(new_id())
    if verbose:
        to_stderr()
    else:
        logging.getLogger("persona.interview").setLevel(logging.ERROR)  # a failed turn is reported by its command


@app.command()
def load(
    what: Annotated[str, typer.Argument(metavar="TITLE|FILE", help="A page's title, or a Markdown file.")],
    language: Annotated[str, typer.Option(help="The language's code, such as de; else PERSONA_LANGUAGE.")] = "",
    as_json: Json = False,
) -> None:
    """Load a page of Wikipedia, or a Markdown file, so that its person can be interviewed."""
    from persona.cli.loading import load

    load(_typed(what), language, as_json)


@app.command()
def people(as_json: Json = False) -> None:
    """List who can be interviewed."""
    from persona.cli.people import people

    people(as_json)


@app.command()
def ask(
    person: Who,
    question: Annotated[str, typer.Argument(help="What you want to know, in quotation marks.")],
    thread: Annotated[str, typer.Option(help="Go on in this thread; else a new one is started.")] = "",
    as_json: Json = False,
    trace: Annotated[bool, typer.Option("--trace", help="Show how the answer came about.")] = False,
) -> None:
    """Ask one question."""
    from persona.cli.asking import ask

    ask(_typed(person), _typed(question), _typed(thread), as_json, trace)


@app.command()
def chat(
    person: Who, thread: Annotated[str, typer.Option(help="Go on in this thread; else a new one is started.")] = ""
) -> None:
    """Interview somebody, question after question."""
    from persona.cli.chat import chat

    chat(_typed(person), _typed(thread))


class Form(StrEnum):
    """How a thread is written."""

    MARKDOWN = "markdown"
    JSON = "json"


@app.command()
def export(
    thread: Annotated[str, typer.Argument(metavar="THREAD", help="The id, or its first 6 or more digits.")],
    form: Annotated[
        Form, typer.Option("--format", help="Markdown to publish, or JSON with all branches and traces.")
    ] = Form.MARKDOWN,
) -> None:
    """Write a thread to standard output."""
    from persona.cli.exporting import export

    export(_typed(thread), form.value)


@app.command()
def doctor(as_json: Json = False) -> None:
    """Say what is set up, what is not, and what to do about it."""
    from persona.cli.doctor import doctor

    if not doctor(as_json):
        raise typer.Exit(1)


@app.command()
def delete(
    person: Who,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask whether to.")] = False,
    as_json: Json = False,
) -> None:
    """Delete a person's page and index; the conversations are kept."""
    from persona.cli.people import delete

    delete(_typed(person), yes, as_json)


@app.command()
def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Where it is written.")],
    yes: Annotated[bool, typer.Option("--yes", help="Replace a file that is there.")] = False,
    as_json: Json = False,
) -> None:
    """Save people and conversations in one file, while the app may run."""
    from persona.cli.backing_up import backup

    backup(file, yes, as_json)


@app.command()
def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What `persona backup` wrote.")],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask whether to replace what is there.")] = False,
    as_json: Json = False,
) -> None:
    """Put what a backup holds in place of what is there."""
    from persona.cli.backing_up import restore

    restore(file, yes, as_json)


Cases = Annotated[list[Path], typer.Argument(metavar="CASES", help="Files with one case, a JSON object, a line.")]


@app.command("eval")
def evaluate(
    cases: Cases,
    retrieval: Annotated[bool, typer.Option("--retrieval", help="Search and gate only; no model is asked.")] = False,
    rewrite: Annotated[
        bool, typer.Option("--rewrite", help="Rewriting only, without pages, beside a plain prompt.")
    ] = False,
    only: Annotated[str, typer.Option(metavar="TAG", help="Only the cases with this tag.")] = "",
    limit: Annotated[int, typer.Option(min=0, help="At most so many cases.")] = 0,
    json_out: Annotated[
        Path | None, typer.Option("--json", metavar="OUT", help="Write figures and cases there.")
    ] = None,
    html_out: Annotated[
        Path | None, typer.Option("--html", metavar="OUT", help="Write a report to be looked at there.")
    ] = None,
    baseline: Annotated[Path | None, typer.Option(metavar="OLD", help="Compare with an earlier --json file.")] = None,
    fail_under: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="Exit 1 if this figure is lower; can be repeated.")
    ] = None,
) -> None:
    """Run cases and print figures: right answers, right refusals, sources, calls, time."""
    from persona.cli.evaluating import Options, evaluate

    if retrieval and rewrite:
        raise typer.BadParameter("--retrieval and --rewrite are two runs; take one of them.")
    options = Options(
        mode="retrieval" if retrieval else "rewrite" if rewrite else "turns",
        only=only,
        limit=limit,
        json_out=json_out,
        html_out=html_out,
        baseline=baseline,
        fail_under=tuple(fail_under or ()),
    )
    raise typer.Exit(evaluate(cases, options))


@app.command()
def calibrate(
    cases: Cases,
    folder: Annotated[
        Path | None, typer.Option("--into", help="Where the gate is stored; else in the data folder.")
    ] = None,
    words: Annotated[bool, typer.Option("--words", help="Fit the gate of words alone, without vectors.")] = False,
    as_json: Json = False,
) -> None:
    """Fit the evidence gate of the embedder that is set to cases, and say how well it carries over from page to page."""
    from persona.cli.calibrating import calibrate

    calibrate(cases, folder, words, as_json)


@app.command("app")
def serve_app(
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 for Streamlit's usual one.")] = 0,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open a browser.")] = True,
) -> None:
    """Make everything ready and open the app in the browser."""
    from persona.cli.serving import serve_app

    serve_app(port, browser)


@app.command(hidden=True)
def prepare() -> None:
    """Join the built-in model where it is what answers, and load the samples that are missing."""
    from persona.cli.loading import prepare

    prepare()


def _typed(argument: str) -> str:
    """An argument as text: bytes that are no UTF-8 become question marks, since no database could keep them."""
    return argument.encode(errors="surrogateescape").decode(errors="replace")


def main() -> None:
    """Run the command that was typed, and end the process with its exit code."""
    try:
        app(prog_name="persona")
        sys.stdout.flush()
    except KeyboardInterrupt:
        sys.exit(_SIGINT)
    except BrokenPipeError:
        silence()
        sys.exit(_SIGPIPE)
