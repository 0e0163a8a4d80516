"""The editor of rubrics, without a script: every button keeps what was typed, and saving makes a new row."""

from __future__ import annotations

import html
import json
import re
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from llm.models import AuditEntry
from rubrics.models import Rubric
from rubrics.rubric import Rubric as RubricValue
from rubrics.versions import save_version
from tests.samples import CHINESE, HOSTILE, corpus_prompt, dimensions, person, rubric

pytestmark = pytest.mark.django_db

FIELD = re.compile(
    r'<input[^>]* name="([^"]+)" value="([^"]*)"|<textarea[^>]* name="([^"]+)"[^>]*>\n([^<]*)</textarea>'
)


def sent(page: str, **changes: str) -> dict[str, str]:
    """What a browser would send of the form: it reads every line end as LF, and sends it as CR LF."""
    form = page[page.index('<form id="editor"') :].replace("\r\n", "\n").replace("\r", "\n")
    fields = {
        one or other: html.unescape(value or text).replace("\n", "\r\n")
        for one, value, other, text in FIELD.findall(form)
    }
    fields.pop("csrfmiddlewaretoken", None)
    fields.pop("pasted", None)
    return fields | {name.replace("_", "-"): value for name, value in changes.items()}


def typed(fields: dict[str, str], **changes: str) -> dict[str, str]:
    return fields | {name.lstrip("_").replace("_", "-"): text for name, text in changes.items()}


def edit_address(row: Rubric) -> str:
    return reverse("rubric-edit", args=[row.pk])


def opened(client: Client, row: Rubric) -> dict[str, str]:
    return sent(client.get(edit_address(row)).text)


def shown_names(page: str) -> list[str]:
    return re.findall(r'name="\d+-name" value="([^"]*)"', page)


def test_the_form_holds_the_rubric_and_no_label_is_typed(research_client: Client) -> None:
    fields = opened(research_client, rubric())
    assert fields["dimensions"] == "3"
    assert (fields["0-name"], fields["2-scope"], fields["1-level-3"]) == (
        "Voice",
        "About Restraint.",
        "strong",
    )
    assert not any("1-2" in name for name in fields)


def test_a_button_keeps_everything_that_was_typed(research_client: Client) -> None:
    row = rubric()
    fields = typed(
        opened(research_client, row), _0_name="Voice, <b>loud</b>", _2_level_1="two\r\nlines", note="Why"
    )
    answer = research_client.post(edit_address(row), fields | {"operation": "down:0"})
    assert answer.status_code == 200
    back = sent(answer.text)
    assert [back[f"{place}-name"] for place in range(3)] == ["Structure", "Voice, <b>loud</b>", "Restraint"]
    assert (back["2-level-1"], back["note"]) == ("two\r\nlines", "Why")
    assert re.search(r'value="down:1"[^>]* autofocus', answer.text)
    assert Rubric.objects.count() == 1


def test_enter_in_a_field_changes_nothing(research_client: Client) -> None:
    row = rubric()
    page = research_client.get(edit_address(row)).text
    first = re.search(r'<button[^>]* name="operation" value="([^"]*)"', page)
    assert first
    assert first[1] == ""
    fields = typed(sent(page), _0_name="Changed")
    answer = research_client.post(edit_address(row), fields | {"operation": ""})
    assert sent(answer.text)["0-name"] == "Changed"
    assert Rubric.objects.count() == 1


def test_a_merger_takes_the_dimension_chosen_beside_it_and_can_be_undone(research_client: Client) -> None:
    row = rubric()
    fields = opened(research_client, row) | {"2-into": "0", "operation": "merge:2"}
    merged = research_client.post(edit_address(row), fields).text
    assert shown_names(merged) == ["Voice / Restraint", "Structure"]
    assert "Make one text" in merged
    back = research_client.post(edit_address(row), sent(merged) | {"operation": "undo"}).text
    assert shown_names(back) == ["Voice", "Structure", "Restraint"]


