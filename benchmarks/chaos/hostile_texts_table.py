"""160 hostile texts, a line each: what it is, its file's name, its bytes, and what must become of it.

What must become of it: the sentences kept, and the reasons of those refused, as ``2 undecodable``.
Every plain text ends in a paragraph of its own, the witness, which must be kept unless the file as
a whole is refused: what is hostile costs itself and nothing behind it. All texts are made here.
"""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field

import zstandard

WITNESS = "The witness came home safely."


@dataclass(frozen=True, slots=True)
class HostileText:
    """One line of the table."""

    what: str
    name: str
    content: bytes
    kept: int
    refused: tuple[str, ...] = ()
    settings: Mapping[str, str] = field(default_factory=dict)


def _text(what: str, hostile: str | bytes, outcome: str, **settings: str) -> HostileText:
    """Returns a plain text: the hostile paragraph, then the witness."""
    code = settings.get("encoding", "utf-8")
    start = hostile if isinstance(hostile, bytes) else hostile.encode(code, "surrogatepass")
    end = f"\n\n{WITNESS}\n".encode(code.replace("utf-16", "utf-16-le"))
    return _file(what, "text.txt", start + end, outcome, **settings)


def _lines(what: str, line: str | bytes, outcome: str, **settings: str) -> HostileText:
    """Returns JSON lines: the hostile one, then the witness."""
    start = line if isinstance(line, bytes) else line.encode("utf-8", "surrogatepass")
    end = json.dumps({settings.get("text_field", "text"): WITNESS}).encode()
    return _file(what, "text.jsonl", start + b"\n" + end + b"\n", outcome, **settings)


def _file(what: str, name: str, content: bytes, outcome: str, **settings: str) -> HostileText:
    kept, *refused = outcome.split()
    return HostileText(what, name, content, int(kept), tuple(refused), settings)


_PLAIN = f"A quiet line.\n\n{WITNESS}\n".encode()
_LONG = b"".join(b"Line %d is here.\n\n" % number for number in range(400))
_COUNTED = "one two three four five six seven eight nine ten "


