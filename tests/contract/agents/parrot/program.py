"""The program `parrot`: reads prompts as lines of JSON and repeats them. A test starts the program as a process."""

from __future__ import annotations

import json
import sys


def main() -> None:
    has_greeted = False
    for line in sys.stdin:
        message = json.loads(line)
        if "prompt" in message:
            answer = f"heard: {message['prompt']}" if has_greeted else "Hello."
            print(json.dumps({"id": message["id"], "answer": answer}), flush=True)
            has_greeted = True


if __name__ == "__main__":
    if "--version" in sys.argv:
        print("parrot 1.0")
    else:
        main()
