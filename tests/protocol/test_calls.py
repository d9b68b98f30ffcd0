"""What the client takes for a refusal, what for servers that are away, and what for no answer of a Turia server."""

from __future__ import annotations

import pytest

from tests.protocol.front import Front
from tests.server.servers import free_port
from turia.errors import InputError
from turia.protocol import client
from turia.protocol.calls import BusyError, Language, UnreachableError, begin_session


@pytest.mark.parametrize(
    ("code", "text", "error"),
    [
        (503, '{"detail":"all 3 streams are in use","code":"capacity"}', BusyError),
        # Ray's proxy while an application is deployed anew, and any other without a server behind it.
        (404, "Path '/api/sessions' not found. Ping http://.../-/routes for available routes.", BusyError),
        (502, "<html>Bad Gateway</html>", BusyError),
        (500, "Internal Server Error", BusyError),
        (404, '{"detail":"no such session"}', InputError),
        (401, '{"detail":"an API key is needed"}', InputError),
    ],
)
def test_only_a_server_of_ours_refuses_for_good(front: Front, code: int, text: str, error: type[Exception]) -> None:
    front.answer = (code, text)

    with pytest.raises(error, match=str(code)):
        begin_session(f"http://127.0.0.1:{front.server_port}", None, {})


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("[]", UnreachableError),
        ("{}", InputError),
        ('{"session":1,"secret":2}', InputError),
        ('{"session":"s","secret":"t","languages":[1]}', InputError),
    ],
)
def test_what_is_no_answer_of_a_server_of_ours_is_told(front: Front, text: str, error: type[Exception]) -> None:
    front.answer = (200, text)

    with pytest.raises(error, match="of a Turia server"):
        begin_session(f"http://127.0.0.1:{front.server_port}", None, {})


def test_what_a_later_server_adds_is_passed_over(front: Front) -> None:
    language = '{"language":"en","session":"s","name":"English"}'
    front.answer = (200, f'{{"session":"s","secret":"t","since":1,"languages":[{language}]}}')

    begun, languages = begin_session(f"http://127.0.0.1:{front.server_port}", None, {})
    assert (begun.session, begun.secret, begun.url) == ("s", "t", None)
    assert languages == (Language("en", "s"),)


def test_the_errors_are_where_programs_import_them_from() -> None:
    assert (client.BusyError, client.UnreachableError) == (BusyError, UnreachableError)


def test_what_is_raised_where_no_server_answers() -> None:
    with pytest.raises(UnreachableError, match=r"http://127.0.0.1:\d+ cannot be reached: ") as caught:
        begin_session(f"http://127.0.0.1:{free_port()}", None, {})
    assert isinstance(caught.value, ConnectionError)
    with pytest.raises(InputError, match="not an address"):
        begin_session("http://127.0.0.1:80a", None, {})
