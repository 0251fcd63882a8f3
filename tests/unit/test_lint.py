# SPDX-License-Identifier: GPL-2.0
"""The subjects and tags of the mails in series/, for which checkpatch.pl has no check."""

import re
from pathlib import Path

import pytest

from harness.kernel.export import read_subject
from support import MAILS, name_of

COLUMNS = 75
TAGS = re.compile(r"^(?:Signed-off|Reviewed|Acked|Tested)-by:", re.M)
# The last prefix, and how it goes on: below x86 in upper case (maintainer-tip.rst), and elsewhere
# in lower case, but for a name such as KUnit. No full stop at the end.
SUBJECT = re.compile(r"(?:x86.*: (?![a-z])|(?!x86).*: (?![A-Z][a-z]+ ))(?!.*: ).*[^.]")


@pytest.mark.parametrize("mail", MAILS, ids=name_of)
def test_mail(mail: Path) -> None:
    text = mail.read_text()
    subject = read_subject(text)
    assert SUBJECT.fullmatch(subject) and len(subject) <= COLUMNS
    assert not TAGS.search(text)
