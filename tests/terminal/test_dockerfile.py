"""What is made of a Dockerfile, and what is said to be not understood."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from agentworld_envs.domains.terminal.dockerfile import Recipe, Unsupported, read_dockerfile
from agentworld_envs.domains.terminal.dockertext import SANDBOX_PATH


def _read(root: Path, text: str, **files: str) -> Recipe:
    for name, data in {"a.txt": "a", "b.txt": "b", "src/c.txt": "c", "src/deep/d.key": "d", **files}.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(data)
    whole = "FROM x as y" in text or "FROM $BASE" in text or "From x" in text
    (root / "Dockerfile").write_text(text if whole else f"FROM x\n{text}")
    return read_dockerfile(root / "Dockerfile")


def test_variables_are_put_in(tmp_path: Path) -> None:
    recipe = _read(
        tmp_path,
        "ARG BASE=ubuntu\nFROM $BASE AS main\nARG V=1.2\nARG BASE\nENV D=/srv PATH=/opt/bin:$PATH\n"
        "ENV D=/x E=$D/y W=\"${D}\"\nENV F=${NONE:-z} G=${D:+q} H='$D' I=\\$D OLD=1\nENV J two words\n"
        "WORKDIR $D/${V}\nWORKDIR sub/../last\nCOPY $F.txt c\n",
        **{"z.txt": "z"},
    )
    assert recipe.env == {
        "D": "/x",
        "W": "/srv",
        "PATH": f"/opt/bin:{SANDBOX_PATH}",
        "E": "/srv/y",
        "F": "z",
        "G": "q",
        "H": "$D",
        "I": "$D",
        "OLD": "1",
        "J": "two words",
    }
    assert recipe.cwd == "/x/1.2/last"
    assert recipe.files["/x/1.2/last/c"].text == "z"


def test_commands_run_where_and_with_what_they_would(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    one.mkdir(), two.mkdir()
    recipe = _read(
        tmp_path,
        f"ENV A=1\nWORKDIR {one}\nRUN echo \"$A-$B\" > x; false; touch y\nARG C=c\nENV A=2 B='it is'\nWORKDIR {two}\n"
        'SHELL ["/bin/bash", "-eo", "pipefail", "-c"]\nRUN ["sh", "-c", "echo $A-$B-$C > x && echo z"]\n',
    )
    for command in recipe.setup:
        subprocess.run(["bash", "-ec", command], env={"PATH": SANDBOX_PATH, **recipe.env}, cwd="/", check=True)
    assert (one / "x").read_text() == "1-\n"
    assert (one / "y").exists()
    assert (two / "x").read_text() == "2-it is-c\n"
    assert "set +e -eo pipefail" in recipe.setup[1]


def test_lines(tmp_path: Path) -> None:
    recipe = _read(
        tmp_path,
        "# syntax=docker/dockerfile:1\n# escape=\\\n\nFrom x as y\n"
        "run\techo a \\\n\n  # a comment\n  && echo b \\ \n && echo c\n"
        'cmd\t["x"]\nVOLUME /data\nCMD\tx\nRUN [ -f x ] || touch x\n',
    )
    assert [command.splitlines()[-1].split() for command in recipe.setup] == [
        ["echo", "a", "&&", "echo", "b", "&&", "echo", "c"],
        ["[", "-f", "x", "]", "||", "touch", "x"],
    ]


@pytest.mark.parametrize(
    ("line", "files"),
    [
        ("COPY a.txt /app", ["/app/a.txt"]),
        ("COPY a.txt .", ["/app/a.txt"]),
        ("COPY a.txt ./c", ["/app/c"]),
        ("COPY a.txt /app/new/", ["/app/new/a.txt"]),
        ("WORKDIR /app/d\nCOPY a.txt /app/d", ["/app/d/a.txt"]),
        ("COPY src /app/s\nCOPY a.txt s", ["/app/s/c.txt", "/app/s/deep/d.key", "/app/s/a.txt"]),
        ("COPY src/deep /app/", ["/app/d.key"]),
        ('COPY ["a.txt", "b.txt", "/app/"]', ["/app/a.txt", "/app/b.txt"]),
        ("COPY *.txt /app/", ["/app/a.txt", "/app/b.txt"]),
        ("COPY / /app/", ["/app/a.txt", "/app/b.txt", "/app/src/c.txt", "/app/src/deep/d.key"]),
        ("ADD --chown=a:b --chmod=755 a.txt /app/run", ["/app/run"]),
    ],
)
def test_copies(tmp_path: Path, line: str, files: list[str]) -> None:
    recipe = _read(tmp_path, f"WORKDIR /app\n{line}\n")
    assert sorted(recipe.files) == sorted(files)
    assert recipe.files[files[-1]].mode == ("755" if "chmod" in line else None)


@pytest.mark.parametrize(
    ("patterns", "left"),
    [
        ("*.key", ["a.txt", "b.txt", "src/c.txt", "src/deep/d.key"]),
        ("**/*.key\n# a.txt\n", ["a.txt", "b.txt", "src/c.txt"]),
        ("src/\n!src/c.txt", ["a.txt", "b.txt", "src/c.txt"]),
        ("/src/deep", ["a.txt", "b.txt", "src/c.txt"]),
        ("**", []),
        ("*\n!b.txt", ["b.txt"]),
        ("?.txt\n./src/**/d*", ["src/c.txt"]),
        ("src/*", ["a.txt", "b.txt"]),
    ],
)
def test_what_is_ignored_is_not_copied(tmp_path: Path, patterns: str, left: list[str]) -> None:
    recipe = _read(tmp_path, "COPY . /app/\n", **{".dockerignore": f".dockerignore\n{patterns}\n"})
    assert sorted(recipe.files) == [f"/app/{name}" for name in left]


def test_an_ignored_file_is_missing(tmp_path: Path) -> None:
    with pytest.raises(Unsupported, match="missing"):
        _read(tmp_path, "COPY a.txt /app/\n", **{".dockerignore": "a.txt\n"})


@pytest.mark.parametrize(
    ("command", "left", "needs"),
    [
        ("apt-get update; apt-get install -y git vim; rm -rf /var/lib/apt/lists/*", "", ["git", "vim"]),
        ("apt-get update && apt install -yqq -o A=b jq=1.6 && mkdir keep", "mkdir keep", ["jq"]),
        ("apt-get install -y git > /dev/null 2>&1; mkdir keep", "mkdir keep", ["git"]),
        ("touch x && DEBIAN_FRONTEND=noninteractive apt-get install -y tmux procps || true", None, []),
        (
            "echo 'apt is nice; apt-get install x && y' > n && echo apt",
            "echo 'apt is nice; apt-get install x && y' > n && echo apt",
            [],
        ),
        ("if ! apt-get update; then echo x; fi", None, []),
        ("for p in a b; do apt-get install $p; done", None, []),
        ("(apt-get update && apt-get install -y git)", None, []),
        ("apt-get install -y $(cat list)", None, []),
        ("apt-get source git", None, []),
        ("cat list | xargs apt-get install -y", None, []),
        ("if true; then\n apt-get install -y git; fi", None, []),
    ],
)
def test_packages(tmp_path: Path, command: str, left: str | None, needs: list[str]) -> None:
    text = "RUN " + command.replace("\n", "\\\n") + "\n"
    if left is None:
        with pytest.raises(Unsupported, match="apt"):
            _read(tmp_path, text)
    else:
        recipe = _read(tmp_path, text)
        assert [step.splitlines()[-1] for step in recipe.setup] == ([left] if left else [])
        assert recipe.needs == needs


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("RUN <<EOF\nFROM y\nEOF", "here-document"),
        ("COPY <<'EOF' /app/x\nhi\nEOF", "here-document"),
        ("RUN cat > x <<-EOF\nhi\nEOF", "here-document"),
        ("RUN --mount=type=cache,target=/x echo", "option --mount"),
        ("RUN --network=none echo", "option --network"),
        ("COPY --parents a.txt /app/", "option --parents"),
        ("COPY --chmod=u+x a.txt /app/", "option --chmod"),
        ("COPY a.txt", "no target"),
        ("COPY a.txt b.txt /app/x", "several sources"),
        ("COPY a/../../a.txt /app/", "outside"),
        ("RUN mkdir -p /app/d\nCOPY a.txt /app/d", "is a folder is not known"),
        ("ADD a.tar.gz /app/", "archive"),
        ("ADD git@x.invalid:y /app/", "fetches"),
        ("WORKDIR $NOWHERE", "variable NOWHERE is not known"),
        ("ENV A=${B%x}", "not understood"),
        ("ENV A='x", "quote is not closed"),
        ("ENV a-b=c", "no name"),
        ("ONBUILD RUN x", "ONBUILD is not known"),
        ('SHELL ["pwsh"]', "SHELL"),
        ("FROM y", "several stages"),
    ],
)
def test_what_is_not_understood_is_said(tmp_path: Path, line: str, why: str) -> None:
    with pytest.raises(Unsupported, match=why):
        _read(tmp_path, line + "\n")


@pytest.mark.parametrize(
    ("text", "why"), [("# escape=`\nFROM x\n", "escape"), ("ARG x\n", "no FROM"), ("ARG x\nRUN y\n", "before FROM")]
)
def test_the_whole_file(tmp_path: Path, text: str, why: str) -> None:
    (tmp_path / "Dockerfile").write_text(text)
    with pytest.raises(Unsupported, match=why):
        read_dockerfile(tmp_path / "Dockerfile")


def test_patterns_that_are_not_understood(tmp_path: Path) -> None:
    with pytest.raises(Unsupported, match="dockerignore"):
        _read(tmp_path, "COPY . /app/\n", **{".dockerignore": "[ab].txt\n"})
