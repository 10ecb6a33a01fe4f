"""A table as GitHub Markdown, in which no name can become markup."""

from __future__ import annotations

import re

from fgtrace.views.model import Table

# Neither markup, nor a mention, a reference to an issue, an emoji or a link.
_PLAIN = re.compile(r"(?:[\w ,;.%()+×–—−†/\u202f-]|:(?= |$))*")
_NOT_PLAIN = re.compile(r"\b_|_\b|www\.")
_MARKUP = re.compile(r"[^\w \-./]")
_INDENT = re.compile(r"^ +")
_NO_BREAK = "\N{NO-BREAK SPACE}"


def render(table: Table) -> str:
    """Write `table` with its title, banners and footnotes around it."""
    lines = [f"**{inline(table.title)}**", ""]
    for banner in table.banners:
        lines += [f"> {inline(banner)}", ""]
    if table.columns:
        lines += [
            _row([inline(column.title) for column in table.columns]),
            _row([":---" if column.align == "left" else "---:" for column in table.columns]),
            *(_row([inline(text) for text in row]) for row in table.rows),
        ]
    for footnote in table.footnotes:
        lines += ["", inline(footnote)]
    return "\n".join(lines) + "\n"


def inline(text: str) -> str:
    """Write `text` so that it is shown as it is: in a code span where it could mean something.

    A code span also keeps `@name` from notifying anybody. Pipes and backticks have no safe form in
    one inside a table, so those names are written out as HTML. Spaces that indent do not break, or
    a page would swallow them.
    """
    text = _INDENT.sub(lambda found: _NO_BREAK * len(found[0]), text)
    if _PLAIN.fullmatch(text) and not _NOT_PLAIN.search(text):
        return text
    if "|" not in text and "`" not in text:
        return f"`{text}`"
    entities = _MARKUP.sub(lambda found: f"&#{ord(found[0])};", text)
    return f"<code>{entities}</code>"


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"
