"""The coordinator of the second part: it starts three workers and directs them by mail.

The coordinator never polls. One wait receives every kind of mail.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from maestro.demo.agent import DemoAgent, agent_from_arguments, print_title

CREW = ("dora", "emil", "fay")
WORK = {
    "dora": ("Write the display", "Two lines of sixteen characters."),
    "emil": ("Choose a sound", "Something that says: it boils."),
    "fay": ("Calibrate the sensor", "At 20, 60 and 100 degrees."),
}


def main() -> None:
    agent, options = agent_from_arguments()
    agent.register_session("--mode", "coordinate")
    with started_crew(agent):
        assign_work(agent)
        answer_questions(agent)
        gather_results(agent)
        be_interrupted(agent)
        stop_all(agent)
        if "kill" in options:
            lose_worker(agent)
        agent.show_and_call(
            "mail", "broadcast", "--scope", "my-workers", "--subject", "Go home", "--message", "Well done."
        )
        agent.call_maestro("session", "wait", "dora,emil")
    agent.call_maestro("session", "end", "--status", "completed")


@contextmanager
def started_crew(agent: DemoAgent) -> Iterator[None]:
    """Start three child processes. Each registers its own session, which becomes a worker of this session."""
    program = [sys.executable, "-m", "maestro.demo.mail_worker"]
    rest = [str(agent.began), "--", *agent.command]
    workers = [subprocess.Popen([*program, name, *rest], stdin=subprocess.DEVNULL) for name in CREW]
    try:
        agent.print_line(
            f"starts {', '.join(CREW)}. Each registers its own process, becomes a worker of lead, and reports."
        )
        agent.wait_for_mail("--count", "3")
        yield
    finally:
        for worker in workers:
            worker.kill()
            worker.wait()


def assign_work(agent: DemoAgent) -> None:
    print_title("Directives. A sent message is not yet a received message, so each send waits for its receipt.")
    for name, (subject, text) in WORK.items():
        arguments = ("--type", "assignment", "--subject", subject, "--message", text, "--wait-for", "read")
        delivery = agent.show_and_call("mail", "send", name, *arguments)["deliveries"][0]
        agent.print_line(f"  {name}: {delivery['status']}, via {delivery['via']}")


def answer_questions(agent: DemoAgent) -> None:
    """Answer questions until every draft is done. The person answers the asks to the person."""
    print_title("Questions: one for the coordinator, one that only the person may answer.")
    drafts: set[str] = set()
    while drafts != set(CREW):
        for message in agent.wait_for_mail():
            if message["type"] == "query":
                agent.show_and_call("mail", "reply", message["id"], "--message", "Celsius, and nothing else.")
            elif message["body"] == "the draft is there":
                drafts.add(message["sender"]["name"])


def gather_results(agent: DemoAgent) -> None:
    print_title("A broadcast to the coordinator's workers, and three workers that finish at the same time.")
    arguments = ("--scope", "my-workers", "--subject", "Hand in", "--message", "All at once, please.")
    sent = agent.show_and_call("mail", "broadcast", *arguments)
    names = ", ".join(delivery["name"] for delivery in sent["deliveries"])
    agent.print_line(f"  reaches {names}; not lead itself, and not ada, ben and cleo, which are not workers of lead")
    found = agent.wait_for_mail("--count", "3")
    done = [message for message in found if message["body"] == "my part is done"]
    agent.print_line(f"  {len(done)} completions, one wait")


def be_interrupted(agent: DemoAgent) -> None:
    print_title("Critical mail. The coordinator waits for ten messages, but a critical message ends the wait.")
    agent.show_and_call("mail", "send", *CREW, "--subject", "Try it out", "--message", "With water, please.")
    found = agent.wait_for_mail("--count", "10")
    agent.print_line(f"  wanted 10, has {len(found)}: critical mail ends the wait at once, and comes first")


def stop_all(agent: DemoAgent) -> None:
    print_title("Receipts. Which workers have confirmed the message, and which have not?")
    arguments = ("--priority", "critical", "--subject", "Stop", "--message", "Pull the plug.")
    confirmed = ("--wait-for", "acknowledged", "--timeout", "2s")
    code, answer = agent.show_and_call_for_code("mail", "send", *CREW, *arguments, *confirmed)
    states = ", ".join(f"{delivery['name']} {delivery['status']}" for delivery in answer["data"]["deliveries"])
    agent.print_line(f"  exit {code}, accepted but not confirmed: {states}")


def lose_worker(agent: DemoAgent) -> None:
    print_title("A worker is killed. It cannot report its end; the server tells the coordinator.")
    agent.show_and_call(
        "mail", "send", "fay", "--subject", "Are you there?", "--message", "You do not look at your mail."
    )
    lost, back = False, 0
    while not (lost and back == 2):
        found = agent.wait_for_mail()
        lost = lost or any(message["subject"] == "fay is lost" for message in found)
        back += sum(bool(message["reason"]) for message in found)
    agent.print_line(
        f"  the {back} messages that fay had not read came back to the coordinator: no mail is lost silently"
    )
    found = agent.show_and_call("session", "explain", "fay")
    agent.print_line(
        f"  process {found['session']['pid']} has ended, its lease is over, no sign of life. {found['verdict']}"
    )


if __name__ == "__main__":
    main()
