"""Words from standard input, their translation to standard output: the Python API in ten lines.

    echo meine damen und herren ich danke ihnen | python examples/translate.py

Prints each word the moment it is decided, a sentence a line. docs/python.md tells the rest.
"""

import sys

from turia import Translator

stream = Translator.load("de-en").stream(k=4)
for line in sys.stdin:
    for record in stream.push(line):
        print(record.text, end=" ", flush=True)
for record in stream.flush():
    print(record.text, end=" ")
