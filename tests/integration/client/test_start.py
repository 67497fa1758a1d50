"""Both clients start the server. A replacement for the server program behaves as a test demands."""

import json
import stat
from pathlib import Path

import pytest

import maestro
from maestro.testing.supervised import wait_until

SECONDS = 30
REAL = Path(maestro.__file__).parent

# A package `maestro` with the modules of the real package, except for the server.
PACKAGE = f"""
__path__ = [{{here!r}}, {str(REAL)!r}]
exec(open({str(REAL / "__init__.py")!r}).read())
"""

STAND_IN = """
import fcntl, json, os, signal, sys, threading
from pathlib import Path
from maestro.testing.frames import FrameServer

signal.alarm(60)
home = Path(sys.argv[sys.argv.index("--home") + 1])
how = os.environ.get("STAND_IN", "")
facts = {"argv": sys.argv[1:], "env": dict(os.environ), "cwd": os.getcwd()}
facts |= {"sid": os.getsid(0), "pid": os.getpid(), "parent": os.getppid()}
ready = int(os.environ.get("MAESTRO_READY_FD", 1))

def say(text):
    os.write(ready, text)
    if ready > 2:
        os.close(ready)

def script(connection, request):
    if request.arguments[:1] == [b"up"]:
        connection.send_frame(b"L")
        return
    if request.arguments[:1] == [b"recovery"]:
        found = b'{"sessions":[]}\\n' if b"--json" in request.arguments else b"1 session found alive: ada\\n"
        connection.send_frame(b"O", found)
        connection.send_exit(4 if how == "discreet" else 0)
        return
    connection.send_frame(b"O", b"served\\n")
    connection.send_exit()
    if request.arguments == [b"down"]:
        over.set()

print("in the log", flush=True)
if how == "dies":
    sys.exit("no such thing as luck")
if how == "fails":
    say(b"error: the disk is full\\n")
    sys.exit(1)
if "--restore" in sys.argv:
    print(json.dumps(facts), flush=True)
    sys.exit(5)
lock = open(home / "lock", "w")
try:
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
except OSError:
    say(b"busy\\n")
    sys.exit(5)
over = threading.Event()
with FrameServer(home / "maestro.sock", script):
    with open(home / "starts", "a") as starts:
        print(json.dumps(facts), file=starts)
    say(b"ready\\n")
    over.wait()
"""


@pytest.fixture
def client(client, home):
    """Return a client that starts the replacement server, in a data directory that does not exist yet."""
    package = home / "package" / "maestro"
    (package / "server").mkdir(parents=True)
    (package / "__init__.py").write_text(PACKAGE.format(here=str(package)))
    (package / "server" / "__init__.py").touch()
    (package / "server" / "__main__.py").write_text(STAND_IN)
    client.env |= {
        "PYTHONPATH": f"{package.parent}:{REAL.parent}",
        "MAESTRO_HOME": str(home / "data" / "maestro"),
    }
    yield client
    if client.socket.exists():
        client.run("down")


def starts(client) -> list[dict]:
    return [json.loads(line) for line in client.socket.with_name("starts").read_text().splitlines()]


@pytest.mark.parametrize("arguments", [["task", "list"], ["--help"], []])
def test_the_first_command_of_a_person_starts_the_server(client, arguments):
    first, second = client.run(*arguments), client.run(*arguments)
    for ran in (first, second):
        assert (ran.stdout, ran.stderr, ran.returncode) == (b"served\n", b"", 0)
    assert len(starts(client)) == 1


def test_the_server_is_independent_of_the_command_that_started_it(client):
    client.run("x", env={"MAESTRO_CLIENT": "odd", "MAESTRO_MODE": "execute", "MAESTRO_LOG": "debug"})
    (facts,) = starts(client)
    directory = client.socket.parent
    assert facts["argv"] == ["--home", str(directory)]
    assert facts["cwd"] == "/"
    assert facts["sid"] == facts["parent"]  # the supervisor has left the terminal of the command
    assert not {"MAESTRO_CLIENT", "MAESTRO_MODE", "MAESTRO_TOKEN"} & facts["env"].keys()
    assert facts["env"]["MAESTRO_LOG"] == "debug"
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert (directory / "server.log").read_text() == "in the log\n"


