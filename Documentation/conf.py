# SPDX-License-Identifier: GPL-2.0
"""Sphinx's settings for `make docs`: these pages as HTML. A link to a page is one to its file, as
code hosts want it; here it becomes one to the page."""
import re
import shutil
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx

project = "cache-footprint"
root_doc = "index"
# The pages of published tables have none
suppress_warnings = ["toc.no_title"]


def link_pages(_app: Sphinx, page: nodes.document, _name: str) -> None:
    """Let each reference to a .rst file be one to the HTML page made of it."""
    for link in page.findall(nodes.reference):
        if ":" not in link.get("refuri", ":"):
            link["refuri"] = re.sub(r"\.rst(?=#|$)", ".html", link["refuri"])


def copy_tables(app: Sphinx, _failure: Exception | None) -> None:
    """Copy the timed tables, which pages link to."""
    source = Path(app.srcdir)
    for table in source.glob("results/*/*.csv"):
        copy = Path(app.outdir) / table.relative_to(source)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(table, copy)


def setup(app: Sphinx) -> None:
    """Register the functions above, for Sphinx."""
    app.connect("doctree-resolved", link_pages)
    app.connect("build-finished", copy_tables)