def _half(content: bytes) -> bytes:
    return content[: len(content) // 2]


def _wide_xz() -> bytes:
    """Returns an .lzma file whose header asks for a dictionary of 4 GiB."""
    packed = bytearray(lzma.compress(_PLAIN, format=lzma.FORMAT_ALONE))
    packed[1:5] = struct.pack("<I", 0xFFFFFFFF)
    return bytes(packed)


# fmt: off
# ruff: noqa: E501
TEXTS: tuple[HostileText, ...] = (
    # bytes
    _file("an empty file", "text.txt", b"", "0 empty_file"),
    _file("line ends alone", "text.txt", b"\n\r\n\r\n\n", "0 empty_file"),
    _file("white space alone", "text.txt", b" \t \n \x0b\x0c\n", "0 empty_file"),
    _file("a zero byte first", "text.txt", b"\0" + _PLAIN, "0 binary_file"),
    _file("a zero byte at the end of what is probed", "text.txt", b"a " * 4000 + b"\0" + _PLAIN, "0 binary_file"),
    _text("a zero byte far behind", "Plain words. " * 700 + "And a\0b.", "702"),
    _file("a picture", "text.txt", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(range(256)), "0 binary_file"),
    _file("a program", "text.txt", b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0" + bytes(64), "0 binary_file"),
    _file("an archive", "text.txt", b"PK\x03\x04\x14\0\0\0\x08\0" + bytes(40), "0 binary_file"),
    _file("a pickle", "text.txt", b"\x80\x04\x95\x1a\0\0\0\0\0\0\0\x8c\x05posix\x94\x8c\x06system\x94\x93\x94.", "0 binary_file"),
    _text("a lone byte 0xFF", b"A \xff here.", "1 undecodable"),
    _text("a lone continuation byte", b"A \x80 here.", "1 undecodable"),
    _text("an overlong slash", b"A \xc0\xaf here.", "1 undecodable"),
    _text("a surrogate half in UTF-8", b"A \xed\xa0\x80 here.", "1 undecodable"),
    _text("a pair of surrogates in UTF-8", b"A \xed\xa0\xbd\xed\xb8\x80 here.", "1 undecodable"),
    _text("a sequence of five bytes", b"A \xf8\x88\x80\x80\x80 here.", "1 undecodable"),
    _text("a character above the last", b"A \xf4\x90\x80\x80 here.", "1 undecodable"),
    _text("a sequence cut by the line's end", b"A \xe2\x82", "1 undecodable"),
    _file("a sequence cut by the file's end", "text.txt", _PLAIN + b"A \xe2\x82", "2 undecodable"),
    _text("Latin 1", "Le café est là.".encode("latin-1"), "1 undecodable"),
    _text("quotes of Windows", b"He said \x93no\x94.", "1 undecodable"),
    _text("Shift JIS", "日本語です。".encode("shift-jis"), "1 undecodable"),
    _text("UTF-7", b"A +AGE- here.", "2"),
    _text("a byte order mark", b"\xef\xbb\xbfA plain line.", "2"),
    _text("two byte order marks", b"\xef\xbb\xbf\xef\xbb\xbfA plain line.", "2"),
    _text("a mark of UTF-16 before ASCII", b"\xff\xfeA plain line.", "1 undecodable"),
    _file("UTF-16 that nobody announced", "text.txt", _PLAIN.decode().encode("utf-16"), "0 binary_file"),
    _file("UTF-32 that nobody announced", "text.txt", _PLAIN.decode().encode("utf-32"), "0 binary_file"),
    _text("UTF-16 as announced", "A plain line.", "2", encoding="utf-16"),
    _file("UTF-16 cut within a character", "text.txt", (_PLAIN.decode() + "ab").encode("utf-16")[:-1], "2 damaged_file", encoding="utf-16"),
    _text("Latin 1 as announced", "Le café est là.", "2", encoding="latin-1"),
    # characters
    _text("escape sequences of a terminal", "A \x1b[31mred\x1b[0m \x1b]0;title\x07 line.", "2"),
    _text("backspaces over a word", "A goo\x08\x08\x08bad line.", "2"),
    _text("carriage returns that end lines", "One line.\rAnother line.\r\rA third line.", "4"),
    _text("form feeds and vertical tabs", "A line\x0cwith\x0bbreaks.", "2"),
    _text("next line, line and paragraph separators", "A line\x85with\u2028odd\u2029breaks.", "2"),
    _text("all controls of ASCII", "A " + "".join(map(chr, range(1, 32))).replace("\n", "").replace("\r", "") + "line.", "2"),
    _text("delete and the controls of Latin 1", "A \x7f\x80\x9b\x9f line.", "2"),
    _text("overrides of direction", "A \u202egnp.exe\u202c line.", "2"),
    _text("isolates of direction", "A \u2066if (x)\u2069 line.", "2"),
    _text("a thousand embeddings of direction", "A " + "\u202b" * 1000 + "line.", "2"),
    _text("zero-width spaces within a word", "A pass\u200bword line.", "2"),
    _text("soft hyphens", "A hy\u00adphen\u00adated line.", "2"),
    _text("word joiners and marks", "A word\u2060\ufeffjoined line.", "2"),
    _text("tags that nobody sees", "A line" + "".join(chr(0xE0000 + ord(c)) for c in "hidden") + ".", "2"),
    _text("replacement characters", "A \ufffd\ufffd line.", "2"),
    _text("annotation marks", "A \ufff9base\ufffaruby\ufffb line.", "2"),
    _text("characters that are none", "A \ufffe\uffff\U0010ffff line.", "2"),
    _text("private use", "A \ue000\uf8ff line.", "2"),
    _text("a hundred accents on a letter", "A z" + "\u0301" * 100 + "algo line.", "2"),
    _text("a thousand accents on a letter", "A z" + "\u0301" * 1000 + "algo line.", "1 long_token"),
    _text("joined emoji", "A \U0001f469\u200d\U0001f469\u200d\U0001f467 line \U0001f1e9\U0001f1ea.", "2"),
    _text("variation selectors", "A line\ufe0f\U000e0100.", "2"),
    _text("spaces of all kinds", "A\u00a0line\u1680with\u2003odd\u3000spaces.", "2"),
    _text("letters of mathematics", "A 𝐛𝐨𝐥𝐝 𝔣𝔯𝔞𝔨𝔱𝔲𝔯 line.", "2"),
    _text("full width", "Ａ ｆｕｌｌ ｌｉｎｅ.", "2"),
    _text("look-alikes", "A pаypаl line.", "2"),
    _text("undone composition", "A cafe\u0301 line.", "2"),
    _text("Turkish, German and Greek cases", "İstanbul ıslak STRAẞE ΣΑΣ ς.", "2"),
    _text("Hangul in pieces", "A \u1112\u1161\u11ab line.", "2"),
    _text("Chinese without a space", "天地玄黃宇宙洪荒" * 5 + "。", "2"),
    _text("Thai without a space", "ภาษาไทยไม่มีช่องว่าง.", "2"),
    _text("Arabic and Hebrew", "مرحبا شلום עולם.", "2"),
    _text("Devanagari with conjuncts", "क्षत्रिय ज्ञान.", "2"),
    # lengths
    _text("a word of 200 letters", "A " + "a" * 200 + " line.", "2"),
    _text("a word of 201 letters", "A " + "a" * 201 + " line.", "1 long_token"),
    _text("a word of 90,000 letters", "a" * 90_000, "1 long_token"),
    _text("100 words", _COUNTED * 9 + "one two three four five six seven eight nine.", "2"),
    _text("101 words", _COUNTED * 10 + "one.", "1 too_long"),
    _text("18,000 words without an end", "word " * 18_000, "1 too_long"),
    _text("a line longer than is held", "word " * 40_000, "1 giant_line"),
    _text("a paragraph longer than is held", "Some words.\n" * 20_000, "1 giant_paragraph"),
    _text("500 sentences in a paragraph", "Go on. " * 500, "501"),
    _text("one letter", "a", "2"),
    _text("90,000 opening brackets", "(" * 90_000, "1 long_token"),
    _text("brackets with spaces", "( " * 60 + "a" + " )" * 30, "2"),
    _text("90,000 periods", "." * 90_000, "1 long_token"),
    _text("90,000 quotes", '"' * 90_000, "1 long_token"),
    _text("90,000 hyphens", "-" * 90_000, "1 long_token"),
    _text("90,000 marks of all kinds", "([{<'\"`.,;:!?-_" * 6_000, "1 long_token"),
    _text("300 brackets and a word", "(" * 290 + "a", "1 too_long"),
    _text("digits alone", "1234 5678 90", "1 no_letters"),
    _text("marks alone", "?!?! ... *** ---", "1 no_letters"),
    _text("emoji alone", "\U0001f600 \U0001f680 \U0001f525", "1 no_letters"),
    _text("accents alone", "\u0301 \u0302 \u0303", "1 no_letters"),
    _text("controls alone", "\x01\x02\x03\x04", "1 empty"),
    _text("zero-width spaces alone", "\u200b\u200b\u200b", "1 empty"),
    _text("2,000 empty paragraphs", "\n\n\x01" * 2_000, "1 " + "empty " * 2_000),
    # words that mean something to a program
    _text("a script", "A <script>alert(1)</script> line.", "2"),
    _text("a comment of HTML", "A <!-- hidden --> line.", "2"),
    _text("entities", "A &lt;b&gt; &#x41; &amp; line.", "2"),
    _text("entities that swell", '<!ENTITY a "b"> A &a;&a;&a; line.', "2"),
    _text("a heading and a fence", "# Not a heading\n```\nA line.\n```", "2 no_letters"),
    _text("a link", "A [link](javascript:alert) line.", "2"),
    _text("brackets of treebanks", "A -LRB- -RRB- -LCB- *T*-1 line.", "2"),
    _text("trees", "(S (NP (DT A)) (VP (VB line))).", "2"),
    _text("special words of tokenizers", "A [CLS] [MASK] [SEP] <unk> <pad> <s> </s> line.", "2"),
    _text("special words of parsers", "A <bos> <eos> ROOT nul UNK <ROOT> line.", "2"),
    _text("the first characters that benepar keeps", "A \x01\x02\x03\x04\x05 line.", "2"),
    _text("columns of CoNLL-U", "1\tA\ta\tDET\t_\t_\t2\tdet\t_\t_", "2"),
    _text("a comment of CoNLL-U", "# sent_id = 1 of the text", "2"),
    _text("forms of printf", "A %s %n %x %d line.", "2"),
    _text("forms of str.format", "A {0} {} {x!r} {{y}} line.", "2"),
    _text("a shell's words", "A $(reboot) `reboot` ; reboot | cat line.", "2"),
    _text("a look-up of Java", "A ${jndi:ldap://127.0.0.1/a} line.", "2"),
    _text("a template", "A {{ 7 * 7 }} {% raw %} line.", "2"),
    _text("SQL", "A '; DROP TABLE corpora; -- line.", "2"),
    _text("a formula of spreadsheets", "=cmd|' /C calc'!A0 is a line.", "2"),
    _text("paths upwards", "A ../../../etc/passwd line.", "2"),
    _text("Python", "A __import__('os').system('true') line.", "2"),
    _text("words for nothing", "None null NaN nil undefined.", "2"),
    _text("backslashes at the end", "A line \\\\\\", "2"),
    _text("a password", "A http://user:pass@host/?token=abc line.", "2"),
    _text("every line a paragraph", "One line\nAnother line", "3", paragraphs="line"),
    # JSON lines
    _lines("a line cut off", '{"text": "A li', "1 bad_json"),
    _lines("a comma too many", '{"text": "A line.",}', "1 bad_json"),
    _lines("two objects on a line", '{"text": "A line."} {"text": "B."}', "1 bad_json"),
    _lines("no JSON", "A plain line.", "1 bad_json"),
    _lines("a hundred thousand brackets", "[" * 100_000, "1 bad_json"),
    _lines("a hundred thousand objects deep", '{"a":' * 100_000, "1 bad_json"),
    _lines("a number of 5,000 digits", '{"text": "A line.", "n": ' + "1" * 5_000 + "}", "1 bad_json"),
    _lines("a number without an end", '{"text": "A line.", "n": 1e999999, "m": NaN}', "2"),
    _lines("a list", '["text", "A line."]', "1 missing_text"),
    _lines("a string", '"text"', "1 missing_text"),
    _lines("nothing", "null", "1 missing_text"),
    _lines("another field", '{"body": "A line."}', "1 missing_text"),
    _lines("the field that was named", '{"body": "A line."}', "2", text_field="body"),
    _lines("text that is a number", '{"text": 3}', "1 missing_text"),
    _lines("text that is a list", '{"text": ["A line."]}', "1 missing_text"),
    _lines("text without a character", '{"text": " \\n\\t "}', "1 empty_text"),
    _lines("a field twice", '{"text": "The first.", "text": "The second."}', "2"),
    _lines("half a surrogate", '{"text": "A \\ud800 line."}', "2"),
    _lines("a zero character", '{"text": "A\\u0000 line."}', "2"),
    _lines("paragraphs in the text", '{"text": "One line.\\n\\nAnother line."}', "3"),
    _lines("a giant paragraph in the text", json.dumps({"text": "Some words. " * 10_000}), "1 giant_paragraph"),
    _lines("a byte order mark within", b'\xef\xbb\xbf\n\xef\xbb\xbf{"text": "A line."}', "1 bad_json"),
    _lines("bytes that are not UTF-8", b'{"text": "A \xff line."}', "1 undecodable"),
    _lines("blank lines between", '{"text": "A line."}\n\n \n', "2"),
    # compression
    _file("gzip cut in half", "text.txt.gz", _half(gzip.compress(_LONG)), "-1 damaged_file"),
    _file("gzip with a wrong checksum", "text.txt.gz", gzip.compress(_PLAIN)[:-8] + bytes(8), "0 damaged_file"),
    _file("gzip with something behind it", "text.txt.gz", gzip.compress(_PLAIN) + b"rubbish", "0 damaged_file"),
    _file("an empty file that is called gzip", "text.txt.gz", b"", "0 empty_file"),
    _file("plain text that is called gzip", "text.txt.gz", _PLAIN, "0 damaged_file"),
    _file("gzip in gzip", "text.txt.gz", gzip.compress(gzip.compress(_PLAIN, mtime=0)), "0 binary_file"),
    _file("gzip of 64 MB of one letter", "text.txt.gz", gzip.compress(b"a" * (64 << 20), 1), "0 giant_line"),
    _file("gzip of 64 MB of zeros", "text.txt.gz", gzip.compress(bytes(64 << 20), 1), "0 binary_file"),
    _file("bzip2 cut in half", "text.txt.bz2", _half(bz2.compress(_LONG)), "-1 damaged_file"),
    _file("bzip2 with a flipped byte", "text.txt.bz2", bz2.compress(_PLAIN)[:-9] + b"\x55" + bz2.compress(_PLAIN)[-8:], "-1 damaged_file"),
    _file("xz cut in half", "text.txt.xz", _half(lzma.compress(_LONG)), "-1 damaged_file"),
    _file("xz that asks for 4 GiB of memory", "text.txt.xz", _wide_xz(), "-1"),
    _file("zstd cut in half", "text.txt.zst", _half(zstandard.compress(_LONG)), "-1 damaged_file"),
    _file("zstd of 64 MB of one letter", "text.txt.zst", zstandard.compress(b"a" * (64 << 20)), "0 giant_line"),
    _file("several gzip members", "text.txt.gz", gzip.compress(b"A quiet ") + gzip.compress(b"line.\n"), "1"),
    # names
    _file("a line end in the name", "two\nlines.txt", _PLAIN, "2"),
    _file("an escape in the name", "red\x1b[31m.txt", _PLAIN, "2"),
    _file("a tag in the name", "<script>.txt", _PLAIN, "2"),
    _file("bytes that are not UTF-8 in the name", "caf\udce9.txt", _PLAIN, "2"),
    _file("a name like an option", "--version.txt", _PLAIN, "2"),
    _file("a name like a pattern", "[a-z]*?.txt", _PLAIN, "2"),
    _file("a name of 255 bytes", "n" * 251 + ".txt", _PLAIN, "2"),
)
