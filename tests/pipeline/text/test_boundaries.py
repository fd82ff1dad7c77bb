"""Where sentences end, each rule on lines made for it; ``|`` stands where one ends."""

from __future__ import annotations

import pytest

from pipeline.text.boundaries import sentence_ranges
from pipeline.text.tokenization import EnglishTokenizer
from tests.support.growth import times_the_cost

LINES = r"""
# common cases
It rained. | We stayed in! | Did you?
No final mark
He said: “Go home.” | She went.
(It rained.) | We stayed.
Use a list, e.g. the one above, i.e. this one.
Apples, pears, etc. are fruit.
Apples, pears, etc. | They are fruit.
See Fig. 3 and vol. 2 for it.
The answer was no. | He left.
Cats vs. Dogs is a film.
The marks '.' and "!" and ('?') end sentences.
Is it (really?) so?
Wait... what is that?
He waited... | Nobody came.
Dr. Smith and J. Doe left the U.S. early.
Open os.path and io.BytesIO now. | mode is the mode.
It grew by 3.5 percent. | 'Good,' they said.
Everything!!! | Really?! | Yes.
Great 👍. | Next one 🙂!
he sat. | mary left in the sun. | and bob came.
He said 'yes.' | 'No,' she said.
# a marker stays with its item
1. Matter is what things are made of. | It has weight.
4.1.2. Limits of the method
IV. The fourth part
b. the second choice
A. The first choice is this. | B. The other is that.
Wash it. | 2. Dry it. | 3. Fold it.
(2. Dry it and wait.)
We need: 1. a lamp, 2) a rope.
Figure 2. A lamp and a rope.
Step 3. Fold the sheet. | Step 4. Wait.
He was the last of 12. | The others left.
The train left at 19:45. | Nobody was there.
# the mark of a footnote stays with what precedes
He was born there. [7] | Later he moved.
He was born there. [7] [8] [9] | Later he moved.
She said "yes." [12] | Nobody heard.
It is large. [citation needed] | It is also old.
It is large. [note 3] | It is also old.
They stayed. [...] | We left.
They stayed for days [3]. | We left.
They have rights. 4 | Even so they left.
See the note [1]. | [2] is better.
They sang. | [Laughter.] | We left.
They left. | 40 men stayed.
# more words are shortened
Ann (b. March 1950) and Bob (c. 1910 to 1980) came.
Ann (r. 1347–1354) ruled (see p. 4).
Call exec_module(). | Its job is done.
Our Assoc. Dean and Attn. Bob came on Tues. May 3.
Thanks. | P.S. It rains.
# a quoted question goes on with its speaker
“Who is it?” Ann asked. | Nobody knew.
"Stop!" I cried. | He did.
"Is it so?" | Bob was not sure.
"It is so." | King said nothing.
# without capitals a question ends
where is it? | is it far?
what did i do? | nobody knows! | i left
Where is it? is it far?
the macro println! is long.
Alas! how far it is.
i use Yahoo! mail and Yahoo! news.
# runs of marks
It was fun.. | We left.
It was fun...... | We left.
It was fun...|We left.
We...We left. | os...path stays.
They went . . . and came back.
They went . . . The rest stayed.
They went. . . . | The rest stayed.
(Is it so?). | Then yes.
(It is so. ) | Then yes.
# an emoticon stays with what precedes
I love it. :) | We came back.
I love it! :-) :-D | we came back.
I love it :) | We came back.
I love it :) and came back.
# the date of a mail is a line
Ann Lee | 08/16/2000 12:05 PM | Have you heard?
Ann Lee | 16/08/2000 18:20 | what is new?
Ann Lee on 08/16/2000 12:05:10 PM | Have you heard?
We met on 08/16/2000 12:05 PM at the gate.
The date 08/16/2000 is wrong.
# the closing of a mail is a line
Call me soon. | Best regards, | Ann Lee
Thanks, | Ann
Take care, | Ann Lee
Thanks, Ann.
Truly, I did not.
She sends her regards, Ann said.
Thanks, I will be there at noon.
Thanks, Amazon for the quick delivery.
Many thanks, Mr. Smith was kind enough to help.
Best, I think, is the last chapter.
Cheers, I loved it.
Thanks, Ann's here.
Thanks, | Ann The talk is at noon.
Sincerely, | Ann Lee 713 - 5553
Regards, | Ann Lee sent you a file.
Thanks, | Ann Lee Acme Power Source, Inc.
# lines end sentences
It is at http://a.example/b | Look there.
http://a.example/b | http://a.example/c
It is at http://a.example/b and there.
According to www.a.example President Obama spoke.
Visit http://a.example Microsoft paid for it.
See http://a.example | The site has more.
Website: http://a.example | Ann Lee
Ann | ============ | See below.
Ann | ------------ | See below.
Mr. ---- came -- and left.
Figure 1.5 | The map shows rivers.
Figure 1.5 shows rivers.
See Figure 1.5 The map shows rivers.
# a dash breaks speech off
You know that they — | That is not so.
And then we -- | Well, we left.
They said – yes – that I left.
And then I — I left.
She said that he — The man of the house — was gone.
You know that they — | That Ann — That is not so.
Taipei, Taiwan — The festival began.
# an abbreviation may end a sentence
Acme Inc. | He left early.
They met in the U.S. | She left.
It ends at 5 p.m. | The show began.
He moved to Washington, D.C. | The mayor left.
He has a Ph.D. | She did not.
He is Bob Jr. | He left.
It snowed in Dec. | But in Jan. it rained.
Plan A. | Plan B. done
They read Vitamin C. | Bob slept.
He left (for the U.S.). | Bob stayed.
Did they reach the U.S.? | Bob did.
It was by Smith et al. | Later work agrees.
# an abbreviation in a name does not end one
Capt. Kirk met Lt. Uhura.
We met Mr. He and Dr. So.
He studied at the Univ. of Texas.
The U.S. Senate met.
J. K. Rowling and J.R.R. Tolkien wrote.
Acme Corp. Chairman Bob spoke.
At 5 p.m. Eastern time it began.
Mail (a.k.a. Unix mail, e.g. The Inbox, ie. all of it) came.
They live in St. Louis, not on Mt. Rainier.
"""


@pytest.mark.parametrize("line", [line for line in LINES.splitlines() if line and line[0] != "#"])
def test_sentences_end_where_the_rules_say(line: str) -> None:
    (tokens,) = EnglishTokenizer().tokenize([line.replace(" | ", " ").replace("|", "")])
    ranges = sentence_ranges(tokens.words, tokens.spaces)
    assert "|".join("".join(tokens.words[a:b]) for a, b in ranges) == line.replace(" ", "")


def test_no_words_give_no_sentence() -> None:
    assert sentence_ranges([], []) == []


@pytest.mark.parametrize("pattern", ["ha !", "[ … ]", "— The", "Thanks , Ann", "( ."])
def test_the_longest_paragraph_costs_no_more_than_its_length(pattern: str) -> None:
    def split_paragraph(length: int) -> None:
        words = (". " + length * f"{pattern} ").split()
        sentence_ranges(words, [True] * len(words))

    assert times_the_cost(split_paragraph, 1_600, 16_000) < 30  # its square: 100
