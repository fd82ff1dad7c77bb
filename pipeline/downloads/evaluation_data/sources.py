"""The one declaration of SentEval's data: addresses, sha256, licences, files.

Nothing here is guessed. The sha256 of a file is that in a copy of SentEval's folder (MRPC's two are
confirmed by a public catalogue of data sets). Where none is known, the set is taken only for a user
who accepts it unverified (``--accept-unverified``): CR, SST5, STS15, STS-B and the ten probing
files. All but the probing files come from one archive, SentEval's folder as others publish it.
"""

from __future__ import annotations

from pipeline.base.mistakes import did_you_mean
from pipeline.downloads.evaluation_data.manifest import DataFile, Dataset, Download

FINISHED = Download(
    "senteval.tar",
    (
        "https://huggingface.co/datasets/princeton-nlp/datasets-for-simcse/resolve/main/"
        "senteval.tar",
    ),
)
"""SentEval's ``downstream`` folder as its script left it, as SimCSE (Gao et al. 2021) has it."""
_PROBING_ADDRESSES = tuple(
    f"https://raw.githubusercontent.com/facebookresearch/SentEval/{branch}/data"
    for branch in ("main", "master")
)

_FILE_TABLE = """
MR downstream/MR/{}
rt-polarity.pos 5331 34e5b0da2d491e46b700b00afe735aaae0962bcfe4f7f22b2d8077e714fa370f
rt-polarity.neg 5331 c4ac36eaa8adc8ee31c31f69594bfbe68d83ef5b6db53f1f19b28c0be52f3999

CR downstream/CR/{}
custrev.pos custrev.neg - -

SUBJ downstream/SUBJ/{}
subj.subjective 5000 274c2ffe59c204dc4df779848561786f59a98cc20dda3cfdd7d9f76a4f730710
subj.objective 5000 d8ccd43f1674f1c17e4ab717564e3561cfb719b0db4cfb19e5677427c68ff8a1

MPQA downstream/MPQA/{}
mpqa.pos 3312 7487dbb74c77383e60b292845495163a9e21fb70a4fdacdda933413e43163f0d
mpqa.neg 7294 8da6e035fa4cea02f0555091096b29a6b3995ff0adf41fad25008dcee066b79e

SST2 downstream/SST/binary/sentiment-{}
train 67349 10a92a297ec38e262386e5a2713b4bc70e5d18ced88b7f54bd171a26e5b34ab5
dev 872 9a6c7403b71a9b762158387afe4431253ae10cdfb2319b5275289f3766f48291
test 1821 4fefd1cd67526cf87ebc7fafc3afc21cc7cfa6ae53b45e74f77f9456e3c62752

SST5 downstream/SST/fine/sentiment-{}
train 8544 -
dev 1101 -
test 2210 -

TREC downstream/TREC/{}
train_5500.label 5452 8bd6e79493f43bbd22c364587366a1dced54e1e31259eaa92721a0f526031116
TREC_10.label 500 86ad53c8fc9d397ab2f4be7c967d8efb470b260140557d3e57afad69d1b88b76

MRPC downstream/MRPC/{}
msr_paraphrase_train.txt 4077 60a9b09084528f0673eedee2b69cb941920f0b8cd0eeccefc464a98768457f89
msr_paraphrase_test.txt 1726 a04e271090879aaba6423d65b94950c089298587d9c084bf9cd7439bd785f784

SICK downstream/SICK/SICK_{}.txt
train 4501 e02bd30f17ab87358f80ef079a6ef797acd244c3c7515de454301c7c257e410c
trial 501 0d0786bd8671a0a70614f2f890b8ab24b3c24d1ccb624bcca87618091fbe4f11
test_annotated 4928 8aae798947b2247b1bbe31c43a5c22b5be3bf4774f4b027013e9dae788fd1c00

STS12 downstream/STS/STS12-en-test/STS.{}.txt
input.MSRpar 750 21c0c6cc32f68f69d672dfae0f86935cdc2627bae4941381692941aa9320f8c4
gs.MSRpar 750 5526be59228bc34ccb3cb6f1f56c0d7278d3419b8886713ae016fd92b151f19c
input.MSRvid 750 c4a92a3645744f77d1cda9f2af7da5d11e807ae296f6a20fe5930403fb9c4dfe
gs.MSRvid 750 9c6096c6bcfb0144c8bbddb00900ca9198c88498630cd0c8f08d18365f1d7150
input.SMTeuroparl 459 05acf33c0fcb592347f49e279137a17e0244d7b0d37cc113134320a5d3f586e1
gs.SMTeuroparl 459 708530c4d006d06881f3289fce35d624d7efe562dcf0fe5f8aa0eec3a135f6d4
input.surprise.OnWN 750 e605c67de4b7cee2c5629239d209e2845920f475ebd0468bdcf03d8da2ffa9cf
gs.surprise.OnWN 750 088d8ca22c0aa406e4a5d2e6e308a4f38b482b8e736c2445a38ffb6e4c4fb4fd
input.surprise.SMTnews 399 cc4a0b9a1355c5680a8a37c02f2d08e35f95754b9f89a2a4a05088ee5ff57ffe
gs.surprise.SMTnews 399 aa6dfc868db333c43dc59be14d46fa6587c7ebddc0d497e717f647bf35121cf1

STS13 downstream/STS/STS13-en-test/STS.{}.txt
input.FNWN 189 a20cb41a33a528f3c089c94ef24da8eb5e26ed594937cf6fa90f3d1c79d6c53c
gs.FNWN 189 8ca95b7228119578e2007839cf7969f22c4f1fd41fd610c4b7f9683072d98066
input.headlines 750 637f3b4afdc8d1cc789e91a4d7217efff30e503c34a872d93e8b27e7b1136cb7
gs.headlines 750 f49f64089011436dd296ef384c07160219406feef7dc4b9fa2af52a519f32bc6
input.OnWN 561 cb74993eef23cfa2c03da7e5a08c62e50c9baafae0fa9ba0bb5a09d8e7d2be65
gs.OnWN 561 0cd497aaddb00a2fb6db25f77bccfc09e8aa012e11549b81b434bab1a27ad954

STS14 downstream/STS/STS14-en-test/STS.{}.txt
input.deft-forum 450 b39579e59c7b9f4063545c3d4643f8db16dc060cd0a35447ef56ff0aabec9d83
gs.deft-forum 450 ba6dc76696b5c93985590a325b4d142449932cdf0d715b2bab1b1743fe3c488c
input.deft-news 300 cc450dcd9228211c1a311de1ff28199f166dce6f7fc81dcb5ce968a3a8a80d2d
gs.deft-news 300 105c5b333abd50c274efb4dae9e3e0dab36ed63eee780cfb49955b1586bd62f2
input.headlines 750 2ed0ea55d196cdbb440ed428eb1846dcb43486a692aafb22b3bc5c14c44407c8
gs.headlines 750 f243c34647255cd0b994565ed4f58dd31506e7d9c9d6250d1a6dd14095625832
input.OnWN 750 8cd2333328d17e3212afa2d43dd934c5521e3fd35fc786b992dc7864f9d34f8f
gs.OnWN 750 1c80147df270ea4cfce14a47ed29f8a2f10d5dc016d02836077fd786ff7f535b
input.images 750 295fc99f8a9215c330b36a08bc1ff3e428f10057be5bb915262111494b3616e2
gs.images 750 fc994ebacc7074c332626fa9e29542d7340a48a3cdb999b47cdb59c378523a62
input.tweet-news 750 b25b3768762aa7cdcd89f2a25ce5049de7e4cd51b138227c3a31092ae8e2b5f5
gs.tweet-news 750 0098c644bfeaa2d511a8297b1940771865900c372c9dd49a62726dc5ec02c9a3

STS15 downstream/STS/STS15-en-test/STS.{}.txt
input.answers-forums gs.answers-forums 2000 -
input.answers-students gs.answers-students 1500 -
input.belief gs.belief 2000 -
input.headlines gs.headlines 1500 -
input.images gs.images 1500 -

STS16 downstream/STS/STS16-en-test/STS.{}.txt
input.answer-answer 1572 ebbffced7d4630755e61d4dfe4d82121198965a14b9f5734b5abedb961f0725c
gs.answer-answer 1572 332efd741b0cb247d20dd2a6cec854360c921c7e6b395f328f562d8d26057214
input.headlines 1498 705c3e82fb85fa3b6706a481b790e1030304ddc9c72d39e126693ed44b258ba6
gs.headlines 1498 01e33a95996201a6e81e3cce9eda0f15048b77613ea64dce2929bb35479f7d85
input.plagiarism 1271 dd4ca54d1dfcd7d1cabe67f0de98cde23f4c1696ecc0003afbecae1274305d63
gs.plagiarism 1271 29984944a91aaff484f2b2e5d4d434fc8a6f5ef6f578a880cccd2786f5142fdc
input.postediting 3287 9b455d8da1d1bae692d038da1d431827d23bfec04c64b109efc3b6b620fd422f
gs.postediting 3287 81947ed9dbe7f85b7bd249df68ed5c7b2f16f06390ad568eb5554b1e26bc5577
input.question-question 1555 58920c7da7dbc1b860609310782d88b7457d599c90a226819b5880262dd7f58a
gs.question-question 1555 cf9ebf9d140191f73620cda0560947ad9283c910735d0d541b8a401a5e64afb0

STSBenchmark downstream/STS/STSBenchmark/sts-{}.csv
train 5749 -
dev 1500 -
test 1379 -

probing probing/{}.txt
sentence_length word_content tree_depth top_constituents bigram_shift - -
past_present subj_number obj_number odd_man_out coordination_inversion - -
"""
"""A block a set: its name and its files' place, then a file a line, or several of which as much is
known: what stands for ``{}``, the number of lines, the sha256 of the file that SentEval's script
makes (from a copy of its folder)."""


