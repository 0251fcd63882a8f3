# SPDX-License-Identifier: GPL-2.0
"""Checks of a patch or a cover letter that only read its text."""

import re

COLUMNS = 75
TAGS = re.compile(r"^(Signed-off|Reviewed|Acked|Tested)-by:", re.M)
FILE = re.compile(r"^--- /dev/null\n\+\+\+ b/(\S+)\n@@ .* @@\n((?:\+.*\n){1,3})", re.M)
# The subject prefixes that a folder's maintainers use. All folders that a file is below count.
AREAS = (
    ("tools/testing/selftests/mm/", r"selftests/mm"),
    ("arch/x86/", r"x86(/[\w-]+)?"),
    ("mm/kasan/", r"kasan"),
    ("mm/kmsan/", r"kmsan"),
    ("kernel/kcsan/", r"kcsan"),
    ("kernel/padata.c", r"padata"),
    ("include/linux/padata.h", r"padata"),
    ("kernel/workqueue.c", r"workqueue"),
    ("include/linux/workqueue.h", r"workqueue"),
    ("drivers/infiniband/", r"RDMA(/[\w-]+)?"),
    ("mm/", r"mm(/[\w-]+)?"),
    ("lib/tests/fortify", r"fortify"),
    ("lib/", r"lib(/[\w-]+)?|string|fortify"),
    ("include/linux/", r"string|mm|lib|fortify"),
    ("Documentation/mm/", r"(Documentation|docs)/mm|mm/docs?|docs: mm"),
    ("MAINTAINERS", r"MAINTAINERS"),
)
# A patch may touch these together with the code that it is about.
ANYWHERE = ("MAINTAINERS", "Documentation/")
# Words that describe ("adds", "added", "adding"), where submitting-patches.rst asks for the
# imperative. IMPERATIVE holds those that only look so.
DESCRIBES = re.compile(r"\w+(?:[^s]s|ed|ing)$")
IMPERATIVE = {
    "bring",
    "embed",
    "exceed",
    "feed",
    "focus",
    "need",
    "proceed",
    "seed",
    "shed",
    "speed",
    "string",
    "succeed",
}


def read_subject(mail: str) -> str:
    """Return the subject on one line, without the brackets before it."""
    text = re.sub(r"\n[ \t]", " ", mail.split("\nSubject: ", 1)[1])
    return re.sub(r"^(\[[^]]*\] *)+", "", text.split("\n", 1)[0])


def list_touched(mail: str) -> list[str]:
    """Return the files that a patch touches."""
    return re.findall(r"^diff --git a/\S+ b/(\S+)$", mail, re.M)


def list_new(mail: str) -> list[str]:
    """Return the files that a patch adds."""
    return re.findall(r"^diff --git a/\S+ b/(\S+)\nnew file mode", mail, re.M)


def judge_prefix(prefix: str, touched: list[str]) -> list[str]:
    """Return what is wrong with a subject's prefix for the touched files.

    Nothing is wrong with it when there are no files.
    """
    about = (
        [name for name in touched if not name.startswith(ANYWHERE)]
        or [name for name in touched if name != "MAINTAINERS"]
        or touched
    )
    rules = {rule for name in about for folder, rule in AREAS if name.startswith(folder)}
    # "kasan, kmsan: ..." is about both.
    if not about or all(
        any(re.fullmatch(rule, part) for rule in rules) for part in prefix.split(", ")
    ):
        return []
    return [
        f"prefix {prefix} does not fit {about[0]}: "
        + (" or ".join(sorted(rules)) or "review/lint.py does not know that folder")
    ]


def judge_subject(mail: str) -> list[str]:
    """Return what is wrong with the subject: its length, prefix, case or mood.

    After the prefix, mm and lib go on in lower case, x86 in upper case (maintainer-tip.rst).
    """
    whole, touched = read_subject(mail), list_touched(mail)
    prefix, colon, said = whole.rpartition(": ")
    first = said.split(" ")[0]
    found = [f"subject of {len(whole)} columns"] * (len(whole) > COLUMNS)
    found += ["subject ends with a full stop"] * whole.endswith(".")
    if not colon:
        return [*found, "subject without a prefix"]
    found += judge_prefix(prefix, touched)
    if prefix.startswith("x86"):
        found += [f"x86 subject goes on in lower case: {first}"] * first[:1].islower()
    elif re.fullmatch(r"[A-Z][a-z]+", first):
        found.append(f"subject goes on in upper case: {first}")
    if touched and DESCRIBES.match(first.lower()) and first.lower() not in IMPERATIVE:
        found.append(f"subject is not imperative: {first}")
    return found


def judge_body(mail: str) -> list[str]:
    """Return what is wrong with the message: it is empty, or lines are too long."""
    message = (
        mail.split("\n\n", 1)[1].split("\n---\n", 1)[0]
        if "\n---\n" in mail
        else mail.split("\n\n", 1)[1].split("\ndiff --git", 1)[0]
    )
    return ["no message"] * (not message.strip()) + [
        f"line of {len(line)} columns: {line}"
        for line in message.split("\n")
        if len(line) > COLUMNS and " " in line.strip() and not re.match(r" \S+ +\| ", line)
    ]


def judge_tags(mail: str) -> list[str]:
    """Return the tags that nobody gave, and the new files without a licence."""
    return [f"tag that nobody gave: {tag[0]}" for tag in TAGS.finditer(mail)] + [
        f"new file without SPDX identifier: {file[1]}"
        for file in FILE.finditer(mail)
        if "SPDX-License-Identifier:" not in file[2]
    ]
