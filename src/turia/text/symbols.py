"""The reserved symbols of the paper's Section 2.1, as SentencePiece control symbols.

They are put into sequences by id. A control symbol is never produced by encoding text, so a literal `<SEP>` in
somebody's speech stays text (METHOD section 3).
"""

from __future__ import annotations

PAD, UNK = "<pad>", "<unk>"
DOC, CONT, SEP, BRK, END = "<DOC>", "<CONT>", "<SEP>", "<BRK>", "<END>"
CONTROL = (DOC, CONT, SEP, BRK, END)

# Fixed for every vocabulary that Turia trains: padding and unknown first, then CONTROL in order.
PAD_ID, UNK_ID, DOC_ID, CONT_ID, SEP_ID, BRK_ID, END_ID = range(7)
CLOSING_IDS = (SEP_ID, BRK_ID, END_ID)
MORE_ID = CONT_ID
"""What a model without a segmenter writes where it has nothing to say before it has read more: the end of a prefix, "to
be continued". No target ever had `<CONT>` anywhere but at its beginning, so it can mean that (decision 036)."""
STOPPING_IDS = (*CLOSING_IDS, MORE_ID)
"""Symbols that end what is being written. The last one is allowed in no other model."""

WORD_END = "▁"
"""SentencePiece's white space; as a suffix it ends a word."""
