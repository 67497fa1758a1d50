"""A scripted model for real agent programs: a test writes the answers. It needs no key and only the loopback network.

The model implements the parts of three providers' APIs that the programs need. It does not know Maestro.
"""

from scripted_model.conversation import Answer, Call, Refuse, Say, Seen, Shell, Step
from scripted_model.server import ScriptedModel

__all__ = ["Answer", "Call", "Refuse", "Say", "ScriptedModel", "Seen", "Shell", "Step"]
