# SPDX-License-Identifier: GPL-2.0
"""Checks of a patch or a cover letter that only read its text, where checkpatch.pl has none."""

import re

COLUMNS = 75
TAGS = re.compile(r"^(Signed-off|Reviewed|Acked|Tested)-by:", re.M)


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


def judge_subject(mail: str) -> list[str]:
    """Return what is wrong with the subject: its length, prefix or case.

    After the prefix, x86 goes on in upper case (maintainer-tip.rst), all others in lower case.
    """
    whole = read_subject(mail)
    prefix, colon, said = whole.rpartition(": ")
    first = said.split(" ")[0]
    found = [f"subject of {len(whole)} columns"] * (len(whole) > COLUMNS)
    found += ["subject ends with a full stop"] * whole.endswith(".")
    if not colon:
        return [*found, "subject without a prefix"]
    if prefix.startswith("x86"):
        found += [f"x86 subject goes on in lower case: {first}"] * first[:1].islower()
    elif re.fullmatch(r"[A-Z][a-z]+", first):
        found.append(f"subject goes on in upper case: {first}")
    return found


def judge_tags(mail: str) -> list[str]:
    """Return the tags that nobody gave."""
    return [f"tag that nobody gave: {tag[0]}" for tag in TAGS.finditer(mail)]
