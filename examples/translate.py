"""Translates words from standard input: the Python API in ten lines.

    echo meine damen und herren ich danke ihnen | python examples/translate.py

Prints each word as soon as it is decided, one sentence a line. docs/python.md explains the API.
"""

import sys

from turia import Record, Translator


def show(records: list[Record]) -> None:
    for record in records:
        print(record.text, end=" " if record.text.strip() else "", flush=True)


stream = Translator.load("de-en").stream()
for line in sys.stdin:
    show(stream.push(line))
show(stream.flush())
