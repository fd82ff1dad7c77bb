"""The steps one after the other, over the documents of one part of a corpus.

Their order: characters, boilerplate, shape, duplicates, language. Characters come first, as all
others read them; language last, of what is left, as it costs most. Each reads what the one before
it left, so cleaning what is clean changes nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

from pipeline.base.refusal import Refusal, excerpt_of
from pipeline.cleaning.boilerplate import boilerplate_in
from pipeline.cleaning.characters import normalised, without_mojibake
from pipeline.cleaning.config import CleaningConfig
from pipeline.cleaning.language import language_check
from pipeline.cleaning.shape import refused_shape
from pipeline.sources.paragraphs import Document, Paragraph

Content = Paragraph | Refusal


def clean_documents(
    documents: Iterable[Document],
    config: CleaningConfig,
    duplicates: Mapping[int, Refusal] | None = None,
    changed: Counter[str] | None = None,
) -> Iterator[Document]:
    """Yields the documents of one part, cleaned; each is read before the next is asked for.

    Args:
        documents: of the part, whole and in order, as `Plan.documents` yields them.
        duplicates: what is refused for what else is in the corpus, by its number among the part's
            paragraphs and refusals: `decisions.Duplicates.of`. Must be given where
            ``config.needs_corpus``.
        changed: counts the paragraphs that were changed, by what was done, each as it is read.

    Raises:
        ModuleNotFoundError: a step needs a library that is not installed; names the remedy.
        ValueError: a language that is not known, or duplicates that were not looked for.
    """
    if duplicates is None and config.needs_corpus:
        raise ValueError(
            "duplicates and repeated lines are found over the whole corpus: sign its parts and "
            "find them first (pipeline.cleaning.find_duplicates), or set duplicates=none and "
            "repeated_in=0"
        )
    check = None
    if config.language:
        check = language_check(config.language, config.min_language_probability)
    return _cleaned(clean_alone(documents, config, changed), duplicates or {}, check)


def clean_alone(
    documents: Iterable[Document], config: CleaningConfig, changed: Counter[str] | None = None
) -> Iterator[Document]:
    """Yields documents after the steps that look at one paragraph and come before duplicates."""
    counts = Counter[str]() if changed is None else changed
    for document in documents:
        paragraphs = (_clean_alone(content, config, counts) for content in document.paragraphs)
        yield replace(document, paragraphs=paragraphs)


def _clean_alone(content: Content, config: CleaningConfig, changed: Counter[str]) -> Content:
    if isinstance(content, Refusal):
        return content
    text = content.text
    if config.mojibake and (reread := without_mojibake(text)) != text:
        changed["mojibake"] += 1
        text = reread
    form = config.normalisation
    if form != "none" and (formed := normalised(text, form)) != text:
        changed["normalised"] += 1
        text = formed
    words = text.split()
    if config.boilerplate and (reason := boilerplate_in(text, len(words))):
        return refused(Refusal(reason, "a line of a page and no text (boilerplate)"), content)
    if words and (refusal := refused_shape(text, words, config)):
        return refused(refusal, content)
    return content if text is content.text else Paragraph(text, content.position)


def _cleaned(
    documents: Iterable[Document],
    duplicates: Mapping[int, Refusal],
    check: Callable[[str], Refusal | None] | None,
) -> Iterator[Document]:
    begun = 0

    def counted(contents: Iterable[Content]) -> Iterator[Content]:
        nonlocal begun
        for content in contents:
            refusal = duplicates.get(begun)
            begun += 1
            if isinstance(content, Paragraph):
                if refusal is None and check is not None:
                    refusal = check(content.text)
                if refusal is not None:
                    yield refused(refusal, content)
                    continue
            yield content

    for document in documents:
        yield replace(document, paragraphs=counted(document.paragraphs))


def refused(refusal: Refusal, paragraph: Paragraph) -> Refusal:
    """Returns a refusal that stands in a paragraph's place."""
    excerpt = excerpt_of(paragraph.text)
    return replace(refusal, position=paragraph.position, excerpt=excerpt)
