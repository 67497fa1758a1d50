"""What an agent shows and is told: floods, bounds, input, and terminals that look on."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable

from maestro.testing.supervised import SupervisedRunner, receive_frame, send_request

Supervise = Callable[..., SupervisedRunner]
ECHO = 'while read -r line; do echo "heard $line"; done'


def test_a_flood_is_taken_in_and_its_end_is_kept(supervise: Supervise, terminal: bool) -> None:
    script = "import sys\nfor n in range(40000): print(f'line {n} ' + 'x' * 60)\nprint('the end')"
    one = supervise(sys.executable, "-c", script, terminal=terminal, transcript_bytes_max=200_000)
    told = one.wait_for_report("exited")
    assert told["code"] == 0
    assert told["tail"].rstrip().endswith("the end")
    assert one.transcript_output().rstrip().endswith("the end")
    sizes = [(one.folder / name).stat().st_size for name in ("transcript.cast", "transcript-older.cast")]
    assert sum(sizes) <= 200_000 + 100_000  # one chunk may be larger than what is left of a half


def test_a_transcript_is_an_asciicast_whose_halves_both_have_a_head(supervise: Supervise) -> None:
    script = "for n in range(4000): print('y' * 100)"
    one = supervise(sys.executable, "-c", script, transcript_bytes_max=50_000, rows=50, columns=90)
    one.wait_for_report("exited")
    for name in ("transcript.cast", "transcript-older.cast"):
        head, *events = (one.folder / name).read_text().splitlines()
        told = json.loads(head)
        assert (told["version"], told["width"], told["height"]) == (2, 90, 50)
        times = [json.loads(event)[0] for event in events]
        assert times == sorted(times)


def test_letters_that_are_cut_in_the_middle_come_out_whole(supervise: Supervise) -> None:
    script = (
        "import sys\nout = sys.stdout.buffer\n"
        "for byte in '€ü漢'.encode():\n    out.write(bytes([byte])); out.flush()\n"
        "    __import__('os').getppid()\nout.write(b'\\xff.'); out.flush()"
    )
    one = supervise(sys.executable, "-c", script, terminal=False)
    one.wait_for_report("exited")
    assert one.transcript_output() == "€ü漢\N{REPLACEMENT CHARACTER}."


def test_what_is_written_reaches_the_agent(supervise: Supervise, terminal: bool) -> None:
    one = supervise("sh", "-c", ECHO + "; echo bye", terminal=terminal)
    one.wait_for_report("started")
    with one.connect() as sock:
        send_request(sock, {"do": "attach"})
        assert receive_frame(sock)[0] == b"A"
        one.write("grüße\n".encode())
        shown = b""
        while b"heard gr" not in shown:
            kind, payload = receive_frame(sock)
            assert kind == b"O"
            shown += payload
    assert any(event[1:] == ["i", "grüße\n"] for event in one.events())


def test_who_attaches_sees_what_was_there_and_how_it_ends(supervise: Supervise, terminal: bool) -> None:
    one = supervise("sh", "-c", 'echo before; read -r line; echo "after $line"; exit 7', terminal=terminal)
    one.wait_for_report("started")
    with one.connect() as sock:
        send_request(sock, {"do": "attach"})
        kind, payload = receive_frame(sock)
        assert kind == b"A" and json.loads(payload)["agent"] == one.wait_for_report("started")["pid"]
        sock.sendall(b"D" + (5).to_bytes(4, "big") + b"that\n")
        shown = b""
        while (got := receive_frame(sock))[0] == b"O":
            shown += got[1]
    assert got == (b"X", b"7")
    assert b"before" in shown and b"after that" in shown


def test_input_that_is_more_than_a_pipe_holds_arrives_whole(supervise: Supervise) -> None:
    one = supervise("sh", "-c", "cat > all; wc -c < all > size", terminal=False, input="z" * 500_000)
    assert one.wait_for_report("exited")["code"] == 0
    assert one.wait_for_file("size") == "500000"


def test_much_that_is_written_while_it_runs_arrives_whole(supervise: Supervise, terminal: bool) -> None:
    lines = b"".join(b"%05d %s\n" % (n, b"w" * 90) for n in range(3000))
    script = (
        "import sys\nfor line in sys.stdin:\n    if line.startswith('end'): break\n"
        "    open('got', 'a').write(line)\nopen('size', 'w').write('done\\n')"
    )
    one = supervise(sys.executable, "-c", script, terminal=terminal)
    one.wait_for_report("started")
    one.write(lines)
    one.write(b"end\n")
    assert one.wait_for_file("size") == "done"
    assert (one.folder / "got").read_bytes() == lines


def test_an_agent_that_closes_its_output_lives_on(supervise: Supervise) -> None:
    one = supervise("sh", "-c", "exec >/dev/null 2>&1; read -r line; exit 5", terminal=False)
    one.wait_for_report("started")
    one.write(b"go on\n")
    assert one.wait_for_report("exited")["code"] == 5


def test_the_size_of_the_terminal_follows_who_looks(supervise: Supervise) -> None:
    assert shutil.which("stty")
    one = supervise("sh", "-c", "stty size > before; read -r line; stty size > after", rows=31, columns=77)
    assert one.wait_for_file("before") == "31 77"
    with one.connect() as sock:
        sock.sendall(b"Z" + (6).to_bytes(4, "big") + b"100 20")
        send_request(sock, {"do": "state"})
        assert receive_frame(sock)[0] == b"A"
    one.write(b"go\n")
    assert one.wait_for_file("after") == "20 100"


def test_nonsense_on_the_socket_hurts_nobody(supervise: Supervise) -> None:
    one = supervise("cat")
    one.wait_for_report("started")
    assert one.send_request(do="fly") == {"ok": False, "problem": "this runner cannot carry out the request 'fly'"}
    for payload in (
        b"{",
        b"[]",
        b"3",
        b'{"do": "write"}',
        b'{"do": "write", "data": "%%%"}',
        b'{"do": "signal", "name": []}',
    ):
        with one.connect() as sock:
            sock.sendall(b"Q" + len(payload).to_bytes(4, "big") + payload)
            kind, answer = receive_frame(sock)
            assert kind == b"A" and json.loads(answer)["ok"] is False
    with one.connect() as sock:
        sock.sendall(b"Q\xff\xff\xff\xff")
        assert sock.recv(1) == b""
    assert one.send_request(do="state")["agent"] == one.wait_for_report("started")["pid"]
