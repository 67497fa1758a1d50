"""The requests to a runner and the keys of its answers, for the server, attached terminals and runners.

A request is a JSON object with the action under `do`. An answer is a JSON object with `ok` (docs/frames.md).
Runners of an earlier version live on through an upgrade, so no value of this module may change.
"""

# The actions.
STATE = "state"
ATTACH = "attach"  # the peer gets the output, and may write input
WATCH = "watch"  # the peer gets a notice of new output
WRITE = "write"
PROMPT = "prompt"  # push a text
ANSWER = "answer"  # the answer of an ask
INTERRUPT = "interrupt"
FINISH = "finish"  # let the program end
STOP = "stop"

# The keys of every answer.
OK = "ok"
PROBLEM = "problem"  # why the runner refuses

# The keys of the answers of STATE, ATTACH and WATCH; LEFT is also in the answer of WRITE.
RUNNER, PROGRAM = "runner", "program"  # pids
TERMINAL = "terminal"
STOPPING = "stopping"  # the name of the caller that asked for the stop
LEFT = "left"  # the number of input bytes that the program has not taken
COLUMNS, ROWS = "columns", "rows"
ATTACHED = "attached"  # the number of attached terminals
IDLE, ASKS = "idle", "asks"  # of a program with a conversation
LISTENS = "listens"  # of a program with an inbox: a reader waits for a text

# The keys of the answers of PROMPT and ANSWER.
PUSH_STATE, REASON = "state", "why"
IS_TAKEN = "taken"
# The values of PUSH_STATE: handed over, held back, refused by a closed inbox, or out of date.
PUSHED, HELD, CLOSED, BUSY = "said", "held", "closed", "busy"
