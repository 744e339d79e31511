# SPDX-License-Identifier: GPL-2.0
"""Whether two preprocessed texts make the same object although they are not equal.

A header that a patch touches reaches nearly every object, mostly with declarations that the object
does not use, and for which the compiler emits nothing. So both texts are split at file scope into
items, and the items that only one text has are removed from both, if each is a static inline
function, a prototype, a structure or an extern variable, and nothing that stays mentions its name,
or itself is such a declaration that nothing mentions (and so on). What stays must be the same items
in the same order. The numbers of __COUNTER__ in names are compared by the order of their first use.

An item of any other form must be the same. Names are looked for as mere text, which finds too much
rather than too little.
"""

from __future__ import annotations

import re
from collections import Counter

# What ends an item, or hides characters that would
TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'|[{};]|\n[ \t]*#[^\n]*')
STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'')
COUNTED = re.compile(
    r"(__(?:compiletime_assert_(?=\d+\b)|UNIQUE_ID_\w*?(?=\d+\b)"
    r"|initcall__kmod_\w+?__(?=\d+_\d+_)))(\d+)"
)
# Attributes that make no code of an unused function or variable, and its type
PLAIN = re.compile(
    r"__attribute__\s*\(\(\s*_*(?:gnu_inline|unused|no_instrument_function|always_inline"
    r"|warn_unused_result|cold|const|pure|nonnull__\([\d, ]*\)|malloc)_*\s*\)\)"
)
TYPEOF = re.compile(r"__typeof__\s*\(\w+\)")
FORM = re.compile(
    r"static\s+inline\s[\w\s*]*?(\w+)\s*\([^{}]*\)\s*\{.*\}"
    r"|(?:struct|union)\s+(\w+)\s*(?:\{(?!.*\benum\b)[^{}]*\}\s*)?;"
    r"|extern\s+[\w\s*]*?(\w+)\s*(?:\[\w*\])?\s*;"
    # With one word in the parentheses it may be a variable
    r"|(?!static\b)\w[\w\s]*?[\s*]+(\w+)\s*\((?:void|\w+[\s*,]+[\w*.][\w\s*,.]*)\)\s*;",
    re.S,
)
# Attributes in a function may be of what it declares; those of compiletime_assert() are not
ASSERTED = re.compile(
    r"__attribute__\(\(__noreturn__\)\)\s*extern\s+void\s+\w+\(void\)\s*"
    r'__attribute__\(\(__error__\((?:"(?:[^"\\\n]|\\.)*"\s*)+\)\)\)'
)
ATTRIBUTED = re.compile(r"__attribute__(?!\s*\(\(\s*_*(?:unused|fallthrough)_*\s*\)\))")
# What the compiler calls by itself
CALLED = re.compile(r"mem(?:cpy|set|move|cmp)|__stack_chk_\w+")


def items(text: str) -> list[str]:
    """Return what a preprocessed text has at file scope, in order."""
    found, start, depth, function = [], 0, 0, False
    for match in TOKEN.finditer(text):
        first = match[0][0]
        if first == "{":
            if depth == 0:
                function = text[start : match.start()].rstrip().endswith(")")
            depth += 1
        elif first == "}":
            depth -= 1
        # What is before a pragma is an item of no known form
        if depth == 0 and (first in ";\n" or first == "}" and function):
            found.append(text[start : match.end()].strip())
            start = match.end()
    return [*found, text[start:].strip()]


def declared(item: str) -> str | None:
    """Return the name that an item without code declares, None when it may make code or data."""
    at = (item.find("{") + 1 or len(item) + 1) - 1
    head, body = TYPEOF.sub("int", PLAIN.sub("", item[:at])), item[at:]
    match = FORM.fullmatch(" ".join(head.split()) + body)
    if not match or "__attribute__" in head or ATTRIBUTED.search(ASSERTED.sub("", body)):
        return None
    name = match[match.lastindex or 0]
    return None if "#" in STRING.sub("", item) or CALLED.fullmatch(name) else name


def mentions(names: set[str], rest: set[str]) -> set[str]:
    """Return the items of rest that mention one of the names."""
    joined = "\n".join(rest)
    names = {name for name in names if name in joined}
    return {
        item
        for item in rest
        if any(name in item and re.search(rf"\b{name}\b", item) for name in names)
    }


def in_order(text: str) -> str:
    """Return a text with the order of first use in place of each counter in a name."""
    seen: dict[str, int] = {}
    return COUNTED.sub(lambda match: f"{match[1]}{seen.setdefault(match[2], len(seen))}", text)


def same(a: str, b: str) -> tuple[bool, set[str]]:
    """Return whether two texts make the same object, and the items that were left out."""
    sides = [[(COUNTED.sub(r"\1", item), item) for item in items(text)] for text in (a, b)]
    left, right = (Counter(item for item, _ in side) for side in sides)
    different = {item for item in left.keys() | right.keys() if left[item] != right[item]}
    new = gone = different
    rest = (left.keys() | right.keys()) - gone
    while new:
        names = {declared(item) for item in new}
        if None in names:
            return False, different
        new = mentions(names, rest)
        rest -= new
        gone = gone | new
    one, other = (
        in_order("\n".join(raw for item, raw in side if item not in gone)) for side in sides
    )
    return one == other, different
