"""The five checks of the paper's A.1, explained for reviewers: our words, our examples. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Guideline:
    """One check: what it asks, what passes, what fails, and an example of each."""

    definition: str
    passes: str
    fails: str
    passing_example: str
    failing_example: str


GUIDELINES: Mapping[str, Guideline] = {
    "task_clarity": Guideline(
        definition=(
            "It is plain what is to be written and what for. A request: no answer, editing remarks or "
            "fragment."
        ),
        passes=(
            "One reading is enough to know the product (a speech, a report, a story) and its purpose or "
            "reader. Loose wording passes as long as the task is plain."
        ),
        fails=(
            "The text is the written piece itself, says what was changed in it ('Here is the revised "
            "prompt'), or never comes to ask for anything."
        ),
        passing_example=(
            "Write the welcome speech for our town's first repair café. The guests have never been to one."
        ),
        failing_example=(
            "Dear neighbours, welcome to our first repair café! Tonight nothing has to be thrown away."
        ),
    ),
    "constraint_consistency": Guideline(
        definition=(
            "Same kind of task, about as hard. Demands on language, style, structure and length go together."
        ),
        passes=(
            "A letter stays a letter, a plan a plan; subject and setting may be others. Demands may "
            "change as long as they can all be met at once."
        ),
        fails=(
            "Another kind of text, a task that has become much easier or harder, or demands of which one "
            "rules out another."
        ),
        passing_example=("A 600-word product review of a kettle becomes a 650-word review of a rain jacket."),
        failing_example=("'In at most 100 words, compare all nine proposals and quote from each of them.'"),
    ),
    "contextual_coherence": Guideline(
        definition=(
            "Material, people, events and references fit together. Any passage that it speaks of is there."
        ),
        passes=(
            "Names, dates, places and roles stay the same from beginning to end, and what 'the text "
            "below' names really stands below."
        ),
        fails=(
            "It speaks of material that is not there, people change their names or parts, or what is "
            "supplied has nothing to do with what is asked."
        ),
        passing_example=(
            "'Shorten the notice below for the lift door.' The notice follows, eight lines of it."
        ),
        failing_example=("'Continue the story above in Mira's voice.' No story; later she is called Mina."),
    ),
    "substantive_variation": Guideline(
        definition=(
            "More than other words for the same thing: content or setting is new, the aim still a related "
            "one."
        ),
        passes=(
            "A reader of both would call them two tasks of one family: other subject, other situation, "
            "other supplied material."
        ),
        fails=(
            "Only synonyms or the order of sentences differ, the supplied passage was copied, or the new "
            "task has nothing in common with the old one."
        ),
        passing_example=(
            "From a farewell to a retiring nurse to a farewell to a ferry captain, with her own anecdotes."
        ),
        failing_example=(
            "From 'Write a farewell to a retiring nurse' to 'Compose a goodbye for a nurse who retires'."
        ),
    ),
    "usable_length": Guideline(
        definition=(
            "Readable and complete, with enough detail for its task. No repeated passages, no sudden end."
        ),
        passes=(
            "Everything can be read to the end, and a writer has what the task needs. Short is fine for a "
            "small task."
        ),
        fails=(
            "It breaks off, repeats itself, is garbled, or has lost so much of its source's detail that a "
            "writer would have to make it up."
        ),
        passing_example=("Half a page of background, three demands on the text, and a last full sentence."),
        failing_example=(
            "'The report should cover the budget, the timetable, the budget, the timetable, the'"
        ),
    ),
}
"""By check name, in the paper's order."""
