# SPDX-License-Identifier: GPL-2.0
"""Which differences of two preprocessed texts are none, and which are never taken for one."""

import pytest

from tools.identity.texts import same

# A text that uses a type, a prototype, an inline function and two names with a counter
TEXT = """struct thing { int a; };
typedef unsigned int u32;
extern int taken;
int called(int a);
static inline int helper(struct thing *u)
{
 extern void __compiletime_assert_5(void) __attribute__((__error__("no")));
 return u->a + called(taken);
}
struct list;
enum kind { FIRST, SECOND = 3 };
static void *__attribute__((__used__)) __UNIQUE_ID_keep_6 = (void *)&helper;
asm(".section \\"x\\"; .long 1; .previous");
u32 f(struct thing *u)
{
 char c = '{';
 return helper(u) + FIRST + c + sizeof("};");
}
"""
# What may be added anywhere
HARMLESS = (
    "struct other;",
    "struct unused_list { struct thing *next; int (*call)(int); };",
    "extern int unused_variable;",
    "extern __typeof__(int) unused_typed;",
    "extern const char *unused_text[];",
    "int unused_prototype(struct thing *u, ...);",
    "__attribute__((__warn_unused_result__)) unsigned long\nunused_too(void);",
    "static inline __attribute__((__unused__)) int unused_inline(int a)\n"
    "{\n for (;;) { if (a) return helper(0); }\n}",
    "static inline int one(void) { return 1; }\nstatic inline int two(void) { return one(); }",
)
# What may be code, data or layout, or has a form that is not known
HARMFUL = (
    "enum colour { RED, GREEN = (1, 2) };",
    "struct body { enum { RED } colour; };",
    "int variable;",
    "static int number = 1;",
    "u32 (*pointer)(int);",
    "struct body { int a; } instance;",
    "struct body { int a;\n#pragma pack(1)\n int b; };",
    "struct zed (variable);",
    "static int unused_static(void);",
    "int called(int a) __attribute__((__ifunc__(\"f\")));",
    "static inline void *memset(void *to, int c, unsigned long size) { return to; }",
    "static inline void function(void) { extern int called(int a) __attribute__((__noreturn__)); }",
    "extern int first, second;",
    "int function(void) { return 1; }",
    "static int function(void) { return 1; }",
    "static inline __attribute__((__used__)) int function(void) { return 1; }",
    'asm("nop");',
    "#pragma pack(1)",
    'extern int taken2 asm("taken");',
)


@pytest.mark.parametrize("added", HARMLESS)
@pytest.mark.parametrize("before", ["struct thing", "struct list;", "u32 f(", "asm("])
def test_texts_harmless(added: str, before: str) -> None:
    assert same(TEXT, TEXT.replace(before, f"{added}\n{before}", 1))[0]
    assert same(TEXT.replace(before, f"{added}\n{before}", 1), TEXT)[0]


@pytest.mark.parametrize("added", HARMFUL)
@pytest.mark.parametrize("before", ["struct list;", "u32 f("])
def test_texts_harmful(added: str, before: str) -> None:
    assert not same(TEXT, TEXT.replace(before, f"{added}\n{before}", 1))[0]
    assert not same(TEXT.replace(before, f"{added}\n{before}", 1), TEXT)[0]


@pytest.mark.parametrize(
    "old, new",
    [
        ("int a; }", "long a; }"),
        ("unsigned int u32", "unsigned long u32"),
        ("extern int taken", "extern long taken"),
        ("u->a + called", "u->a - called"),
        ("SECOND = 3", "SECOND = 3, FIRST2"),
        ("int called(int a)", "int called(long a)"),
        ("return helper(u) +", "return called(1) +"),
        ("'{'", "'}'"),
        ('"};"', '"}; "'),
        (".long 1", ".long 2"),
        ("__UNIQUE_ID_keep_6", "__UNIQUE_ID_keep_5"),
    ],
)
def test_texts_used(old: str, new: str) -> None:
    """What is used, a string, an asm, or two numbers of which one becomes the other."""
    changed = TEXT.replace(old, new, 1)
    assert changed != TEXT and not same(TEXT, changed)[0] and not same(changed, TEXT)[0]


def test_texts_order() -> None:
    """The same items in another order are another text."""
    asm = 'asm("nop");\n'
    variable = "int variable;\n"
    assert not same(asm + variable + TEXT, variable + asm + TEXT)[0]


def test_texts_numbers() -> None:
    """Counters that are all higher are the same names."""
    assert same(TEXT, TEXT.replace("_5(", "_15(").replace("_6 ", "_16 "))[0]
