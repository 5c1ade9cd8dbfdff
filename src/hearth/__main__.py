"""`python -m hearth` is `hearth`."""

import sys

from hearth.cli.main import main

sys.exit(main())
