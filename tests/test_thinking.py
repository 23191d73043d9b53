import itertools
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from persona.adapters.thinking import HOLD, ThinkingFilter, hold_for, without_thinking
from persona.errors import ThoughtAloud
from persona.records import Delta, Usage


def shown(pieces: list[str], hold: int | None = HOLD) -> list[str]:
    thinking = ThinkingFilter(hold)
    return [*(thinking.feed(piece) for piece in pieces), thinking.end()]


@pytest.mark.parametrize("hold", [0, HOLD, None])
@pytest.mark.parametrize(
    ("reply", "left"),
    [
        ("Hi", "Hi"),
        ("<think>Who asks?</think>Hi", "Hi"),
        ("<think>Who asks?</think>\n\nHi", "Hi"),
        ("\n<think>\n\n</think>\n\nHi", "Hi"),
        ("</think>\n\nHi", "Hi"),
        ("<think>I wonder", ""),
        ("<think>", ""),
        ("</think>", ""),
        ("", ""),
        ("Hi <think>more?</think>there", "Hi there"),
        ("Hi <think>more?", "Hi "),
        ("a < b, x <thin air> and </thin", "a < b, x <thin air> and </thin"),
        ("  Hi  there ", "Hi  there "),
    ],
)
def test_thinking_is_taken_out(reply: str, left: str, hold: int | None) -> None:
    assert "".join(shown([reply], hold)) == left


@pytest.mark.parametrize("hold", [HOLD, None])
def test_nothing_before_a_lone_closing_tag_flashes(hold: int | None) -> None:
    reply = "The user greets me, so I greet back.</think>Hi"
    pieces = shown(list(reply), hold)
    assert [piece for piece in pieces if piece] == ["Hi"]


def test_of_several_closing_tags_the_last_counts() -> None:
    assert "".join(shown(["<think>a</think>b</think>c</think>Hi"])) == "Hi"


def test_text_flows_once_it_can_no_longer_be_thinking() -> None:
    pieces = shown(["x" * HOLD, "y", "z"])
    assert pieces == ["", "x" * HOLD + "y", "z", ""]


def test_nothing_is_held_back_of_a_model_that_never_thinks() -> None:
    assert shown(["a", "b"], hold=0) == ["a", "b", ""]


def test_the_whole_reply_of_a_model_that_always_thinks_is_held_back() -> None:
    assert shown(["x" * 5000, "</think>", "Hi"], hold=None) == ["", "", "", "Hi"]


def test_a_reply_that_turns_out_as_thinking_too_late_is_given_up() -> None:
    with pytest.raises(ThoughtAloud, match="Ask again"):
        shown(["x" * (HOLD + 1), "</think>Hi"])


@pytest.mark.parametrize(
    ("model", "hold"),
    [
        ("qwen3:8b", HOLD),
        ("someones-own", HOLD),
        ("deepseek-r1:8b", None),
        ("deepseek-r1-distill-llama", None),
        ("qwen3:4b-thinking-2507", None),
        ("llama3.2:3b", 0),
        ("Qwen2.5-Coder-1.5B-Instruct", 0),
        ("gemma3:4b", 0),
    ],
)
def test_how_much_is_held_back_follows_from_the_models_name(model: str, hold: int | None) -> None:
    assert hold_for(model) == hold


def test_usage_and_finish_come_with_the_last_piece_wherever_the_server_put_them() -> None:
    reply = [Delta("<think>a"), Delta("</think>Hi", finish="length"), Delta(usage=Usage(7, 3))]
    assert list(without_thinking(reply, 0)) == [Delta("Hi"), Delta("", Usage(7, 3), "length")]


@pytest.mark.parametrize(
    ("reply", "finish", "left"),
    [
        ("I wonder and wonder", "length", ""),
        ("I wonder.</think>Hi, I am", "length", "Hi, I am"),
        ("Hi", "stop", "Hi"),
    ],
)
def test_a_reply_cut_in_thinking_that_no_tag_opens_leaves_nothing(reply: str, finish: str, left: str) -> None:
    deltas = [Delta(piece) for piece in reply] + [Delta(finish=finish)]  # type: ignore[arg-type]
    assert "".join(delta.text for delta in without_thinking(deltas, None, unopened=True)) == left
    assert "".join(delta.text for delta in without_thinking(deltas, None)) == (left or reply)


def test_a_reply_that_is_not_streamed_stays_one_piece() -> None:
    assert list(without_thinking([Delta("a</think>Hi", Usage(7, 3), "stop")], None)) == [
        Delta("Hi", Usage(7, 3), "stop")
    ]


def outcome(pieces: list[str], hold: int | None) -> tuple[str, bool]:
    thinking, text = ThinkingFilter(hold), ""
    try:
        for piece in pieces:
            text += thinking.feed(piece)
    except ThoughtAloud:
        return "", True
    return text + thinking.end(), False


bits = st.lists(
    st.sampled_from(["<think>", "</think>", "<", "</", "thi", "nk>", " ", "Hi", "\n", "long words"]), max_size=12
)


@given(bits, st.lists(st.integers(0, 60), max_size=8), st.sampled_from([0, 3, 12, None]))
@example(["Hi", "</think>", "Hi"], [1, 4, 9], 3)
def test_however_a_reply_is_cut_the_same_is_left(text: list[str], cuts: list[int], hold: int | None) -> None:
    reply = "".join(text)
    edges = [0, *sorted(min(cut, len(reply)) for cut in cuts), len(reply)]
    pieces = [reply[a:b] for a, b in itertools.pairwise(edges)]
    assert outcome(pieces, hold) == outcome([reply], hold) == outcome(list(reply), hold)


@given(bits)
def test_what_is_left_of_a_whole_reply_is_what_follows_and_surrounds_the_thinking(text: list[str]) -> None:
    reply = re.sub(r"<think>.*?(</think>|\Z)", "\0", "".join(text), flags=re.DOTALL)
    assert outcome(text, None) == (reply.rpartition("</think>")[2].replace("\0", "").lstrip(), False)