def _download_of(path: str) -> tuple[Download, str]:
    """Returns where a file comes from, and the archive's member that it is, if any."""
    if path.startswith("probing/"):
        addresses = tuple(f"{address}/{path}" for address in _PROBING_ADDRESSES)
        return Download(path.rpartition("/")[2], addresses), ""
    return FINISHED, path.removeprefix("downstream/")


def _read_table(table: str) -> dict[str, dict[str, DataFile]]:
    """Returns the files of each set, by what stands for ``{}`` in their place."""
    files: dict[str, dict[str, DataFile]] = {}
    for block in table.strip().split("\n\n"):
        (name, place), *rows = (line.split() for line in block.splitlines())
        files[name] = {
            key: DataFile(
                place.format(key),
                *_download_of(place.format(key)),
                None if num_lines == "-" else int(num_lines),
                None if sha256 == "-" else sha256,
            )
            for *keys, num_lines, sha256 in rows
            for key in keys
        }
    return files


_FILES = _read_table(_FILE_TABLE)
_NO_LICENCE = "none stated by its authors; for research"
_SHARED_TASK = "see the readme of the archive that its authors publish"
_PROBING_LICENCE = "BSD with SentEval; the sentences are from the Toronto BookCorpus"
_LICENCES = {
    **dict.fromkeys(("MR", "CR", "SUBJ", "MPQA", "SST2", "SST5", "TREC"), _NO_LICENCE),
    "MRPC": "Microsoft Research licence, non-commercial",
    "SICK": "CC BY-NC-SA 3.0",
    **dict.fromkeys(("STS12", "STS13", "STS14", "STS15", "STS16", "STSBenchmark"), _SHARED_TASK),
}

SENTEVAL_SETS: tuple[Dataset, ...] = (
    *(Dataset(name, licence, tuple(_FILES[name].values())) for name, licence in _LICENCES.items()),
    *(Dataset(name, _PROBING_LICENCE, (file,)) for name, file in _FILES["probing"].items()),
)


def datasets_named(names: str) -> tuple[Dataset, ...]:
    """Returns the sets of a comma-separated list, or those of ``all``, in the declaration's order.

    Raises:
        ValueError: a name is unknown; the message lists the known ones.
    """
    wanted = {name.strip().lower() for name in names.split(",") if name.strip()}
    known = {dataset.name.lower(): dataset for dataset in SENTEVAL_SETS}
    unknown = sorted(wanted - set(known) - {"all"})
    if unknown or not wanted:
        listed = ", ".join(dataset.name for dataset in SENTEVAL_SETS)
        meant = did_you_mean(*unknown, known=[dataset.name for dataset in SENTEVAL_SETS])
        raise ValueError(f"datasets is {names!r}{meant}; give 'all' or some of {listed}")
    return tuple(known[name] for name in known if "all" in wanted or name in wanted)
