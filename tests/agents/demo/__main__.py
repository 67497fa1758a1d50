"""Run it."""

import sys

from demo.play import main

sys.exit(main())
