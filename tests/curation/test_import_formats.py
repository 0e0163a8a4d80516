"""Parquet, saved datasets and zips of them give the same rows; anything else is called by its name."""

from __future__ import annotations

import datetime as dt
import io
import json
import shutil
import stat
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest

from curation import archives
from curation.archives import unpack_dataset
from curation.import_formats import FileFormat, detect_format, preview_file, read_file
from curation.rows import FieldChoice, ImportFormatError, PromptLine, Refusal, Row, read_prompt

AWKWARD = ' a,"b"\r\n\tc\u2028d\u0085e\u00a0f🎉\u202eاب 你好 '
ROWS = {
    "id": ["a", "b", "c"],
    "prompt": ["Write a letter.", AWKWARD, "写一封信。"],
    "score": [0.5, None, 1.5],
    "when": [dt.date(2026, 1, 1)] * 3,
}


def parquet(path: Path, rows: Mapping[str, Sequence[object]] = ROWS) -> Path:
    pq.write_table(pa.table(dict(rows)), path)
    return path


def dataset(folder: Path, rows: Mapping[str, Sequence[object]] = ROWS, pieces: int = 1) -> Path:
    """As `datasets.Dataset.save_to_disk` writes it."""
    folder.mkdir(parents=True)
    table = pa.table(dict(rows))
    names = []
    for piece in range(pieces):
        names.append(f"data-{piece:05}-of-{pieces:05}.arrow")
        part = table.slice(piece * len(table) // pieces, len(table) // pieces)
        with (
            pa.OSFile(str(folder / names[-1]), "wb") as file,
            pa.ipc.new_stream(file, table.schema) as writer,
        ):
            writer.write_table(part)
    state = {"_data_files": [{"filename": name} for name in names], "_split": None, "_fingerprint": "0"}
    (folder / "state.json").write_text(json.dumps(state))
    (folder / "dataset_info.json").write_text(json.dumps({"features": {}, "builder_name": "x"}))
    return folder


def dataset_dict(folder: Path, **splits: Mapping[str, Sequence[object]]) -> Path:
    for name, rows in splits.items():
        dataset(folder / name, rows)
    (folder / "dataset_dict.json").write_text(json.dumps({"splits": list(splits)}))
    return folder


def texts(path: Path, **options: object) -> list[str]:
    found = read_file(path, detect_format(path), **options)  # type: ignore[arg-type]
    return [str(row.values["prompt"]) for row in found if isinstance(row, Row)]


# Reading


@pytest.mark.parametrize("pieces", [1, 3])
def test_a_saved_dataset_gives_its_rows(tmp_path: Path, pieces: int) -> None:
    folder = dataset(tmp_path / "d", pieces=pieces)
    found = list(read_file(folder, FileFormat.DATASET))
    assert [(row.number, row.values["prompt"]) for row in found if isinstance(row, Row)] == list(
        enumerate(ROWS["prompt"], 1)
    )


def test_parquet_gives_its_rows(tmp_path: Path) -> None:
    assert texts(parquet(tmp_path / "a.parquet")) == ROWS["prompt"]


def test_splits_are_read_one_or_all(tmp_path: Path) -> None:
    folder = dataset_dict(tmp_path / "d", train=ROWS, test={"prompt": ["Write a toast."]})
    assert texts(folder) == [*ROWS["prompt"], "Write a toast."]
    assert texts(folder, split="test") == ["Write a toast."]
    with pytest.raises(ImportFormatError, match="no split 'dev'"):
        texts(folder, split="dev")
    assert preview_file(folder, FileFormat.DATASET, "d").splits == ("train", "test")


def test_only_the_wanted_columns_are_read(tmp_path: Path) -> None:
    for path in (parquet(tmp_path / "a.parquet"), dataset(tmp_path / "d")):
        for row in read_file(path, detect_format(path), wanted={"prompt", "id"}):
            assert isinstance(row, Row)
            assert list(row.values) == ["id", "prompt"]


def test_a_column_name_with_a_dot_is_a_name(tmp_path: Path) -> None:
    path = parquet(tmp_path / "a.parquet", {"meta.prompt": ["a"], "meta": [{"prompt": "b"}]})
    (row,) = read_file(path, FileFormat.PARQUET, wanted={"meta.prompt"})
    assert isinstance(row, Row)
    assert row.values["meta.prompt"] == "a"


def test_chat_rows_and_large_strings_are_texts(tmp_path: Path) -> None:
    turns = [{"role": "user", "content": "Write."}, {"role": "assistant", "content": "Done."}]
    table = pa.table({"messages": [turns], "big": pa.array(["x"], pa.large_string())})
    pq.write_table(table, tmp_path / "a.parquet")
    (row,) = read_file(tmp_path / "a.parquet", FileFormat.PARQUET)
    assert isinstance(row, Row)
    found = read_prompt(row, FieldChoice())
    assert isinstance(found, PromptLine)
    assert (found.text, found.extra) == ("Write.", {"big": "x"})


def test_a_text_that_is_not_utf_8_costs_its_own_row(tmp_path: Path) -> None:
    broken = pa.array([b"Write.", b"caf\xe9", b"Draw."], pa.binary()).view(pa.string())
    pq.write_table(pa.table({"prompt": broken}), tmp_path / "a.parquet")
    found = list(read_file(tmp_path / "a.parquet", FileFormat.PARQUET))
    assert [type(one) for one in found] == [Row, Refusal, Row]
    assert found[1] == Refusal(2, "the text in 'prompt' is not UTF-8")


def test_bytes_are_reported_as_they_are_read(tmp_path: Path) -> None:
    many = {"prompt": [f"Write number {n}." for n in range(2_000)]}
    jsonl = tmp_path / "a.jsonl"
    jsonl.write_text("".join(json.dumps({"prompt": text}) + "\n" for text in many["prompt"]))
    for path in (parquet(tmp_path / "a.parquet", many), dataset(tmp_path / "d", many, pieces=4), jsonl):
        seen: list[int] = []
        for _ in read_file(path, detect_format(path), report=seen.append):
            pass
        size = sum(each.stat().st_size for each in ([path] if path.is_file() else path.glob("*.arrow")))
        assert seen == sorted(seen)
        assert seen[-1] == size


@pytest.mark.parametrize("cut", [0.5, 0.95])
def test_a_file_that_breaks_off_says_so(tmp_path: Path, cut: float) -> None:
    path = parquet(tmp_path / "a.parquet")
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * cut)])
    with pytest.raises(ImportFormatError, match="not a whole Parquet file"):
        list(read_file(path, FileFormat.PARQUET))
    many = {"prompt": ["Write a long letter." * 20 for _ in range(2_000)]}
    folder = dataset(tmp_path / "d", many)
    (file,) = folder.glob("*.arrow")
    file.write_bytes(file.read_bytes()[: int(file.stat().st_size * cut)])
    with pytest.raises(ImportFormatError, match=r"data-00000-of-00001\.arrow is"):
        list(read_file(folder, FileFormat.DATASET))