def test_saving_makes_a_new_version_and_leaves_the_old_row(research_client: Client) -> None:
    row = rubric()
    before = Rubric.objects.values().get(pk=row.pk)
    fields = typed(opened(research_client, row), _0_name="Tone", note="Voice was too wide")
    answer = research_client.post(edit_address(row), fields | {"operation": "save"}, follow=True)
    made = Rubric.objects.get(version=2)
    assert answer.redirect_chain == [(reverse("rubric", args=[made.pk]), 302)]
    assert "Version 2 is saved" in answer.text
    assert (made.method, made.constructor, made.note) == ("human", "rosa", "Voice was too wide")
    assert [each["name"] for each in made.dimensions] == ["Tone", "Structure", "Restraint"]
    assert Rubric.objects.values().get(pk=row.pk) == before
    again = research_client.post(edit_address(row), fields | {"operation": "save"}, follow=True)
    assert again.redirect_chain == answer.redirect_chain
    assert Rubric.objects.count() == 2


def test_line_ends_of_the_form_are_no_change(research_client: Client) -> None:
    shape = dimensions()
    shape[0]["criteria_description"] = "\nfirst\r\nsecond\rthird\n"
    row = rubric(dimensions=shape)
    fields = opened(research_client, row) | {"note": "nothing", "operation": "save"}
    answer = research_client.post(edit_address(row), fields)
    assert answer.status_code == 422
    assert "Nothing was saved" in answer.text
    assert Rubric.objects.count() == 1
    fields["1-name"] = "Order"
    research_client.post(edit_address(row), fields)
    assert Rubric.objects.get(version=2).dimensions[0] == RubricValue.from_json(shape).to_json()[0]


def test_what_is_missing_is_said_at_its_field(research_client: Client) -> None:
    row = rubric()
    fields = typed(opened(research_client, row), _1_name=" ", _2_level_0="")
    answer = research_client.post(edit_address(row), fields | {"operation": "save"})
    assert answer.status_code == 422
    assert "2 things to mend" in answer.text
    assert '<a href="#1-name">Dimension 2: The dimension needs a name.</a>' in answer.text
    assert re.search(
        r'id="2-level-0"[^>]* aria-invalid="true" aria-describedby="2-level-0-problem"', answer.text
    )
    without = opened(research_client, row) | {"0-name": "Tone", "operation": "save"}
    answer = research_client.post(edit_address(row), without)
    assert answer.status_code == 422
    assert '<p class="problem" id="note-problem">Say why' in answer.text
    assert Rubric.objects.count() == 1


def test_the_second_to_save_sees_the_difference_and_can_keep_both(research_client: Client) -> None:
    row = rubric()
    fields = opened(research_client, row) | {"0-name": "Tone", "note": "Mine", "operation": "save"}
    theirs = RubricValue.from_json(dimensions(("Voice", "Rhyme", "Restraint")))
    save_version(parent=row, value=theirs, note="Theirs", user=person("ann"), seen=row.pk)
    answer = research_client.post(edit_address(row), fields)
    assert answer.status_code == 409
    assert "Version 2 was saved by" in answer.text
    assert "Rhyme" in answer.text
    back = sent(answer.text)
    assert (back["0-name"], back["note"]) == ("Tone", "Mine")
    assert Rubric.objects.count() == 2
    research_client.post(edit_address(row), back | {"operation": "save"})
    assert [(each.version, each.constructor) for each in Rubric.objects.order_by("version")][1:] == [
        (2, "ann"),
        (3, "rosa"),
    ]


def test_editing_an_older_version_says_so(research_client: Client) -> None:
    row = rubric()
    assert "not the newest version" not in research_client.get(edit_address(row)).text
    theirs = RubricValue.from_json(dimensions(("Voice", "Rhyme", "Restraint")))
    later = save_version(parent=row, value=theirs, note="x", user=person("ann"), seen=row.pk).rubric
    assert "not the newest version" in research_client.get(edit_address(row)).text
    assert "not the newest version" not in research_client.get(edit_address(later)).text


