# SPDX-License-Identifier: GPL-2.0
"""model.py as the tests run it."""
from __future__ import annotations

import subprocess
import sys
from pathlib import Path

MODEL = Path(__file__).resolve().parent / "model.py"


def model(arguments: list[str]) -> subprocess.CompletedProcess[str]:
    """Run model.py and return its end, whatever that is."""
    return subprocess.run([sys.executable, str(MODEL), *arguments],
                          capture_output=True, text=True, check=False,
                          stdin=subprocess.DEVNULL)
