"""What a recipe for a cluster would start: run with programs that only note their call."""

from __future__ import annotations

import os
import re
import stat
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.support.repository import REPOSITORY

NOTED = ("treeviews", "srun", "torchrun", "python")
STUB = """#!/bin/bash
{ printf '%s\\x1f' "$(basename "$0")" "$@"; printf '\\x1e'; } >> "$NOTES"
"""
SLURM = {
    "SLURM_CPUS_PER_TASK": "2",
    "SLURM_GPUS": "2",
    "SLURM_NNODES": "2",
    "SLURM_JOB_ID": "17",
    "SLURM_JOB_NODELIST": "node-[0-1]",
}
"""What a job finds in its environment, beside the folder it was submitted in."""

SBATCH_OPTIONS = {
    *("job-name", "array", "nodes", "ntasks-per-node", "cpus-per-task", "gpus", "gpus-per-node"),
    *("mem", "time", "requeue", "output", "partition", "dependency", "wrap"),
}
_QUANTITY = re.compile(r"\d+(\.\d+)?(m|Ki|Mi|Gi|Ti|k|M|G|T)?")
_NAME = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?")


def executable(path: Path, text: str) -> None:
    """Writes a program."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def environment(folder: Path, programs: Path) -> dict[str, str]:
    """Returns the environment of a job: SLURM's variables, and programs before those installed.

    Args:
        folder: where it was submitted.
        programs: found first.
    """
    executable(folder / "env" / "bin" / "activate", f'PATH="{programs}:$PATH"\n')
    return os.environ | {
        **SLURM,
        "SLURM_SUBMIT_DIR": str(folder),
        "TREEVIEWS_ENV": str(folder / "env"),
        "HOME": str(folder / "home"),
        "PATH": f"{programs}:{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PYTHONPATH": f"{REPOSITORY}:{folder}",
    }


def commands_of_script(script: str, folder: Path, programs: Path) -> list[list[str]]:
    """Runs a script with programs that note their call; returns what it would have started."""
    for name in NOTED:
        executable(programs / name, STUB)
    executable(programs / "scontrol", "#!/bin/bash\nprintf 'node-0\\nnode-1\\n'\n")
    notes = programs / "notes"
    notes.unlink(missing_ok=True)
    subprocess.run(
        ["bash", "-c", script],
        cwd=folder,
        env=environment(folder, programs) | {"NOTES": str(notes)},
        check=True,
        capture_output=True,
    )
    calls = notes.read_text("utf-8").split("\x1e")[:-1] if notes.exists() else []
    return [call.split("\x1f")[:-1] for call in calls]


def sbatch_mistakes(script: str) -> list[str]:
    """Returns the ``#SBATCH`` lines that sbatch does not know, or that stand too late."""
    mistakes = []
    begun = False
    for line in script.splitlines()[1:]:
        option = re.fullmatch(r"#SBATCH --([\w-]+)(=\S+)?( +#.*)?", line)
        is_one = line.startswith("#SBATCH")
        if is_one and (begun or not option or option[1] not in SBATCH_OPTIONS):
            mistakes.append(line)
        begun = begun or not line.startswith("#")
    return mistakes


def job_mistakes(manifest: Mapping[str, Any]) -> list[str]:
    """Returns what Kubernetes would refuse of a Job, as far as its API's fields tell."""
    spec = manifest["spec"]
    pod = spec["template"]["spec"]
    volumes = {volume["name"] for volume in pod.get("volumes", ())}
    mistakes = [] if _NAME.fullmatch(manifest["metadata"]["name"]) else ["metadata.name"]
    if (manifest["apiVersion"], manifest["kind"]) != ("batch/v1", "Job"):
        mistakes.append("apiVersion, kind")
    if pod.get("restartPolicy") not in ("Never", "OnFailure"):
        mistakes.append("restartPolicy")
    if spec.get("completionMode") == "Indexed" and "completions" not in spec:
        mistakes.append("completions")
    for container in pod["containers"]:
        mistakes += [] if _NAME.fullmatch(container["name"]) else ["container's name"]
        mistakes += [] if container.get("image") else ["image"]
        for kind, amounts in container["resources"].items():
            wrong = [name for name, value in amounts.items() if not _QUANTITY.fullmatch(str(value))]
            mistakes += [f"{kind}: {name}" for name in wrong]
        mounted = {mount["name"] for mount in container.get("volumeMounts", ())}
        mistakes += [f"no volume {name}" for name in sorted(mounted - volumes)]
        words = [*container.get("command", ()), *container.get("args", ())]
        mistakes += [f"not a string: {word}" for word in words if not isinstance(word, str)]
        values = [variable["value"] for variable in container.get("env", ())]
        mistakes += [f"not a string: {value}" for value in values if not isinstance(value, str)]
    return mistakes
