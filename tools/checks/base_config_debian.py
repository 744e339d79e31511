# SPDX-License-Identifier: GPL-2.0
"""A setting of base.config is not in Debian's configuration."""

import pytest

from tools.checks.findings import none
from tools.command import last_lines, run
from tools.environment import ROOT
from tools.groups import fragment_lines, lost_lines

def check(fragment: str, debian: str) -> list[str]:
    """Each setting of base.config is a line of Debian's configuration. Args: their texts."""
    return sorted(set(fragment_lines(fragment)) - set(debian.splitlines()))


@pytest.mark.full
def test_base_config_debian() -> None:
    done = run([ROOT / "tools/tree/debian-config.sh"])
    if done.returncode:
        pytest.skip(f"Debian's configuration is not to be had: {last_lines(done.stdout)}")
    none(check((ROOT / "configs/base.config").read_text(), done.stdout))


@pytest.mark.static
def test_selftest_config_lines() -> None:
    fragment = '# why\nCONFIG_A=y\n# CONFIG_B is not set\nCONFIG_C="x"\nCONFIG_D=n\n'
    none(lost_lines(fragment, 'CONFIG_A=y\nCONFIG_C="x"\n# CONFIG_B is not set\n'))
    lost = lost_lines(fragment, "CONFIG_A=m\nCONFIG_B=y\nCONFIG_D=y\n")
    assert lost == ["CONFIG_A=y", "# CONFIG_B is not set", 'CONFIG_C="x"', "CONFIG_D=n"]
