"""The command line in this process: real stores and embedder, a scripted model, pages written for these tests."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from persona.adapters.minilm import MiniLM
from persona.errors import ModelUnreachable, ThoughtAloud
from persona.records import ModelStatus, Turn
from persona.wiring import Wiring
from tests.cli_fixture import ILSE, PAID, PAID_ANSWER, SKY, Line, line, wired
from tests.ollama_server import OllamaServer
from tests.scripted import Reply

__all__ = ["line"]
_ASK_KEYS = {
    "question", "standalone", "answer", "found", "stage", "reason", "sources", "warnings", "thread", "turn", "model",
    "calls", "seconds", "first_token_seconds",
}  # fmt: skip


def turns(line: Line) -> list[Turn]:
    history = line.wiring.history
    return [turn for thread in history.threads() for turn in history.turns(thread.id)]


# --- load, people, delete ---


def test_a_markdown_file_is_loaded_with_its_progress_and_what_was_left_out(line: Line) -> None:
    result = line.run("load", str(line.write()))
    assert result.exit_code == 0
    assert re.search(r"fetched Ilse Körvin\n(embedding \d+ of 4\n)+stored 4 chunks\n", result.stderr)
    assert "Ilse Körvin (en), revision" in result.stdout
    assert "4 sections in 4 chunks" in result.stdout
    assert "4 chunks were embedded." in result.stdout
    assert "  Honors (no text)\n" in result.stdout
    assert "  References (reference matter)\n" in result.stdout


def test_loading_again_embeds_nothing_and_says_so(line: Line) -> None:
    file = str(line.write())
    first = line.json("load", file)
    second = line.json("load", file)
    assert (first["embedded"], first["reused"]) == (4, 0)
    assert (second["embedded"], second["reused"]) == (0, 4)
    assert second["person"] == first["person"]
    assert "nothing was embedded" in line.run("load", file).stdout


def test_only_what_changed_is_embedded_again(line: Line) -> None:
    line.load()
    told = line.json("load", str(line.write(ILSE.replace("six women", "seven women"))))
    assert (told["embedded"], told["reused"]) == (1, 3)


def test_load_prints_one_json_document(line: Line) -> None:
    file = str(line.write())
    told = line.json("load", file)
    assert set(told) == {
        "person", "title", "asked_for", "language", "revision", "sections", "chunks", "embedded", "reused", "left_out",
        "seconds", "advice",
    }  # fmt: skip
    assert (told["title"], told["asked_for"], told["language"]) == ("Ilse Körvin", file, "en")
    assert told["left_out"][-1] == {"path": "References", "reason": "reference matter"}


def test_a_page_in_a_language_that_the_embedder_does_not_know_comes_with_advice(line: Line) -> None:
    told = line.json("load", str(line.write()), "--language", "de")
    assert told["language"] == "de"
    assert "bge-m3" in told["advice"]


def test_a_file_that_is_not_there_is_no_title(line: Line) -> None:
    result = line.run("load", "nobody.md")
    assert result.exit_code == 1
    assert result.stderr == "There is no file nobody.md. Check the name.\n"


def test_a_wiki_that_does_not_answer_is_an_error_that_says_so(line: Line) -> None:
    told = line.json("load", "Ilse Körvin", code=1)
    assert set(told) == {"error"}
    assert "127.0.0.1:9" in told["error"]


def test_people_are_listed_as_json_and_as_lines(line: Line) -> None:
    assert line.json("people") == []
    assert "Nobody yet." in line.run("people").stdout
    loaded = line.load()
    assert line.json("people") == [
        {
            "id": loaded.person.id,
            "title": "Ilse Körvin",
            "language": "en",
            "sections": 4,
            "chunks": 4,
            "revision": loaded.person.revision,
            "left_out": [
                {"path": "Work", "reason": "no text"},
                {"path": "Honors", "reason": "no text"},
                {"path": "References", "reason": "reference matter"},
            ],
        }
    ]
    row = f"{loaded.person.id[:8]}\tIlse Körvin\ten\t4\t4\t3\t{loaded.person.revision}\n"
    assert line.run("people").stdout == row


def test_what_a_page_calls_itself_is_text_and_no_order_to_the_terminal(line: Line) -> None:
    line.load(ILSE.replace("# Ilse Körvin", "# [red]Ilse[/red] :smile: \x1b[2J\x1b]0;x\x07"))
    shown = line.run("people").stdout
    assert "[red]Ilse[/red] :smile: [2J]0;x" in shown
    assert "\x1b" not in shown


def test_a_person_is_deleted_only_when_confirmed_and_the_conversation_stays(line: Line) -> None:
    loaded = line.load()
    thread = line.wiring.history.start(loaded.person.id)
    assert line.json("delete", "Ilse Körvin", code=1) == {
        "error": "Deleting Ilse Körvin has to be confirmed. Add --yes."
    }
    assert line.run("delete", "Ilse Körvin", typed="y\n").exit_code == 1  # no terminal, so nobody was asked
    told = line.json("delete", "Ilse Körvin", "--yes")
    assert told == {"deleted": {"id": loaded.person.id, "title": "Ilse Körvin", "language": "en"}}
    assert line.json("people") == []
    assert line.wiring.store.builds() == []
    assert line.wiring.history.thread(thread.id)
    assert line.run("delete", "Ilse Körvin", "--yes").exit_code == 1


# --- whom a word names ---


def test_a_person_is_named_by_title_in_any_case_and_without_accents_or_by_id(line: Line) -> None:
    from persona.cli.session import find_person

    person = line.load().person
    for word in ("Ilse Körvin", "ilse korvin", "ILSE_KÖRVIN", " Ilse  Körvin ", person.id, person.id[:6].upper()):
        assert find_person(line.wiring.library, word) == person


@pytest.mark.parametrize("word", ["Nobody", "Ilse", "", "e"])
def test_a_word_that_names_nobody_lists_who_is_there(line: Line, word: str) -> None:
    person = line.load().person
    told = line.json("ask", word, PAID, code=1)
    assert told["choices"] == [{"id": person.id, "title": "Ilse Körvin", "language": "en"}]
    assert person.id[:8] in line.run("ask", word, PAID).stderr


def test_the_first_five_digits_of_an_id_are_too_few(line: Line) -> None:
    person = line.load().person
    assert line.run("ask", person.id[:5], PAID).exit_code == 1


def test_a_title_that_fits_two_people_lists_both_and_either_id_parts_them(line: Line) -> None:
    one, other = line.load().person, line.load(name="other.md").person
    told = line.json("ask", "ilse korvin", PAID, code=1)
    assert {choice["id"] for choice in told["choices"]} == {one.id, other.id}
    assert "fits more than one person" in told["error"]
    assert line.json("ask", other.id[:8], SKY)["found"] is False


# --- ask ---


def test_an_answer_is_one_json_object_with_its_sources_and_calls(line: Line) -> None:
    line.load()
    line.model.replies += [PAID_ANSWER]
    told = line.json("ask", "Ilse Körvin", PAID)
    assert set(told) == _ASK_KEYS
    assert (told["question"], told["standalone"], told["answer"], told["found"]) == (PAID, PAID, PAID_ANSWER, True)
    assert told["stage"] == "ranked"
    assert told["sources"][0]["number"] == 1
    assert set(told["sources"][0]) == {"number", "section", "url", "revision", "text", "score"}
    assert "Work -> The tide bell" in [source["section"] for source in told["sources"]]
    assert [call["step"] for call in told["calls"]] == ["answer"]
    assert set(told["calls"][0]) == {"step", "model", "prompt", "prompt_tokens", "output_tokens", "seconds", "tries"}
    assert told["model"] == told["calls"][0]["model"] == "scripted"
    assert 0 <= told["first_token_seconds"] <= told["seconds"]
    assert [(turn.id, turn.thread) for turn in turns(line)] == [(told["turn"], told["thread"])]


def test_a_follow_up_goes_after_the_newest_turn_and_is_rewritten(line: Line) -> None:
    line.load()
    rewritten = {"question": "When did the workshop of Ilse Körvin burn down?", "turns": [1]}
    line.model.replies += ["It stood on Cooper Lane.", json.dumps(rewritten), "It burned down in the winter of 1852."]
    first = line.json("ask", "Ilse Körvin", "Where was your workshop?")
    second = line.json("ask", "Ilse Körvin", "When did it burn down?", "--thread", first["thread"])
    assert second["standalone"] == rewritten["question"]
    assert [call["step"] for call in second["calls"]] == ["rewrite", "answer"]
    assert second["thread"] == first["thread"]
    assert [turn.parent for turn in turns(line)] == [None, first["turn"]]


def test_a_refusal_is_no_error_and_has_a_reason_but_no_sources_and_no_calls(line: Line) -> None:
    line.load()
    told = line.json("ask", "Ilse Körvin", SKY)
    assert (told["found"], told["stage"], told["sources"], told["calls"]) == (False, "refused", [], [])
    assert told["reason"]
    assert told["first_token_seconds"] is None
    result = line.run("ask", "Ilse Körvin", SKY)
    assert result.exit_code == 0
    assert f"No answer: {told['reason']}" in result.stdout


def test_a_greeting_is_answered_without_a_call(line: Line) -> None:
    line.load()
    told = line.json("ask", "Ilse Körvin", "Hello!")
    assert (told["stage"], told["found"], told["calls"], told["first_token_seconds"]) == ("greeting", True, [], None)


def test_an_answer_in_words_has_numbered_sources_and_the_thread(line: Line) -> None:
    line.load()
    line.model.replies += [PAID_ANSWER]
    shown = line.run("ask", "Ilse Körvin", PAID).stdout
    assert shown.startswith(PAID_ANSWER + "\n")
    assert "\n[1] " in shown
    assert "She built the first tide bell in 1838" in shown
    assert f"--thread {turns(line)[0].thread}" in shown


def test_what_a_model_says_is_text_and_no_order_to_the_terminal(line: Line) -> None:
    line.load()
    line.model.replies += ["I was paid [red]forty[/red] :smile: crowns\x1b[2J\x07\u202e for the tide bell."]
    shown = line.run("ask", "Ilse Körvin", PAID).stdout
    assert shown.startswith("I was paid [red]forty[/red] :smile: crowns[2J for the tide bell.\n")
    assert "\x1b" not in shown


def test_a_trace_shows_stages_passages_scores_and_messages(line: Line) -> None:
    line.load()
    line.model.replies += [PAID_ANSWER]
    shown = line.run("ask", "Ilse Körvin", PAID, "--trace").stdout
    assert "rewritten (not)" in shown
    assert re.search(r"\n  gate +.*score [\d.]+", shown)
    assert re.search(r"\n  (leader|nearest) +answered .*s of model calls", shown)
    assert re.search(r"\n +[\d.]+  Work -> The tide bell: She built", shown)
    assert re.search(r"\n  call 1: answer by scripted", shown)
    assert f"\n      {PAID}" in shown


def test_with_json_the_trace_goes_to_stderr(line: Line) -> None:
    line.load()
    result = line.run("ask", "Ilse Körvin", SKY, "--json", "--trace")
    assert set(json.loads(result.stdout)) == _ASK_KEYS
    assert "Trace of turn" in result.stderr


def test_an_answer_that_turns_out_as_thinking_is_said_to_be_none_before_the_next_one(line: Line) -> None:
    line.load()
    thinking = "I was paid forty silver crowns for the tide bell, as the page has it. So I say that. Or do I"
    thought_aloud = Reply(thinking, error=ThoughtAloud("Ask again."))
    line.model.replies += [thought_aloud, PAID_ANSWER, thought_aloud, PAID_ANSWER]
    result = line.run("ask", "ilse korvin", PAID)
    came, _, rest = result.stdout.partition("\n")
    assert came
    assert thinking.startswith(came)
    assert rest.startswith(f"{PAID_ANSWER}\n")
    assert "That was no answer but the model's thinking." in result.stderr
    assert line.json("ask", "ilse korvin", PAID)["answer"] == PAID_ANSWER


def test_a_model_that_fails_is_an_error_and_the_question_is_kept(line: Line) -> None:
    line.load()
    line.model.replies += [ModelUnreachable("The model server is down. Start it.")] * 2
    told = line.json("ask", "Ilse Körvin", PAID, code=1)
    assert told["error"] == "The model server is down. Start it."
    assert line.wiring.history.turn(told["turn"]).question.asked == PAID  # type: ignore[union-attr]
    result = line.run("ask", "Ilse Körvin", PAID)
    assert result.exit_code == 1
    assert "The model server is down. Start it.\n" in result.stderr
    assert "Traceback" not in result.output


def test_after_a_failed_question_the_next_one_takes_its_place(line: Line) -> None:
    line.load()
    line.model.replies += [ModelUnreachable("Down."), PAID_ANSWER]
    failed = line.json("ask", "Ilse Körvin", PAID, code=1)
    told = line.json("ask", "Ilse Körvin", PAID, "--thread", failed["thread"])
    assert [call["step"] for call in told["calls"]] == ["answer"]
    assert [turn.state for turn in turns(line)] == ["failed", "done"]


@pytest.mark.parametrize("question", ["", "  ", "x" * 10_000])
def test_a_question_that_is_none_starts_no_thread(line: Line, question: str) -> None:
    line.load()
    assert set(line.json("ask", "Ilse Körvin", question, code=1)) == {"error"}
    assert line.wiring.history.threads() == []


def test_a_thread_must_be_there_and_be_with_that_person(line: Line) -> None:
    one, other = line.load().person, line.load(name="other.md").person
    thread = line.wiring.history.start(other.id).id
    assert "no thread nowhere" in line.json("ask", one.id, SKY, "--thread", "nowhere", code=1)["error"]
    assert "not with Ilse Körvin" in line.json("ask", one.id, SKY, "--thread", thread, code=1)["error"]


# --- chat ---


def test_a_chat_takes_piped_lines_and_shows_sources_and_trace(line: Line) -> None:
    line.load()
    line.model.replies += [PAID_ANSWER]
    result = line.run("chat", "Ilse Körvin", typed=f"/sources\n{PAID}\n/sources\n/trace\n/what\n\n/quit\n{PAID}\n")
    assert result.exit_code == 0
    assert f"\n{PAID_ANSWER}\n[1] " in result.stdout
    assert "She built the first tide bell in 1838 out of green bottle glass." in result.stdout
    assert "Trace of turn" in result.stdout
    assert "Ask something first." in result.stderr
    assert "/quit leaves" in result.stderr
    assert len(turns(line)) == 1


def test_a_chat_remembers_and_goes_on_after_an_error(line: Line) -> None:
    line.load()
    line.model.replies += [ModelUnreachable("The model server is down."), PAID_ANSWER]
    result = line.run("chat", "Ilse Körvin", typed=f"{PAID}\n{PAID}\nThank you!")
    assert result.exit_code == 0
    assert "The model server is down." in result.stderr
    assert PAID_ANSWER in result.stdout
    failed, answered, thanks = turns(line)
    assert (failed.state, answered.state, answered.parent, thanks.parent) == ("failed", "done", None, answered.id)
    again = line.run("chat", "Ilse Körvin", "--thread", failed.thread, typed="Goodbye")
    assert again.exit_code == 0
    assert turns(line)[-1].parent == thanks.id


# --- doctor and prepare ---


def checks(line: Line, code: int = 0) -> dict[str, dict[str, object]]:
    told = line.json("doctor", code=code)
    assert told["ok"] is (code == 0)
    return {check["name"]: check for check in told["checks"]}


# --- export ---


def test_a_thread_is_exported_as_markdown_and_as_json(line: Line) -> None:
    line.load()
    line.model.replies.append(PAID_ANSWER)
    thread = line.json("ask", "Ilse Körvin", PAID)["thread"]
    written = line.run("export", thread)
    assert written.exit_code == 0
    assert written.stdout.startswith("# An interview with Ilse Körvin\n")
    assert f"**{PAID}**\n\n{PAID_ANSWER}[^1]" in written.stdout
    assert "[^1]: Ilse Körvin, “" in written.stdout
    known = json.loads(line.run("export", thread[:8], "--format", "json").stdout)
    assert known["thread"]["id"] == thread
    assert [turn["question"]["asked"] for turn in known["turns"]] == [PAID]
    assert known["turns"][0]["trace"]["calls"][0]["messages"]


def test_a_thread_with_somebody_deleted_is_exported_under_their_name(line: Line) -> None:
    line.load()
    thread = line.json("ask", "Ilse Körvin", "Hello!")["thread"]
    line.run("delete", "Ilse Körvin", "--yes")
    assert line.run("export", thread).stdout.startswith("# An interview with Ilse Körvin\n")


@pytest.mark.parametrize("word", ["nowhere", "", "ab"])
def test_a_thread_that_is_not_there_is_an_error_that_lists_those_that_are(line: Line, word: str) -> None:
    line.load()
    thread = line.json("ask", "Ilse Körvin", "Hello!")["thread"]
    result = line.run("export", word)
    assert result.exit_code == 1
    assert result.stdout == ""
    assert f"{thread}  Hello!" in result.stderr


def test_the_doctor_says_what_is_set_up_and_a_missing_wiki_or_ollama_is_no_error(line: Line) -> None:
    found = checks(line)
    states = {name: check["state"] for name, check in found.items()}
    assert states["wiki"] == "warning"
    assert states["Ollama"] == "off"
    assert states["model"] == states["embedder"] == states["database"] == states["vector store"] == "ok"
    assert found["embedder"]["details"] == {"name": "all-MiniLM-L6-v2-int8", "dimension": 384, "languages": ["en"]}
    assert found["versions"]["details"].keys() == {"python", "sqlite"}  # type: ignore[attr-defined]
    assert found["data folder"]["message"] == str(line.wiring.settings.home)
    shown = line.run("doctor")
    assert "✓ embedder: all-MiniLM" in shown.stdout
    assert "! wiki: " in shown.stdout
    assert "Ready to interview." in shown.stdout


def test_without_ollama_the_doctor_calculates_what_its_model_would_need(line: Line) -> None:
    fit = checks(line)["fit on the card"]
    assert fit["details"]["needed_bytes"] == 5_200_000_000 + 144 * 1024 * 8192  # type: ignore[index]
    assert fit["state"] == "ok"
    assert "OLLAMA_FLASH_ATTENTION=1" in str(fit["remedy"])
    assert "OLLAMA_KV_CACHE_TYPE=q8_0, with which the cache takes 0.6 GB" in str(fit["remedy"])


def test_a_context_too_large_for_the_card_is_a_warning(
    ollama_server: OllamaServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wiring, model = wired(tmp_path / "home", ollama_host=ollama_server.address, context_window=40960)
    monkeypatch.setattr("persona.cli.session.make_wiring", lambda: wiring)
    found = checks(Line(wiring, model, tmp_path))
    assert found["Ollama"]["state"] == "ok"
    assert found["fit on the card"]["state"] == "warning"
    assert found["fit on the card"]["details"]["needed_bytes"] == 5_225_388_164 + 144 * 1024 * 40960  # type: ignore[index]


def test_when_nothing_can_answer_the_doctor_says_what_to_do_and_fails(line: Line) -> None:
    line.model._status = ModelStatus("scripted", "", "scripted", False, "Nothing answers.", "Start the server.")
    model = checks(line, code=1)["model"]
    assert (model["state"], model["message"], model["remedy"]) == ("error", "Nothing answers.", "Start the server.")
    assert "✗ model: Nothing answers.\n    Start the server." in line.run("doctor").stdout


def test_a_database_that_is_none_fails_the_doctor_and_not_the_other_checks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "persona.db").write_bytes(b"this is no database" * 100)
    wiring, model = wired(tmp_path / "home", wiki_api="http://127.0.0.1:9/api.php")
    monkeypatch.setattr("persona.cli.session.make_wiring", lambda: wiring)
    found = checks(Line(wiring, model, tmp_path), code=1)
    assert found["database"]["state"] == "error"
    assert "is not a database" in str(found["database"]["message"])
    assert found["vector store"]["state"] == "ok"


def test_an_index_of_another_embedder_is_found_before_a_question_fails(line: Line) -> None:
    line.load()
    line.wiring.__dict__["embedder"] = other = MiniLM()
    other.name = "another"
    found = checks(line)["database"]
    assert found["state"] == "warning"
    assert "Load them again" in str(found["remedy"])


def test_prepare_loads_the_samples_once(line: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    sample = line.write()
    monkeypatch.setattr("persona.loading.samples", lambda: [sample])
    first = line.run("prepare")
    assert first.exit_code == 0
    assert "Ilse Körvin is ready to be interviewed." in first.stderr
    assert line.run("prepare").stderr == ""
    assert len(line.json("people")) == 1


def test_prepare_joins_the_built_in_model_where_it_answers(line: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    class Builtin:
        joined = 0

        def status(self) -> ModelStatus:
            return ModelStatus("builtin", "", "small", True)

        def prepare(self) -> object:
            for done in (0, 50, 100):
                self.joined = done
                yield done, 100

    monkeypatch.setattr("persona.loading.samples", list)
    line.wiring.__dict__ |= {"builtin": (builtin := Builtin()), "kind": "builtin"}
    result = line.run("prepare")
    assert result.exit_code == 0
    assert "joining the built-in model: 50 %" in result.stderr
    assert builtin.joined == 100


def test_prepare_goes_on_where_nothing_can_answer_yet(line: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("persona.loading.samples", list)
    line.model._status = ModelStatus("scripted", "", "scripted", False, "Nothing answers.", "Start the server.")
    result = line.run("prepare")
    assert result.exit_code == 0
    assert "Nothing can answer yet. Nothing answers. Start the server." in result.stderr


# --- errors and usage ---


@pytest.mark.parametrize("words", [["nonsense"], ["ask", "Ilse"], ["load"], ["people", "--yes"], ["chat"]])
def test_wrong_usage_is_exit_code_2(line: Line, words: list[str]) -> None:
    assert line.run(*words).exit_code == 2


def test_what_nobody_expected_is_a_sentence_and_a_log(line: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PERSONA_DEBUG", raising=False)
    line.wiring.__dict__["library"] = None
    told = line.json("people", code=1)
    log = line.wiring.settings.home / "errors.log"
    assert str(log) in told["error"]
    assert "Traceback" not in line.run("people").output
    assert "AttributeError" in log.read_text("utf-8")
    monkeypatch.setenv("PERSONA_DEBUG", "1")
    assert isinstance(line.run("people").exception, AttributeError)


def test_a_stopped_reply_cut_for_length_is_marked(line: Line) -> None:
    line.load()
    line.model.replies += [Reply("I was paid forty silver crowns for the first tide bell and", finish="length")]
    assert (
        "Beware: the answer was cut for length: say “Go on” for the rest."
        in line.run("ask", "Ilse Körvin", PAID).stdout
    )


def test_the_wiring_of_the_command_line_is_made_from_the_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from persona.cli.session import make_wiring

    monkeypatch.setenv("PERSONA_HOME", str(tmp_path))
    made = make_wiring()
    assert isinstance(made, Wiring)
    assert made.settings.home == tmp_path
