"""How a snapshot's files come to the machine that trains: a folder both can see, or S3-compatible storage."""

from __future__ import annotations

import hashlib
import shutil
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import fsspec
from django.conf import settings

from training.models import CorpusSnapshot
from training.snapshots import snapshot_folder

BLOCK_BYTES = 2**20


class StorageError(Exception):
    """The storage does not answer, or holds something else than it should; the message says which file."""


def publish(snapshot: CorpusSnapshot) -> None:
    """Puts a finished snapshot's files where machines that train find them; what is there stays.

    Without a storage of its own nothing is to be done: files are fetched from the exports' folder. Raises
    StorageError.
    """
    if not settings.TRAINING.storage:
        return
    for entry in _entries(snapshot):
        source, target = snapshot_folder(snapshot) / entry["name"], _address(snapshot, entry["name"])
        try:
            system, path = _open(target)
            if system.exists(path) and system.size(path) == entry["bytes"]:
                continue
            system.makedirs(system._parent(path), exist_ok=True)
            system.put_file(str(source), path)
        except OSError as error:
            raise StorageError(f"{source.name} could not be put to {target}: {error}") from error


def missing(snapshot: CorpusSnapshot, name: str) -> str:
    """Why a file of a snapshot cannot be fetched; empty when it can. Reads no content."""
    entry = next((each for each in _entries(snapshot) if each["name"] == name), None)
    if entry is None:
        return f"{snapshot.name} has no {name}"
    address = _address(snapshot, name)
    try:
        system, path = _open(address)
        size = system.size(path) if system.exists(path) else None
    except (OSError, StorageError) as error:
        return f"the training storage does not answer: {error}"
    if size is None:
        return f"{name} is not in the training storage: manage.py publish {snapshot.name!r} puts it there"
    if size != entry["bytes"]:
        return f"{name} in the training storage has {size:,} bytes, the manifest says {entry['bytes']:,}"
    return ""


def fetch(snapshot: CorpusSnapshot, name: str, folder: Path) -> Path:
    """Copies one file of a snapshot into `folder` and compares its SHA-256 with the manifest's.

    The file appears when it is whole. Raises StorageError.
    """
    entry = next((each for each in _entries(snapshot) if each["name"] == name), None)
    if entry is None:
        raise StorageError(f"{snapshot.name} has no {name}")
    target, address = folder / name, _address(snapshot, name)
    part = folder / f"{name}.part-{uuid.uuid4().hex[:8]}"
    digest = hashlib.sha256()
    try:
        system, path = _open(address)
        with system.open(path, "rb") as source, part.open("wb") as file:
            while block := source.read(BLOCK_BYTES):
                digest.update(block)
                file.write(block)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise StorageError(f"{name} could not be fetched from {address}: {error}") from error
    if digest.hexdigest() != entry["sha256"]:
        part.unlink()
        raise StorageError(
            f"{name} from {address} is not the file that {snapshot.name} was written with: its SHA-256 is "
            f"{digest.hexdigest()}, the manifest says {entry['sha256']}"
        )
    shutil.move(part, target)
    return target


def _entries(snapshot: CorpusSnapshot) -> list[Mapping[str, Any]]:
    return list(snapshot.manifest.get("files", []))


def _address(snapshot: CorpusSnapshot, name: str) -> str:
    if not settings.TRAINING.storage:
        return str(snapshot_folder(snapshot) / Path(name).name)
    return f"{settings.TRAINING.storage.rstrip('/')}/snapshots/{snapshot.pk}/{Path(name).name}"


def _open(address: str) -> tuple[Any, str]:
    options = settings.TRAINING.storage_options if settings.TRAINING.storage else {}
    try:
        system, path = fsspec.url_to_fs(address, **options)
    except (ImportError, ValueError) as error:
        raise StorageError(f"{address} cannot be opened: {error}") from error
    return system, str(path)
