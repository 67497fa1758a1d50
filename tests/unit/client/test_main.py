"""The Python client finds its data directory and builds the payload of a request without a server."""

import sys

import pytest

from maestro.client import main
from maestro.wire import exit_codes, frames


@pytest.fixture(autouse=True)
def variables(monkeypatch):
    for name in ("MAESTRO_HOME", "MAESTRO_SOCKET", "XDG_DATA_HOME", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "/home/me")
    return monkeypatch


@pytest.mark.parametrize(
    ("platform", "settings", "place"),
    [
        ("linux", {}, "/home/me/.local/share/maestro"),
        ("linux", {"XDG_DATA_HOME": "/data"}, "/data/maestro"),
        ("linux", {"XDG_DATA_HOME": "data"}, "/home/me/.local/share/maestro"),
        ("linux", {"XDG_DATA_HOME": ""}, "/home/me/.local/share/maestro"),
        ("darwin", {}, "/home/me/Library/Application Support/maestro"),
        ("darwin", {"XDG_DATA_HOME": "/data"}, "/home/me/Library/Application Support/maestro"),
        ("darwin", {"MAESTRO_HOME": "/mine"}, "/mine"),
        ("linux", {"MAESTRO_HOME": "/mine", "XDG_DATA_HOME": "/data"}, "/mine"),
        ("linux", {"MAESTRO_HOME": ""}, "/home/me/.local/share/maestro"),
    ],
)
def test_platform_and_variables_decide_the_data_directory_and_the_socket_path(variables, platform, settings, place):
    variables.setattr(sys, "platform", platform)
    for name, value in settings.items():
        variables.setenv(name, value)
    assert main.data_directory() == place
    assert main.socket_path() == place + "/maestro.sock"


def test_maestro_socket_names_the_path_of_the_socket(variables):
    variables.setenv("MAESTRO_SOCKET", "/run/it")
    assert main.socket_path() == "/run/it"


def test_no_field_of_a_request_before_the_arguments_is_empty(variables):
    variables.setenv("MAESTRO_EMPTY", "")
    head, _, rest = main.request_payload(["", "x", ""]).partition(b"\0\0")
    assert all(head.split(b"\0"))
    assert rest.split(b"\0")[:-1] == [b"", b"x", b""]


@pytest.mark.parametrize(("arguments", "rest"), [([], b""), ([""], b"\0"), (["x"], b"x\0")])
def test_a_request_without_arguments_differs_from_a_request_with_an_empty_argument(arguments, rest):
    assert main.request_payload(arguments).partition(b"\0\0")[2] == rest


def test_a_request_above_the_size_limit_is_refused():
    with pytest.raises(main.CommandEnded) as ended:
        main.request_payload(["x" * frames.PAYLOAD_BYTES_MAX])
    assert ended.value.code == exit_codes.USAGE


@pytest.mark.parametrize(("asked", "width"), [("120", b"120"), ("-1", b"0"), ("wide", b"0"), ("", b"0")])
def test_the_variable_columns_gives_the_width_of_an_output_without_a_terminal(variables, asked, width):
    def no_terminal(fd):
        raise OSError

    variables.setattr("os.get_terminal_size", no_terminal)
    variables.setenv("COLUMNS", asked)
    assert main.terminal_columns() == width