@pytest.mark.parametrize(
    ("name", "content", "answer"),
    [
        ("state.json", None, "no saved dataset: it has no state.json"),
        ("state.json", b"{", "state.json cannot be read as JSON"),
        ("state.json", b"[]", "state.json holds no JSON object"),
        ("state.json", b"{}", "names no data files"),
        ("state.json", b'{"_data_files": [{"filename": "../../etc/passwd"}]}', "outside its folder"),
        ("state.json", b'{"_data_files": [{"filename": "/etc/passwd"}]}', "outside its folder"),
        ("state.json", b'{"_data_files": [7]}', "outside its folder"),
        ("state.json", b'{"_data_files": [{"filename": "gone.arrow"}]}', "has no 'gone.arrow'"),
        ("state.json", b'{"_indices_data_files": [1], "_data_files": [1]}', "flatten_indices"),
        ("data-00000-of-00001.arrow", b"hello", "is not a saved arrow file"),
        ("data-00000-of-00001.arrow", b"", "is not a saved arrow file"),
        ("dataset_dict.json", b'{"splits": []}', "names no splits"),
        ("dataset_dict.json", b'{"splits": ["../d"]}', "outside its folder"),
    ],
)
def test_a_dataset_that_is_not_whole_says_what_is_wrong(
    tmp_path: Path, name: str, content: bytes | None, answer: str
) -> None:
    folder = dataset(tmp_path / "d")
    if content is None:
        (folder / name).unlink()
    else:
        (folder / name).write_bytes(content)
    with pytest.raises(ImportFormatError, match=answer):
        list(read_file(folder, FileFormat.DATASET))


def test_a_link_in_a_dataset_is_not_followed(tmp_path: Path) -> None:
    folder = dataset(tmp_path / "d")
    (file,) = folder.glob("*.arrow")
    outside = file.rename(tmp_path / "outside.arrow")
    file.symlink_to(outside)
    with pytest.raises(ImportFormatError, match="has no 'data-"):
        list(read_file(folder, FileFormat.DATASET))


# Telling them apart


@pytest.mark.parametrize(
    ("name", "content", "found"),
    [
        ("a.jsonl", b'{"prompt": "a"}', FileFormat.JSONL),
        ("a.csv", b'{"prompt": "a"}', FileFormat.JSONL),
        ("a", b'\xef\xbb\xbf {"prompt": "a"}', FileFormat.JSONL),
        ("a.jsonl", b"not json", FileFormat.JSONL),
        ("a.csv", b"prompt\na", FileFormat.CSV),
        ("a.tsv", b"prompt\ta", FileFormat.CSV),
        ("a", b"prompt\na", FileFormat.CSV),
        ("a.csv", b"[prompt]\na", FileFormat.CSV),
    ],
)
def test_the_content_decides(tmp_path: Path, name: str, content: bytes, found: FileFormat) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    assert detect_format(path) is found


