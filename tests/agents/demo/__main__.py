"""Run the demo with the real programs."""

import sys

from demo.play import main

sys.exit(main())
