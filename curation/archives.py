"""Unpacking a zipped dataset folder that somebody has uploaded, and nothing that only looks like one.

What an archive says about itself is checked before anything is written, and what really comes out of it is
counted while it is written, because an archive may lie.
"""

from __future__ import annotations

import shutil
import stat
import zipfile
import zlib
from pathlib import Path, PurePosixPath

from curation.rows import ImportFormatError

MAX_ENTRIES = 1_000
MAX_UNPACKED_BYTES = 8 * 1024**3
MAX_RATIO = 200
"""Bounds of an archive (ours). Text packs about 5 to 1; only made-up files get past 200 to 1."""

FREE_RATIO_BYTES = 1024**2
"""Entries up to this size may be packed as tightly as they like."""

_SUFFIXES = (".arrow", ".json")
_BLOCK = 256 * 1024
_ARCHIVE_MAGIC = (b"PK\x03\x04", b"\x1f\x8b", b"7z\xbc\xaf", b"Rar!", b"BZh", b"\xfd7zXZ")
_ARCHIVE_SUFFIXES = (".zip", ".gz", ".tgz", ".bz2", ".xz", ".7z", ".rar", ".tar", ".zst")


def unpack_dataset(archive: Path, folder: Path) -> Path:
    """Unpacks the .arrow and .json files of a zipped dataset; returns the folder that holds the dataset.

    Raises `ImportFormatError` and leaves nothing behind when the archive is damaged, hostile, or holds no
    saved dataset.
    """
    try:
        with zipfile.ZipFile(archive) as opened:
            entries = _checked(opened.infolist())
            budget = MAX_UNPACKED_BYTES
            for entry in entries:
                budget -= _unpack(opened, entry, folder, budget)
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise ImportFormatError(f"The archive is damaged: {error}.") from None
    except NotImplementedError:
        shutil.rmtree(folder, ignore_errors=True)
        raise ImportFormatError("The archive is packed in an unusual way. Make a plain zip file.") from None
    except ImportFormatError:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return _dataset_in(folder)


def _checked(entries: list[zipfile.ZipInfo]) -> list[zipfile.ZipInfo]:
    """The entries to unpack. Every entry is looked at, wanted or not."""
    if len(entries) > MAX_ENTRIES:
        raise ImportFormatError(
            f"The archive has {len(entries):,} entries; at most {MAX_ENTRIES:,} are read."
        )
    wanted: dict[str, zipfile.ZipInfo] = {}
    for entry in entries:
        name = entry.filename
        path = PurePosixPath(name)
        shown = repr(name[:80])
        if path.is_absolute() or ".." in path.parts or "\\" in name or ":" in name or "\0" in name:
            raise ImportFormatError(f"The archive has an entry that leads out of its folder: {shown}.")
        if stat.S_ISLNK(entry.external_attr >> 16):
            raise ImportFormatError(f"The archive has a link in it, {shown}; links are not followed.")
        if entry.flag_bits & 1:
            raise ImportFormatError("The archive is locked with a password. Make one without.")
        if entry.file_size > FREE_RATIO_BYTES and entry.file_size > MAX_RATIO * max(entry.compress_size, 1):
            raise ImportFormatError(f"{shown} is packed more than {MAX_RATIO} to 1: no dataset is like that.")
        if path.suffix.lower() in _ARCHIVE_SUFFIXES:
            raise ImportFormatError(f"The archive has another archive in it, {shown}. Unpack that first.")
        if entry.is_dir() or path.suffix.lower() not in _SUFFIXES or "__MACOSX" in path.parts:
            continue
        if wanted.setdefault(str(path), entry) is not entry:
            raise ImportFormatError(f"The archive has {shown} twice.")
    if sum(entry.file_size for entry in wanted.values()) > MAX_UNPACKED_BYTES:
        raise ImportFormatError(f"The archive unpacks to more than {MAX_UNPACKED_BYTES // 1024**3} GiB.")
    return list(wanted.values())


def _unpack(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, folder: Path, budget: int) -> int:
    """Writes one entry and returns its size; stops at the first byte over what is allowed."""
    target = folder / entry.filename
    allowed = min(budget, max(FREE_RATIO_BYTES, MAX_RATIO * entry.compress_size))
    size = 0
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with archive.open(entry) as source, target.open("xb") as file:
            while block := source.read(_BLOCK):
                if size == 0 and block.startswith(_ARCHIVE_MAGIC):
                    raise ImportFormatError(f"{entry.filename[:80]!r} is itself an archive.")
                size += len(block)
                if size > allowed:
                    raise ImportFormatError(f"{entry.filename[:80]!r} unpacks to more than the archive says.")
                file.write(block)
    except (FileExistsError, NotADirectoryError):
        raise ImportFormatError(
            f"The archive has {entry.filename[:80]!r} as a file and as a folder."
        ) from None
    return size


def _dataset_in(folder: Path) -> Path:
    """The folder nearest to the top that is a saved dataset."""
    marks = [*folder.rglob("dataset_dict.json"), *folder.rglob("state.json")]
    if not marks:
        shutil.rmtree(folder, ignore_errors=True)
        raise ImportFormatError(
            "The archive holds no saved dataset: it has neither a state.json nor a dataset_dict.json. "
            "Other files are uploaded as they are, without a zip."
        )
    return min(marks, key=lambda path: (len(path.parts), path.name != "dataset_dict.json")).parent
