# SPDX-License-Identifier: GPL-2.0
"""Lets the tests import the programs beside them, as these import each other."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
