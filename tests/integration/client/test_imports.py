"""What the Python client loads, compared with a bare interpreter, in a whole exchange."""

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
    """The modules that were loaded in the end, with the client's code or a piece of one's own."""
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


def test_a_plain_exchange_loads_only_what_a_socket_needs(modules):
    def script(connection, request):
        connection.send_frame(b"O", b"out\n")
        assert connection.is_output_confirmed()
        connection.send_exit()

    assert modules(CLIENT, script) - modules(f"import sys; {LISTING}") == OURS


def test_sending_input_up_loads_what_waits_on_two_sides(modules):
    def script(connection, request):
        assert connection.request_input(b"I") == b"in"
        connection.send_frame(b"O", b"out\n")
        connection.send_exit()

    assert modules(CLIENT, script) - modules(f"import sys; {LISTING}") <= OURS | {"select"}
