"""All of it once more as an ordinary user, when root runs the tests: everything has to work without any privilege."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

_UID = 65534
_HERE = Path(__file__).parent
_ROOT = _HERE.parents[1]


def _open_to_all(path: str) -> bool:
    return all(parent.stat().st_mode & 0o001 for parent in (Path(path), *Path(path).parents))


def _python() -> str | None:
    """A Python that other users may run and that can use our packages."""
    same = f"python{sys.version_info.major}.{sys.version_info.minor}"
    candidates = [os.path.realpath(sys.executable), f"/usr/bin/{same}", f"/usr/local/bin/{same}"]
    return next((path for path in candidates if os.path.exists(path) and _open_to_all(path)), None)


@pytest.mark.skipif(os.geteuid() != 0, reason="the tests run as an ordinary user already")
@pytest.mark.skipif(shutil.which("setpriv") is None, reason="needs setpriv of util-linux")
def test_everything_works_without_privileges() -> None:
    python = _python()
    packages = [path for path in sys.path if path.endswith("site-packages")]
    if python is None or not all(_open_to_all(path) for path in [*packages, str(_ROOT)]):
        pytest.skip("Python or the packages are closed to other users")
    drop = ["setpriv", f"--reuid={_UID}", f"--regid={_UID}", "--clear-groups", "--bounding-set=-all", "--inh-caps=-all"]
    probe = "import ctypes, sys; sys.exit(ctypes.CDLL(None).unshare(0x10020000) != 0)"  # user and mount namespace
    if subprocess.run([*drop, python, "-c", probe], timeout=60).returncode != 0:
        pytest.skip("ordinary users may not make namespaces here")
    code = (
        f"import site, sys; [site.addsitedir(path) for path in {packages!r}]; import pytest; "
        f"sys.exit(pytest.main([{str(_HERE)!r}, '-q', '-p', 'no:cacheprovider', '-x', "
        f"'-c', {str(_ROOT / 'pyproject.toml')!r}, '-o', 'addopts=--import-mode=importlib', '-rf']))"
    )
    environment = {"PATH": "/usr/bin:/bin", "HOME": "/var/empty", "PYTHONDONTWRITEBYTECODE": "1", "LANG": "C.UTF-8"}
    environment["HYPOTHESIS_STORAGE_DIRECTORY"] = "/tmp/agentworld-hypothesis"
    done = subprocess.run(
        [*drop, python, "-c", code], env=environment, cwd=_ROOT, capture_output=True, text=True, timeout=1200
    )
    shutil.rmtree("/tmp/agentworld-hypothesis", ignore_errors=True)
    failures = done.stdout.partition("= FAILURES =")[2] or done.stdout
    assert done.returncode == 0, failures[-8000:] + done.stderr[-2000:]
    assert "no namespaces here" not in done.stdout
