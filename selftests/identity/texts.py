# SPDX-License-Identifier: GPL-2.0
"""Whether two preprocessed texts make the same object although they are not equal.

A header that a patch touches reaches nearly every object, mostly with declarations that the
object does not use: a prototype, a type, a static inline function. The compiler emits nothing
for those. So both texts are split at file scope into items, and the items that only one text
has are removed from both, if nothing that stays mentions a name that they declare, or itself
is such a declaration that nothing mentions (and so on). What stays must be the same items in the
same order. The numbers of __COUNTER__ in names are compared by the order of their first use.

Anything that is not recognised as a declaration without code is an item that must be the same:
variables, functions that are not static inline, asm, pragmas, whatever has another form. Names
are looked for as mere text, which finds too much rather than too little.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter

# What ends an item, or hides characters that would
TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'|[{};]|\n[ \t]*#[^\n]*')
COUNTED = re.compile(
    r"(__(?:compiletime_assert_(?=\d+\b)|UNIQUE_ID_\w*?(?=\d+\b)"
    r"|initcall__kmod_\w+?__(?=\d+_\d+_)))(\d+)"
)
MARK = "\x01"
BALANCED = r"\((?:[^()]|\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))*\)"
ATTRIBUTE = re.compile(rf"__attribute__\s*{BALANCED}")
TYPE_HEAD = re.compile(
    rf"(?:\b(?:struct|union|enum)\b\s*(?:__attribute__\s*{BALANCED}\s*)*\w*|=)\s*$"
)
TYPEOF = re.compile(rf"(?:__typeof__|__typeof_unqual__|typeof)\s*{BALANCED}")
KEPT = re.compile(
    r"\b_{0,2}(?:used|retain|constructor|destructor|alias|weak|weakref|ifunc|symver|asm)_{0,2}\b"
    r"|\b(?:mem(?:cpy|set|move|cmp)|__stack_chk_\w+)\b"  # what the compiler calls by itself
)
STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'')
# Attributes of what another object has, but for those that only report a use
ATTRIBUTED = re.compile(
    r"\bextern\b(?![^;]*__attribute__\s*\(\(\s*__(?:error|warning)__)[^;]*__attribute__"
)
QUALIFIERS = re.compile(r"\b(?:const|volatile|static|extern|register|struct|union|enum|inline)\b")
TAG_ONLY = re.compile(r"(?:struct|union|enum)\s+\w+\s*;")
INLINE = re.compile(
    r"(?=[^(]*\bstatic\b)(?=[^(]*\b(?:__inline__|__inline|inline)\b)[^(]*?\b(\w+)\s*\("
)
DECLARED = re.compile(
    r"(?P<extern>extern\s+)?(?:[\w*]+[\s*]+)+?\**(?P<name>\w+)\s*"
    r"(?P<tail>\((?!\s*\*).*\)|(?:\[[^][]*\])*)\s*;",
    re.S,
)
CONSTANT = re.compile(r"static\s+const\s+[\w\s]+?(\w+)\s*=\s*\w+\s*;")
TYPEDEF = re.compile(
    r"typedef\s+(?:[\w\s*]+?\b(\w+)\s*(?:\[[^][]*\])*|[\w\s*]+\(\s*\*\s*(\w+)\s*\)\s*\([^{]*\)"
    r"|[\w\s]+\{.*\}\s*(\w+)|[\w\s*]+?\b(\w+)\s*\([^{]*\))\s*;",
    re.S,
)
TYPE_BODY = re.compile(r"(?:struct|union)\s+\w+\s*\{.*\}\s*;", re.S)
ENUM_BODY = re.compile(r"enum\s*(\w*)\s*\{([^{}]*)\}\s*;", re.S)
TAG = re.compile(r"(?:struct|union)\s+(\w+)\s*\{")


def items(
    text: str, start: int = 0, stop: frozenset[int] = frozenset()
) -> tuple[list[str], list[int]]:
    """Return what a preprocessed text has at file scope, in order, and where each item ends.

    Args: the text, where to begin (the end of an item), ends at which to stop.
    """
    found: list[str] = []
    ends: list[int] = []
    depth = 0
    function = False
    for match in TOKEN.finditer(text, start):
        first, end = match[0][0], 0
        if first == "{":
            if depth == 0:
                function = not TYPE_HEAD.search(
                    text, max(start, match.start() - 400), match.start()
                )
            depth += 1
        elif first == "}":
            depth -= 1
            if depth == 0 and function:
                end = match.end()
        elif depth == 0 and first == ";":
            end = match.end()
        elif depth == 0 and first not in "\"'":
            # What stands before a pragma is no item of a known form
            end = match.end()
        if end:
            found.append(text[start:end].strip())
            ends.append(end)
            start = end
            if end in stop:
                return found, ends
    return [*found, text[start:].strip()], [*ends, len(text)]


def common(a: str, b: str) -> int:
    """Return how many characters two texts have in common at their beginning."""
    low, high = 0, min(len(a), len(b))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if a[low:middle] == b[low:middle] else (low, middle - 1)
    return low


def both(a: str, b: str) -> tuple[list[str], list[str]]:
    """Return the items of two texts; what both have around the difference is split once."""
    left, ends = items(a)
    first = bisect_right(ends, common(a, b) - 1)
    start = ends[first - 1] if first else 0
    after = common(a[: start - 1 if start else None : -1], b[: start - 1 if start else None : -1])
    shift = len(b) - len(a)
    shared = {
        end + shift: at
        for at, end in enumerate(ends)
        if end >= len(a) - after + 1 and end + shift > start
    }
    right, right_ends = items(b, start, frozenset(shared))
    rest = shared.get(right_ends[-1])
    return left, left[:first] + right + (left[rest + 1 :] if rest is not None else [])


def one_group(tail: str) -> bool:
    """Return whether this is one pair of parentheses: the parameters of a prototype."""
    depth = [tail[: at + 1].count("(") - tail[: at + 1].count(")") for at in range(len(tail))]
    return bool(depth) and 0 not in depth[:-1] and depth[-1] == 0


def declared(item: str) -> set[str] | None:
    """Return the names that an item without code declares, None when it may make code or data."""
    if item.startswith(("_Static_assert", "static_assert")):
        return set()
    body = item.find("{")
    if "#" in STRING.sub("", item) or body >= 0 and ATTRIBUTED.search(item[body:]):
        return None
    head = TYPEOF.sub(" int ", ATTRIBUTE.sub(" ", item if body < 0 else item[:body])).strip()
    if KEPT.search(item if body < 0 else item[:body]):
        return None
    if body >= 0 and (match := INLINE.match(head)) and "=" not in head:
        return {match[1]}
    plain = TYPEOF.sub(" int ", ATTRIBUTE.sub(" ", item)).strip()
    if item.startswith("typedef") and not re.search(r"\benum\b[^;]*\{", item):
        match = TYPEDEF.fullmatch(plain)
        return (
            {name for name in match.groups() if name} | set(TAG.findall(plain)) if match else None
        )
    if match := ENUM_BODY.fullmatch(plain):
        return {match[1], *re.findall(r"(?:^|,)\s*(\w+)", match[2])} - {""}
    if TYPE_BODY.fullmatch(plain) and not re.search(r"\benum\b|=", plain) and (
        plain.rstrip("; \n\t")[-1] == "}"
    ):
        return set(TAG.findall(plain))
    if body < 0 and "=" not in item:
        match = DECLARED.fullmatch(plain)
        if match and QUALIFIERS.sub("", plain[: match.start("name")]).strip(" *\n\t") and (
            match["extern"] and not match["tail"].startswith("(") or one_group(match["tail"])
        ):
            return {match["name"]}
        return None
    match = CONSTANT.fullmatch(plain)
    return {match[1]} if match and body < 0 else None


def without_numbers(text: str) -> tuple[str, list[str]]:
    """Return a text with a mark in place of each counter in a name, and those numbers in order."""
    return COUNTED.sub(rf"\1{MARK}", text), [number for _, number in COUNTED.findall(text)]


def kept(found: list[str], gone: set[str], numbers: list[str]) -> tuple[list[str], list[int]]:
    """Return the items that stay, and the counters in them, each as the order of its first use."""
    stay: list[str] = []
    order: dict[str, int] = {}
    uses: list[int] = []
    at = 0
    for item in found:
        count = item.count(MARK)
        if item not in gone:
            stay.append(item)
            uses += [order.setdefault(number, len(order)) for number in numbers[at : at + count]]
        at += count
    return stay, uses


def mentioned(name: str, text: str) -> bool:
    """Return whether a name is in a text as a whole word."""
    at = text.find(name)
    while at >= 0:
        around = text[max(at - 1, 0) : at] + text[at + len(name) : at + len(name) + 1]
        if not any(char.isalnum() or char == "_" for char in around):
            return True
        at = text.find(name, at + 1)
    return False


def mentions(names: set[str], rest: set[str]) -> set[str]:
    """Return the items of rest that mention one of the names."""
    joined = "\n".join(rest)
    names = {name for name in names if mentioned(name, joined)}
    return {item for item in rest if any(name in item and mentioned(name, item) for name in names)}


def same(a: str, b: str) -> tuple[bool, set[str]]:
    """Return whether two texts make the same object, and the items that were left out."""
    if a == b:
        return True, set()
    (a, left_numbers), (b, right_numbers) = without_numbers(a), without_numbers(b)
    left, right = both(a, b)
    tags = {item for item in {*left, *right} if TAG_ONLY.fullmatch(item)}
    counts = Counter(left), Counter(right)
    gone = {
        item for item in counts[0].keys() | counts[1].keys() if counts[0][item] != counts[1][item]
    } - tags
    different = frozenset(gone)
    rest = (counts[0].keys() | counts[1].keys()) - gone - tags
    new = gone
    while new:
        found = [declared(item) for item in new]
        if None in found:
            return False, different
        new = mentions(set().union(*found), rest)
        rest -= new
        gone = gone | new
    gone |= tags | {""}
    return kept(left, gone, left_numbers) == kept(right, gone, right_numbers), different
