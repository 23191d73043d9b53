"""A thread as a tree: the path that is read and what stands beside it."""

from persona.branches import after, beside, newest_below, path_to
from persona.records import Question, Turn, now


def tree(*edges: str) -> list[Turn]:
    """ "ab" is b after a, "-a" is a at the root; oldest first."""
    return [
        Turn(edge[1], "t", None if edge[0] == "-" else edge[0], edge, Question(edge, edge), "done", now())
        for edge in edges
    ]


def ids(turns) -> str:
    return "".join(turn.id for turn in turns)


TREE = tree("-a", "ab", "bc", "ad", "bx", "de")
BY_ID = {turn.id: turn for turn in TREE}


def test_a_path_leads_from_the_root_to_the_turn_and_takes_no_other_branch():
    assert [ids(path_to(TREE, last)) for last in "acxe"] == ["a", "abc", "abx", "ade"]


def test_without_a_known_last_turn_the_path_leads_to_the_newest():
    assert ids(path_to(TREE, None)) == ids(path_to(TREE, "gone")) == "ade"
    assert path_to([], None) == []


def test_beside_a_turn_stand_those_that_follow_the_same_one():
    assert [ids(beside(TREE, BY_ID[id_])) for id_ in "abxe"] == ["a", "bd", "cx", "e"]


def test_beside_a_first_question_stand_the_other_first_ones():
    two = tree("-a", "-b")
    assert ids(beside(two, two[0])) == "ab"


def test_the_path_through_a_turn_ends_at_its_newest_turn():
    assert [newest_below(TREE, BY_ID[id_]).id for id_ in "abde"] == ["e", "x", "e", "e"]


def test_what_follows_a_turn_is_counted_in_all_branches():
    assert [after(TREE, BY_ID[id_]) for id_ in "abde"] == [5, 2, 1, 0]
