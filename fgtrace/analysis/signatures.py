"""What a C++ function's name says: its path, and what its template arguments name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_TOKEN = re.compile(r"operator(?:\(\)|\[\])|[A-Za-z_$]\w*|\d\w*|::|->|'\w*'|\s+|.", re.DOTALL)
_KEYWORD = re.compile(
    r"auto|bool|char(?:8_t|16_t|32_t)?|const|decltype|double|false|float|int|long|nullptr|short"
    r"|signed|true|unsigned|void|volatile|wchar_t"
)
_OPENS = {")": "(", "]": "[", "}": "{"}


class Mention(NamedTuple):
    """A name among template arguments, without the arguments and members of its own."""

    path: str
    called: bool  # parameters follow: a function, most often what a lambda was written in


class Signature(NamedTuple):
    """A function's name, without its return type, arguments and parameters."""

    path: tuple[str, ...]
    mentions: tuple[Mention, ...]  # of its template arguments, in order, repeated names too


def signature(name: str) -> Signature | None:
    """Read a demangled name; None where it is not certain that it is one.

    A word alone is a name too. It takes time in proportion to the length, whatever the name.
    """
    tokens = _TOKEN.findall(name)
    closing = _closing(tokens)
    if closing is None:
        return None
    words = _words(tokens, closing)
    while len(words) > 1 and [tokens[at] for at in words[-1]] == ["const"]:
        words.pop()
    if not words:
        return None
    *returned, last = words
    if tokens[last[-1]] == "(":
        last.pop()
    elif returned and [tokens[at] for word in returned for at in word] != ["void"]:
        return None
    path = _path(tokens, closing, last)
    if path is None:
        return None
    groups = [at for at in last if tokens[at] == "<"]
    return Signature(path, tuple(m for at in groups for m in _mentions(tokens, closing, at)))


def _closing(tokens: list[str]) -> dict[int, int] | None:
    """Find where each bracket closes; None where one does not."""
    closing = {}
    opened: list[int] = []
    for at, token in enumerate(tokens):
        if token in ("<", "(", "[", "{"):
            opened.append(at)
        elif token == ">":
            # Elsewhere it compares, and so does a "<" that a parenthesis ends.
            if opened and tokens[opened[-1]] == "<":
                closing[opened.pop()] = at
        elif token in _OPENS:
            while opened and tokens[opened[-1]] == "<":
                opened.pop()
            if not opened or tokens[opened[-1]] != _OPENS[token]:
                return None
            closing[opened.pop()] = at
    return None if opened else closing


def _words(tokens: list[str], closing: dict[int, int]) -> list[list[int]]:
    """Divide what is outside of all brackets at spaces; a group is its opening bracket."""
    words: list[list[int]] = [[]]
    at = 0
    while at < len(tokens):
        if tokens[at].isspace():
            words.append([])
        else:
            words[-1].append(at)
        at = closing.get(at, at) + 1
    return [word for word in words if word]


def _path(tokens: list[str], closing: dict[int, int], word: list[int]) -> tuple[str, ...] | None:
    path: list[str] = []
    named = False
    for at in word:
        token = tokens[at]
        if token == "::":
            if path and not named:
                return None
            named = False
        elif _is_name(token) and not named:
            path.append(token)
            named = True
        elif token == "{" and not named:  # a lambda's function: {lambda()#1}::operator()
            named = True
        elif token not in ("<", "(") or at not in closing or not named:
            return None
    return tuple(path) if named and path else None


def _mentions(tokens: list[str], closing: dict[int, int], opening: int) -> Iterator[Mention]:
    at, end = opening + 1, closing[opening]
    while at < end:
        if tokens[at] in _OPENS.values():
            at = closing.get(at, at) + 1
            continue
        if not _is_name(tokens[at]):
            at += 1
            continue
        first = at
        at += 1
        while at + 1 < end and tokens[at] == "::" and _is_name(tokens[at + 1]):
            at += 2
        parts = [part for part in tokens[first:at:2] if not part.startswith("operator")]
        is_member = tokens[first - 1] == "::" and tokens[first - 2][-1] in ">)]}'"
        if parts and not is_member:
            after = closing[at] + 1 if tokens[at] == "<" and at in closing else at
            yield Mention("::".join(parts), tokens[after] == "(")


def _is_name(token: str) -> bool:
    return (token[0].isalpha() or token[0] in "_$") and not _KEYWORD.fullmatch(token)
