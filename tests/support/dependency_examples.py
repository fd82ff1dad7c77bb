"""Hand-written sentences with trees, shared by the tests of the dependency parser."""

from __future__ import annotations

from pathlib import Path

from treeviews.pipeline.trees.treebanks import TreebankSentence

_SENTENCES = [
    "The/2/det dog/3/nsubj chased/0/root a/5/det cat/3/obj ./3/punct",
    "She/2/nsubj reads/0/root old/4/amod books/2/obj ./2/punct",
    "A/3/det small/3/amod bird/4/nsubj sang/0/root loudly/4/advmod ./4/punct",
    "They/4/nsubj:pass were/4/aux:pass quickly/4/advmod found/0/root ./4/punct",
    "The/3/det old/3/amod teacher/4/nsubj opened/0/root the/6/det window/4/obj ./4/punct",
    "Go/0/root home/1/advmod !/1/punct",
    "He/2/nsubj gave/0/root her/2/iobj a/6/det red/6/amod apple/2/obj ./2/punct",
    "Dogs/2/nsubj bark/0/root and/4/cc cats/5/nsubj sleep/2/conj ./2/punct",
]


def treebank() -> list[TreebankSentence]:
    """Eight short sentences."""
    sentences = []
    for number, text in enumerate(_SENTENCES):
        rows = [token.rsplit("/", 2) for token in text.split()]
        sentences.append(
            TreebankSentence(
                document_id=f"story_{number // 4}",
                tokens=[form for form, _, _ in rows],
                heads=[int(head) for _, head, _ in rows],
                deprels=[deprel for _, _, deprel in rows],
            )
        )
    return sentences


def write_conllu(sentences: list[TreebankSentence], path: Path) -> Path:
    """Writes the sentences as CoNLL-U and returns the path."""
    lines = []
    for sentence in sentences:
        lines.append(f"# newdoc id = {sentence.document_id}")
        rows = zip(sentence.tokens, sentence.heads, sentence.deprels, strict=True)
        lines += [
            f"{i}\t{form}\t_\t_\t_\t_\t{head}\t{deprel}\t_\t_"
            for i, (form, head, deprel) in enumerate(rows, start=1)
        ]
        lines.append("")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path
