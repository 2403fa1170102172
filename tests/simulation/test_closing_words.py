"""The words with which a simulated user ends a conversation."""

import pytest

from callmark.simulation.closing_words import closing_words, ends_conversation


@pytest.mark.parametrize(
    "instructions, words",
    [
        ('- Once your task is completed, you must end the conversation by saying "the session is finished".', "the session is finished"),
        ("When your task is done, reply with “That is all from me”.", "That is all from me"),
        ("End the chat with the words 'over and out'.", "over and out"),
        ('Say "goodbye now" to end the session.', "goodbye now"),
        ("End the conversation by saying the session is over.", "the session is over"),
        ("You want a ticket.\nFinish by writing 'Ticket done, thanks'.", "Ticket done, thanks"),
        ('When the agent reads it back, say "yes".', ""),
        ('Once your task is completed, say "yes".', ""),
        ('The title is "the session is finished".', ""),
        ('Ask for "the end of the conversation" by name.', ""),
        ("", ""),
        ("…", ""),
    ],
)
def test_closing_words_are_read_from_the_instructions(instructions: str, words: str) -> None:
    assert closing_words(instructions) == words


@pytest.mark.parametrize(
    "text, closing, ends",
    [
        ("The session is finished", "", True),
        ("Great, thank you! The session is finished.", "the session is finished", True),
        ("Perfect, the session is finished, thank you very much!", "", True),
        ("The session is finished. Thanks!", "", True),
        ("This conversation has been closed.", "", True),
        ("Over and out.", "over and out", True),
        ("Stop.", "stop", True),
        ("Please stop the server.", "stop", False),
        ("Is the session finished?", "the session is finished", False),
        ("The session is finished?", "", False),
        ("I will tell you when the session is finished.", "the session is finished", False),
        ("I don't think the session is finished.", "", False),
        ("The session is not finished.", "", False),
        ("The session is finished for the first of the two servers, and I need one more thing.", "", False),
        ("The session is finished. But now something else. What about the title?", "", False),
        ("My server is slow.", "the session is finished", False),
        ("", "", False),
        ("x" * 100_000, "the session is finished", False),
    ],
)
def test_only_a_plain_statement_ends_the_conversation(text: str, closing: str, ends: bool) -> None:
    assert ends_conversation(text, closing) is ends
