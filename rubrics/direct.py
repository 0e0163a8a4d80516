"""A whole rubric in one call: direct generation (B.4) and a trained generator (G.3).

Pure but for the injected chat.
"""

from __future__ import annotations

from llm.asking import ask
from llm.forms import WIDE
from llm.prompts import load_template
from llm.types import Chat, ChatRequest, SamplingParams, Structure, UnusableReplyError
from rubrics.construction import (
    PAPER_BOUNDS,
    AcceptanceBounds,
    MiningFailedError,
    MiningOutcome,
    MiningTrace,
    assemble_rubric,
)
from rubrics.recording import RecordingChat
from rubrics.rubric import NAME, SCOPE, Rubric, level_labels
from rubrics.rubric_reply import parse_rubric

_INITIALS = (
    ("A-Ea-e", "一-巿"),
    ("F-Jf-j", "帀-泿"),
    ("K-Ok-o", "洀-碿"),
    ("P-Tp-t", "磀-迿"),
    ("U-Zu-z", "退-鿿"),
)
_SIGN = r'[^\n\r|"\\]'
_TEXT = rf'([^\s|<"\\{WIDE}][^\n\r|"\\{WIDE}]{{11,27}}|[^\s|<"\\]{_SIGN}{{3,8}})'
_NAMES = tuple(
    rf'([{letters}][^\n\r|"\\{WIDE}]{{1,15}}|[{characters}]{_SIGN}{{1,5}})'
    for letters, characters in _INITIALS
)
_DIMENSIONS = tuple(
    rf'\{{"{NAME}": "{name}", "{SCOPE}": "{_TEXT}", '
    + ", ".join(f'"{label}": "{_TEXT}"' for label in level_labels(5))
    + r"\}"
    for name in _NAMES
)
RUBRIC_STRUCTURE = Structure(r"\[" + r",\n".join(_DIMENSIONS) + r"\]")
"""A form for constrained decoding, so that a small model ends its list in bounded space: 5 dimensions of 5
intervals, whose names begin with different letters. The numbers lie within what the prompts ask for; the
lengths and the beginnings are ours."""


async def draft_rubric(
    request_text: str,
    chat: Chat,
    sampling: SamplingParams,
    *,
    language: str = "en",
    bounds: AcceptanceBounds = PAPER_BOUNDS,
) -> MiningOutcome:
    """DRG: any model writes the complete rubric in one call, without IRG's separate stages (B.4)."""
    return await _in_one_call("drg", request_text, chat, sampling, language, bounds)


async def generate_rubric(
    request_text: str,
    chat: Chat,
    sampling: SamplingParams,
    *,
    language: str = "en",
    bounds: AcceptanceBounds = PAPER_BOUNDS,
) -> MiningOutcome:
    """RubricGen: the generator that was trained on this instruction writes the complete rubric (G.3)."""
    return await _in_one_call("rubricgen", request_text, chat, sampling, language, bounds)


async def _in_one_call(
    template_name: str,
    request_text: str,
    chat: Chat,
    sampling: SamplingParams,
    language: str,
    bounds: AcceptanceBounds,
) -> MiningOutcome:
    """Asks until a reply holds an acceptable rubric.

        request ─► one call ─► JSON list ─► first 8 dimensions ─► those with ≥ 4 intervals ─► rubric, if ≥ 3

    Raises MiningFailedError when `chat.max_asks` replies held none; what the last one held is in its trace.
    """
    template = load_template("rubrics", template_name, 1, language=language)
    question = ChatRequest(
        messages=template.render(query=request_text),
        template=template.identity,
        sampling=sampling,
        structure=RUBRIC_STRUCTURE,
    )
    recording = RecordingChat(chat)
    held = MiningTrace()

    def read(text: str) -> Rubric:
        nonlocal held
        held = MiningTrace()
        held = MiningTrace(specifications=tuple(parse_rubric(text, bounds)))
        return assemble_rubric(held, bounds)

    try:
        rubric, _ = await ask(recording, question, read)
    except UnusableReplyError as error:
        raise MiningFailedError(str(error), _with_keys(held, recording)) from error
    return MiningOutcome(rubric, _with_keys(held, recording))


def _with_keys(trace: MiningTrace, recording: RecordingChat) -> MiningTrace:
    return MiningTrace(specifications=trace.specifications, completion_keys=recording.keys)
