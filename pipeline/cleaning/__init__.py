"""Cleaning of a corpus: small steps between its source and the splitter, each of them on request.

In: documents of paragraphs. Out: the same documents, in which a step has changed a paragraph or
left a refusal in its place. Steps that look at one paragraph stand in `characters`, `boilerplate`,
`shape` and `language`. Duplicates are found over the whole corpus first: `sign_parts` writes the
`signatures` of each part, `find_duplicates` decides from them which paragraphs go.
"""
