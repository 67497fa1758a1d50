"""The Python client loads only the modules that an exchange needs. A bare interpreter is the comparison."""

import sys

import pytest

WIRE = {"maestro.wire", "maestro.wire.frames"}
OURS = {"_socket", "maestro", "maestro.client", "maestro.client.main"} | WIRE
LISTING = "print(*sorted(sys.modules), file=sys.stderr)"
CLIENT = f"""
import os, sys
leave = os._exit
def tell(code):
    {LISTING}
    sys.stderr.flush()
    leave(code)
os._exit = tell
from maestro.client.main import main
main()
"""


@pytest.fixture
def modules(make_client):
    """Return a function that runs code, with or without a server, and returns the loaded modules."""
    client = make_client("python")

    def run(code, script=None):
        client.program = sys.executable
        if script is None:
            return set(client.run("-c", code).stderr.decode().split())
        with client.serve(script):
            ran = client.run("-c", code, "task", "list", input=b"in")
        assert ran.stdout == b"out\n"
        return set(ran.stderr.decode().split())

    return run


def test_an_exchange_without_input_loads_only_the_modules_for_a_socket(modules):
    def script(connection, request):
        connection.send_frame(b"O", b"out\n")
        assert connection.is_output_confirmed()
        connection.send_exit()

    assert modules(CLIENT, script) - modules(f"import sys; {LISTING}") == OURS


def test_an_exchange_with_input_loads_at_most_select_in_addition(modules):
    def script(connection, request):
        assert connection.request_input(b"I") == b"in"
        connection.send_frame(b"O", b"out\n")
        connection.send_exit()

    assert modules(CLIENT, script) - modules(f"import sys; {LISTING}") <= OURS | {"select"}
