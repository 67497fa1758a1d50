"""A worker of the second part: the worker carries out the tasks in its mail, message after message."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from maestro.demo.agent import Agent, from_arguments, summary

_HOUR = 3600.0


def main() -> None:
    agent, _ = from_arguments()
    agent.register()
    agent.call("session", "report", "progress", "ready")
    while True:
        for message in agent.listen("--debounce", "50ms"):
            if message["sender"]["name"] != "lead":
                continue  # the answer to a waiting command also arrives as mail
            agent.say(f"◂ {summary(message)}")
            if message["subject"] == "Go home":
                agent.call("session", "end", "--status", "completed")
                return
            ANSWERS[message["subject"]](agent, message)


def write_display(agent: Agent, message: dict[str, Any]) -> None:
    """Ask the coordinator a question before the work."""
    time.sleep(0.3)
    question = ("--type", "query", "--subject", "Celsius or Fahrenheit?", "--message", "The data sheet has both.")
    agent.do("mail", "send", "--to-coordinator", *question)
    agent.wait("--type", "response")
    work(agent, message)


def choose_sound(agent: Agent, message: dict[str, Any]) -> None:
    """Ask the person for a decision. The command blocks until the person answers."""
    time.sleep(0.3)
    question = ("Buy the boiling sound for 5 dollars?", "--choice", "yes", "--choice", "no")
    answer = agent.do("ask", "create", *question, "--wait")
    agent.say(f"  {answer['answered_by']} says: {answer['answer']}")
    work(agent, message)


def work(agent: Agent, message: dict[str, Any]) -> None:
    time.sleep(0.5)
    agent.do("session", "report", "progress", "the draft is there")


def hand_in(agent: Agent, message: dict[str, Any]) -> None:
    agent.do("session", "report", "complete", "my part is done")


def try_it(agent: Agent, message: dict[str, Any]) -> None:
    """Report a different result for each worker. The demonstration kills the worker fay meanwhile."""
    if agent.name == "dora":
        time.sleep(0.5)
        alarm = ("--subject", "The heater does not switch off", "--message", "It is at 104 °C.")
        agent.do("mail", "send", "--to-coordinator", "--priority", "critical", *alarm)
        return
    agent.do("session", "report", "progress", "it boils" if agent.name == "emil" else "I measure for an hour")
    if agent.name == "fay":
        time.sleep(_HOUR)


def stop(agent: Agent, message: dict[str, Any]) -> None:
    agent.do("mail", "ack", message["id"])


ANSWERS: dict[str, Callable[[Agent, dict[str, Any]], None]] = {
    "Write the display": write_display,
    "Choose a sound": choose_sound,
    "Calibrate the sensor": work,
    "Hand in": hand_in,
    "Try it out": try_it,
    "Stop": stop,
}


if __name__ == "__main__":
    main()