def test_a_rubric_is_written_from_nothing(research_client: Client) -> None:
    prompt = corpus_prompt(CHINESE, "zh")
    address = reverse("rubric-new", args=[prompt.pk])
    fields = sent(research_client.get(address).text)
    assert fields["dimensions"] == "3"
    for name in list(fields):
        if re.fullmatch(r"\d-(name|scope|level-\d)", name):
            fields[name] = f"运河 {name}"
    answer = research_client.post(address, fields | {"operation": "save"})
    made = Rubric.objects.get()
    assert answer["Location"] == reverse("rubric", args=[made.pk])
    assert (made.version, made.root, made.method, made.constructor) == (1, None, "human", "rosa")
    assert made.dimensions[2]["7-8"] == "运河 2-level-3"
    assert AuditEntry.objects.filter(action="rubric written", subject_id=made.pk).count() == 1


def imported(client: Client, row: Rubric, **given: Any) -> str:
    fields: dict[str, Any] = opened(client, row) | {"0-name": "Typed", "operation": "import"} | given
    return client.post(edit_address(row), fields).text


def test_a_file_or_pasted_text_fills_the_editor_and_saves_nothing(research_client: Client) -> None:
    row, shape = rubric(), dimensions(("结构", "Dates"))
    line = json.dumps({"index": 1, "query": "x", "checklist": shape}, ensure_ascii=False)
    for given in (
        {"file": SimpleUploadedFile("one.jsonl", line.encode())},
        {"pasted": json.dumps(shape)},
    ):
        page = imported(research_client, row, **given)
        assert shown_names(page) == ["结构", "Dates"]
        undone = research_client.post(edit_address(row), sent(page) | {"operation": "undo"}).text
        assert shown_names(undone) == ["Typed", "Structure", "Restraint"]
    assert Rubric.objects.count() == 1


def test_an_import_that_fails_says_where_and_keeps_what_was_typed(research_client: Client) -> None:
    row, shape = rubric(), dimensions()
    del shape[1]["3-4"]
    page = imported(research_client, row, pasted=json.dumps(shape))
    assert "dimension 2: interval &quot;3-4&quot; is missing" in page
    assert shown_names(page) == ["Typed", "Structure", "Restraint"]
    assert "criteria_description&quot;:" in page  # what was pasted is still there


@pytest.mark.parametrize(
    "operation", ["up:0", "merge:1", "remove:9", "undo", "nonsense", "level-add:0:\u0663"]
)
def test_a_tampered_form_changes_nothing(research_client: Client, operation: str) -> None:
    row = rubric()
    answer = research_client.post(edit_address(row), opened(research_client, row) | {"operation": operation})
    assert answer.status_code == 422
    assert shown_names(answer.text) == ["Voice", "Structure", "Restraint"]
    for counts in ({"dimensions": "9" * 30}, {"dimensions": "x", "newest": "-1"}, {"0-levels": "500"}):
        research_client.post(edit_address(row), counts | {"operation": "add"})
        research_client.post(edit_address(row), counts | {"operation": "save", "note": "\x00"})
    assert Rubric.objects.count() == 1


def test_a_rubric_beyond_the_form_is_not_cut_by_it(research_client: Client) -> None:
    row = rubric(dimensions=dimensions(tuple(f"Name {number}" for number in range(41))))
    for answer in (
        research_client.get(edit_address(row), follow=True),
        research_client.post(edit_address(row), {"operation": "save", "note": "x"}, follow=True),
    ):
        assert answer.redirect_chain == [(reverse("rubric", args=[row.pk]), 302)]
        assert "room for 40 dimensions" in answer.text
    assert Rubric.objects.count() == 1


def test_htmx_gets_the_form_alone(research_client: Client) -> None:
    row = rubric()
    fields = opened(research_client, row) | {"operation": "add"}
    headers = {"HX-Request": "true", "HX-Target": "editor"}
    part = research_client.post(edit_address(row), fields, headers=headers).text
    assert part.lstrip().startswith('<form id="editor"')
    assert "<main" not in part
    assert part.count('class="editor-dimension"') == 4


def test_hostile_text_is_text_in_every_field(research_client: Client) -> None:
    row = rubric(dimensions=dimensions((HOSTILE, "Structure", "Restraint")))
    page = research_client.get(edit_address(row)).text
    for raw in ("<script>document", "<style>body", "<img src=x"):
        assert raw not in page
    assert sent(page)["0-name"] == HOSTILE
