"""A model that says what a test tells it to, for real agent programs: no key, no network beyond loopback.

It speaks as much of three providers' APIs as their programs need, and knows nothing of Maestro.
"""

from scripted_model.conversation import Answer, Call, Refuse, Say, Seen, Shell, Step
from scripted_model.server import ScriptedModel

__all__ = ["Answer", "Call", "Refuse", "Say", "ScriptedModel", "Seen", "Shell", "Step"]
