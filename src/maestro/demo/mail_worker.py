"""A worker of the second part: the worker carries out the tasks in its mail, message after message."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from maestro.demo.agent import DemoAgent, agent_from_arguments, message_summary

_HOUR = 3600.0


def main() -> None:
    agent, _ = agent_from_arguments()
    agent.register_session()
    agent.call_maestro("session", "report", "progress", "ready")
    while True:
        for message in agent.next_mail("--debounce", "50ms"):
            if message["sender"]["name"] != "lead":
                continue  # the answer to a waiting command also arrives as mail
            agent.print_line(f"◂ {message_summary(message)}")
            if message["subject"] == "Go home":
                agent.call_maestro("session", "end", "--status", "completed")
                return
            ANSWERS[message["subject"]](agent, message)


def write_display(agent: DemoAgent, message: dict[str, Any]) -> None:
    """Ask the coordinator a question before the work."""
    time.sleep(0.3)
    question = ("--type", "query", "--subject", "Celsius or Fahrenheit?", "--message", "The data sheet has both.")
    agent.show_and_call("mail", "send", "--to-coordinator", *question)
    agent.wait_for_mail("--type", "response")
    report_draft(agent, message)


def choose_sound(agent: DemoAgent, message: dict[str, Any]) -> None:
    """Ask the person for a decision. The command blocks until the person answers."""
    time.sleep(0.3)
    question = ("Buy the boiling sound for 5 dollars?", "--choice", "yes", "--choice", "no")
    answer = agent.show_and_call("ask", "create", *question, "--wait")
    agent.print_line(f"  {answer['answered_by']} says: {answer['answer']}")
    report_draft(agent, message)


def report_draft(agent: DemoAgent, message: dict[str, Any]) -> None:
    time.sleep(0.5)
    agent.show_and_call("session", "report", "progress", "the draft is there")


def hand_in(agent: DemoAgent, message: dict[str, Any]) -> None:
    agent.show_and_call("session", "report", "complete", "my part is done")


def try_out(agent: DemoAgent, message: dict[str, Any]) -> None:
    """Report a different result for each worker. The demonstration kills the worker fay meanwhile."""
    if agent.name == "dora":
        time.sleep(0.5)
        alarm = ("--subject", "The heater does not switch off", "--message", "It is at 104 °C.")
        agent.show_and_call("mail", "send", "--to-coordinator", "--priority", "critical", *alarm)
        return
    agent.show_and_call(
        "session", "report", "progress", "it boils" if agent.name == "emil" else "I measure for an hour"
    )
    if agent.name == "fay":
        time.sleep(_HOUR)


def acknowledge_stop(agent: DemoAgent, message: dict[str, Any]) -> None:
    agent.show_and_call("mail", "ack", message["id"])


ANSWERS: dict[str, Callable[[DemoAgent, dict[str, Any]], None]] = {
    "Write the display": write_display,
    "Choose a sound": choose_sound,
    "Calibrate the sensor": report_draft,
    "Hand in": hand_in,
    "Try it out": try_out,
    "Stop": acknowledge_stop,
}


if __name__ == "__main__":
    main()