def test_two_simultaneous_first_commands_start_one_server(client):
    both = [client.start("x") for _ in range(2)]
    for process in both:
        assert process.communicate(timeout=SECONDS) == (b"served\n", b"")
        assert process.returncode == 0
    assert len(starts(client)) == 1


@pytest.mark.parametrize(
    ("how", "reason"),
    [("fails", "the server did not start: the disk is full\n"), ("dies", "no such thing as luck\n")],
)
def test_the_client_reports_why_the_server_did_not_start(client, how, reason):
    for arguments in (["x"], ["up"]):
        ran = client.run(*arguments, env={"STAND_IN": how})
        assert ran.returncode == 8
        assert ran.stderr.decode().startswith("maestro: the server did not start: ")
        assert ran.stderr.decode().endswith(reason)


def test_up_starts_the_server_and_shows_the_recovery(client):
    first = client.run("up", "--port", "4711")
    (facts,) = starts(client)
    directory = client.socket.parent
    said = f"started the server for {directory} (pid {facts['pid']})\n1 session found alive: ada\n"
    assert first.stdout.decode() == said
    assert facts["argv"] == ["--home", str(directory), "--port", "4711"]
    assert client.run("x").stdout == b"served\n"


def test_up_with_a_running_server_starts_no_second_server(client):
    client.run("x")
    for arguments in (["up"], ["up", "--foreground"]):
        again = client.run(*arguments)
        said = f"a server already runs for {client.socket.parent}\n1 session found alive: ada\n"
        assert again.stdout.decode() == said
        assert again.returncode == 0
    assert len(starts(client)) == 1


def test_up_answers_in_json(client):
    told = json.loads(client.run("up", "--json").stdout)
    (facts,) = starts(client)
    home = str(client.socket.parent)
    assert told == {"home": home, "started": True, "pid": facts["pid"], "recovery": {"sessions": []}}
    again = json.loads(client.run("up", "--json").stdout)
    assert again == {"home": home, "started": False, "pid": None, "recovery": {"sessions": []}}


def test_up_shows_no_recovery_when_the_server_refuses_to_list_it(client):
    client.env["STAND_IN"] = "discreet"
    assert client.run("up").stdout.count(b"\n") == 1
    assert json.loads(client.run("up", "--json").stdout)["recovery"] is None


def test_up_in_the_foreground_runs_the_server_until_down(client):
    process = client.start("up", "--foreground", "--port", "4711")
    assert process.stdout.readline() == b"in the log\n"
    wait_until(lambda: client.run("x").stdout == b"served\n", what="the start of the server")
    assert client.run("down").stdout == b"served\n"
    assert process.wait(SECONDS) == 0


@pytest.mark.parametrize("arguments", [["up", "--prot", "1"], ["up", "--port", "x"], ["restore"]])
def test_wrong_arguments_are_refused_with_the_usage(client, arguments):
    ran = client.run(*arguments)
    assert ran.returncode == 2
    assert b"usage: maestro " in ran.stderr


def test_restore_runs_the_server_program_without_modules_of_the_directory(client, tmp_path):
    (tmp_path / "json.py").write_text("raise SystemExit('a module of the directory was loaded')")
    ran = client.run("restore", "backup.tar", "--force", cwd=tmp_path)
    facts = json.loads(ran.stdout.splitlines()[1])
    directory = client.socket.parent
    assert facts["argv"] == ["--home", str(directory), "--restore", str(tmp_path / "backup.tar"), "--force"]
    assert ran.returncode == 5


def test_a_session_may_not_restore_a_backup(client, tmp_path):
    ran = client.run("restore", "backup.tar", cwd=tmp_path, env={"MAESTRO_TOKEN": "t"})
    assert ran.returncode == 4 and ran.stdout == b""
