"""A person with the three programs and a repository, all below a temporary folder."""

from __future__ import annotations

from agent_programs.base import Room
from agent_programs.person import settle
from scripted_model import ScriptedModel, Step

from maestro.demo.world import DemoWorld
from maestro.system import stray_processes
from maestro.system.processes import find_by_variable

_FILES = {
    "README.md": '# Kettle\n\n`sh display.sh "$(sh sensor.sh 96560)"` prints `96.6 °C`.\n',
    "test/measure.sh": "sleep 0.4; echo 96560\n",
    "test/expect.sh": 'if [ "$1" != "$2" ]; then echo "expected $2, got $1"; exit 1; fi\n',
    "test/sensor.sh": 'sh test/expect.sh "$(sh sensor.sh 96560)" 96.6\n',
    "test/display.sh": "sh test/expect.sh \"$(sh display.sh 96.6)\" '96.6 °C' && echo 'the display is right'\n",
    "test/whole.sh": (
        'shown=$(sh display.sh "$(sh sensor.sh 96560)")\n'
        'sh test/expect.sh "$shown" \'96.6 °C\' && echo "the kettle works: $shown"\n'
    ),
}
_STEPS_MAX = 200


class Kettle(DemoWorld):
    """The repository, the server, and the person's settings of each program."""

    def __init__(self, model: ScriptedModel, parts: dict[str, Step]) -> None:
        super().__init__()
        room = Room(self.root / "person", self.repository)
        room.home.mkdir()
        urls = {tool: model.script(tool, *[part] * _STEPS_MAX) for tool, part in parts.items()}
        self.home = room.home
        self.environment = settle(room, urls.__getitem__) | {"MAESTRO_HOME": self.environment["MAESTRO_HOME"]}

    def __enter__(self) -> Kettle:
        super().__enter__()
        self.run_maestro("init")
        for name, value in (("user.name", "dana"), ("user.email", "dana@example.org")):
            self.run_git("config", name, value)  # local settings, because gemini's shell ignores global settings
        for name, text in _FILES.items():
            file = self.repository / name
            file.parent.mkdir(exist_ok=True)
            file.write_text(text)
        self.run_git("add", ".")
        self.run_git("commit", "--quiet", "--message", "The kettle, without its parts")
        self.run_git("branch", "--move", "--force", "main")
        return self

    def __exit__(self, *_: object) -> None:
        self.call_maestro("down")
        stray_processes.kill_marked("HOME", str(self.home))  # programs outlive a server, for example after an error
        super().__exit__()

    def programs(self) -> list[int]:
        """Return the processes of all sessions that still run."""
        sessions = [one["id"] for one in self.call_for_json("session", "list")["sessions"]]
        return [one.pid for session in sessions for one in find_by_variable("MAESTRO_SESSION_ID", session)]

    def left(self) -> list[str]:
        """Return the processes and folders that are left after the demo."""
        processes = [f"process {one.pid}" for one in find_by_variable("HOME", str(self.home))]
        return processes + ([str(self.root)] if self.root.exists() else [])