def test_a_preview_tells_columns_and_likely_fields(tmp_path: Path) -> None:
    path = parquet(tmp_path / "a.parquet")
    seen = preview_file(path, FileFormat.PARQUET, "b.csv")
    assert seen.columns == ("id", "prompt", "score", "when")
    assert seen.guess == FieldChoice("prompt", "id", None)
    assert seen.warning == "The name says CSV; it is read as what it holds, Parquet."
    csv = tmp_path / "b.csv"
    csv.write_text("k,Reconstruction,essay\n1,short,a much longer text\n2,x\n")
    seen = preview_file(csv, FileFormat.CSV, "b.csv")
    assert seen.guess == FieldChoice("essay", None, "Reconstruction")
    assert [one.line for one in seen.refusals] == [3]


# Archives


def zipped(path: Path, folder: Path, prefix: str = "") -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for each in sorted(folder.rglob("*")):
            archive.write(each, prefix + str(each.relative_to(folder)))
    return path


@pytest.mark.parametrize("prefix", ["", "requests/", "a/b/"])
def test_a_zipped_dataset_is_read_wherever_it_lies_in_the_zip(tmp_path: Path, prefix: str) -> None:
    folder = dataset_dict(tmp_path / "d", train=ROWS)
    path = zipped(tmp_path / "d.zip", folder, prefix)
    assert detect_format(path) is FileFormat.ZIP
    assert texts(unpack_dataset(path, tmp_path / "out")) == ROWS["prompt"]


def hostile(path: Path, entries: Sequence[tuple[str | zipfile.ZipInfo, bytes]]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries:
            archive.writestr(name, content)
    return path


def link(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name)
    entry.external_attr = (stat.S_IFLNK | 0o777) << 16
    return entry


@pytest.mark.parametrize(
    ("entries", "answer"),
    [
        ([("../state.json", b"{}")], "leads out of its folder"),
        ([("a/../../state.json", b"{}")], "leads out of its folder"),
        ([("/etc/state.json", b"{}")], "leads out of its folder"),
        ([("..\\state.json", b"{}")], "leads out of its folder"),
        ([("C:/state.json", b"{}")], "leads out of its folder"),
        ([(link("state.json"), b"/etc/passwd")], "a link in it"),
        ([("state.json", b"{}"), ("data.zip", b"x")], "another archive in it"),
        ([("state.json", b"{}"), ("data.arrow", b"PK\x03\x04 more")], "is itself an archive"),
        ([("state.json", b"{}"), ("data.arrow", b"\0" * 3_000_000)], "packed more than 200 to 1"),
        ([("state.json", b"{}"), ("other.bin", b"\0" * 3_000_000)], "packed more than 200 to 1"),
        ([(f"{n}.json", b"{}") for n in range(1_001)], "1,001 entries"),
        ([("state.json/a.json", b"{}"), ("state.json", b"{}")], "as a file and as a folder|twice"),
        ([("readme.txt", b"hello")], "holds no saved dataset"),
    ],
)
def test_a_hostile_archive_is_refused_and_writes_nothing(
    tmp_path: Path, entries: list[tuple[str | zipfile.ZipInfo, bytes]], answer: str
) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    with pytest.raises(ImportFormatError, match=answer):
        unpack_dataset(hostile(inside / "a.zip", entries), inside / "out")
    assert [path.name for path in tmp_path.rglob("*")] == ["inside", "a.zip"]


def test_an_archive_that_lies_about_its_size_is_stopped(tmp_path: Path) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("state.json", b"{}" + b" " * 5_000_000)
    content = bytearray(packed.getvalue())
    true, lie = (5_000_002).to_bytes(4, "little"), (100).to_bytes(4, "little")
    content = content.replace(true, lie)
    (tmp_path / "a.zip").write_bytes(content)
    with pytest.raises(ImportFormatError):
        unpack_dataset(tmp_path / "a.zip", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_total_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = zipped(tmp_path / "d.zip", dataset(tmp_path / "d"))
    monkeypatch.setattr(archives, "MAX_UNPACKED_BYTES", 500)
    with pytest.raises(ImportFormatError, match="unpacks to more than"):
        unpack_dataset(path, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_locked_archive_is_named(tmp_path: Path) -> None:
    path = zipped(tmp_path / "d.zip", dataset(tmp_path / "d"))
    content = bytearray(path.read_bytes())
    for mark, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = content.find(mark)
        while at >= 0:
            content[at + place] |= 1
            at = content.find(mark, at + 1)
    path.write_bytes(content)
    with pytest.raises(ImportFormatError, match="password"):
        unpack_dataset(path, tmp_path / "out")


def test_a_folder_is_a_dataset_and_a_zip_in_it_is_not_looked_at(tmp_path: Path) -> None:
    folder = dataset(tmp_path / "d")
    zipped(folder / "extra.zip", folder)
    assert texts(folder) == ROWS["prompt"]
    shutil.rmtree(folder)
