"""The parts of the demo: the coordinator and the two workers.

The task is small, so that the coordination is visible: a kettle that reads its sensor and shows the temperature.
"""

from __future__ import annotations

import re

from agent_programs.person import MODELS
from scripted_model import Answer, Call, Say, Shell

from demo.models import Heard, Line

LEAD, CODY, GEMMA = "lead", "cody", "gemma"
TOOLS = {LEAD: "claude", CODY: "codex", GEMMA: "gemini"}

BUSY = Shell("sh test/measure.sh")
WAIT = Say("I wait for their word.")
_REF = re.compile(r"\bkettle#\d+")

SPACE, QUESTION, ANSWER = "Room on the display", "Rounded or cut?", "Re: Rounded or cut?"
CUT = "printf '%d.%d\\n' $(($1 / 1000)) $(($1 / 100 % 10))"
ROUNDED = "t=$((($1 + 50) / 100)); printf '%d.%d\\n' $((t / 10)) $((t % 10))"
DISPLAY = "printf '%s °C\\n' \"$1\"\n"


# lead: Claude Code, which reaches Maestro with the command.


def plan_sensor(heard: Heard) -> Answer | None:
    return Shell('maestro task create "Read the sensor" --parent "#1" --gate "sh test/sensor.sh"')


def plan_display(heard: Heard) -> Answer | None:
    return Shell('maestro task create "Show it" --parent "#1" --gate "sh test/display.sh"')


def _spawn(name: str, ref: str, words: str, subject: str, message: str) -> Shell:
    tool = TOOLS[name]
    about = f'--task "{ref}" --name {name} --tool {tool} --model {MODELS[tool]} --worktree {words}'
    return Shell(f'maestro session spawn {about} --subject "{subject}" --message "{message}"')


def spawn_cody(heard: Heard) -> Answer | None:
    (sensor, *_) = _made(heard)
    message = "sensor.sh gets thousandths of a degree and prints degrees."
    return _spawn(CODY, sensor, "--permission full", "The sensor", message)


def spawn_gemma(heard: Heard) -> Answer | None:
    (_, display, *_) = _made(heard)
    message = "display.sh gets degrees and prints them with their unit. Try it before you commit."
    return _spawn(GEMMA, display, "--allow 'shell:git *'", "The display", message)


def _made(heard: Heard) -> list[str]:
    """Return the tasks that lead has created, from the answers of the command."""
    return [ref for ref in dict.fromkeys(_REF.findall(heard.all)) if ref != "kettle#1"]


def tell_cody(heard: Heard) -> Answer | None:
    if not heard.letter_from(CODY):
        return None
    text = "The display has room for one decimal. Ask if anything is unclear."
    return Shell(f'maestro mail send {CODY} --subject "{SPACE}" --message "{text}"')


def answer_cody(heard: Heard) -> Answer | None:
    asked = heard.letter(QUESTION)
    return Shell(f'maestro mail reply {asked.id} --message "Rounded."') if asked else None


def merge_both(heard: Heard) -> Answer | None:
    done = all(heard.letter(f"{ref} is completed") for ref in _made(heard))
    return Shell(f"maestro worktree merge {CODY} --into main") if done else None


def merge_gemma(heard: Heard) -> Answer | None:
    return Shell(f"maestro worktree merge {GEMMA} --into main")


def try_whole(heard: Heard) -> Answer | None:
    return Shell("sh test/whole.sh")


def lead_reports(heard: Heard) -> Answer | None:
    if "the kettle works" not in heard.new:
        return Shell('maestro session report error "The two parts do not work together."')
    return Shell('maestro session report complete "Both parts are merged, and work together."')


LEADS = (
    Line(plan_sensor),
    Line(plan_display),
    Line(spawn_cody),
    Line(spawn_gemma),
    Line(tell_cody, meanwhile=BUSY),
    Line(answer_cody, meanwhile=BUSY),
    Line(merge_both, meanwhile=WAIT),
    Line(merge_gemma),
    Line(try_whole),
    Line(lead_reports),
)

# cody: Codex, which reaches Maestro with MCP tools.


def _wrote(formula: str, message: str) -> Shell:
    written = f"cat > sensor.sh <<'END'\n{formula}\nEND"
    return Shell(f"{written}\ngit add sensor.sh && git commit -qm '{message}'")


def begin(heard: Heard) -> Answer | None:
    return Call("report", {"kind": "progress", "text": "I measure first."}, server="maestro")


def ask_lead(heard: Heard) -> Answer | None:
    if not heard.letter(SPACE):
        return None
    asked = {
        "to": ["coordinator"],
        "type": "query",
        "subject": QUESTION,
        "message": "96.56 °C: is that 96.6 or 96.5?",
    }
    return Call("send", asked, server="maestro")


def write_sensor(heard: Heard) -> Answer | None:
    return _wrote(CUT, "Read the sensor") if heard.letter(ANSWER) else None


def hand_in_sensor(heard: Heard) -> Answer | None:
    return Call("report", {"kind": "complete", "text": "sensor.sh prints one decimal."}, server="maestro")


def mend_sensor(heard: Heard) -> Answer | None:
    return _wrote(ROUNDED, "Round, and do not cut") if "expected 96.6" in heard.all else None


def hand_in_again(heard: Heard) -> Answer | None:
    return Call("report", {"kind": "complete", "text": "It rounds now."}, server="maestro")


CODYS = (
    Line(begin),
    Line(ask_lead, meanwhile=BUSY),
    Line(write_sensor, meanwhile=BUSY),
    Line(hand_in_sensor),
    Line(mend_sensor, meanwhile=Say("Handed in.")),
    Line(hand_in_again),
)

# gemma: Gemini CLI, which writes files without asking, and asks before it runs a command.


def write_display(heard: Heard) -> Answer | None:
    return Call("write_file", {"file_path": "display.sh", "content": DISPLAY})


def try_display(heard: Heard) -> Answer | None:
    return Shell("sh test/display.sh")


def add_display(heard: Heard) -> Answer | None:
    return Shell("git add display.sh")


def commit_display(heard: Heard) -> Answer | None:
    return Shell('git commit -qm "Show degrees with their unit"')


def hand_in_display(heard: Heard) -> Answer | None:
    if "Exit Code" in heard.new:
        return Shell('maestro session report error "It cannot be committed."')
    return Shell('maestro session report complete "display.sh shows the unit."')


GEMMAS = (
    Line(write_display),
    Line(try_display),
    Line(add_display),
    Line(commit_display),
    Line(hand_in_display),
)
