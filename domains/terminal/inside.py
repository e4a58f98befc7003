"""Programs that run inside a sandbox, by its own python3 and nothing else: to build the start, to look at the end."""

from __future__ import annotations

BUILD = r"""
import base64, json, os, sys
job = json.load(sys.stdin)
epoch = job["epoch"]
def parents(path):
    os.makedirs(os.path.dirname(path), exist_ok=True)
later = []
for path, entry in sorted(job["files"].items()):
    parents(path)
    if entry.get("link") is not None:
        os.symlink(entry["link"], path)
    elif entry.get("folder"):
        os.makedirs(path, exist_ok=True)
        later.append((path, int(entry.get("mode") or "755", 8)))
    else:
        text = entry.get("text")
        data = text.encode("utf-8", "surrogateescape") if text is not None else base64.b64decode(entry["base64"])
        with open(path, "wb") as file:
            file.write(data)
        os.chmod(path, int(entry.get("mode") or "644", 8))
for path, mode in reversed(later):
    os.chmod(path, mode)
"""
"""Writes files. Standard input: `{"files": {path: Entry}, "epoch": seconds}`."""

SETTLE = r"""
import json, os, sys
job = json.load(sys.stdin)
epoch, times = job["epoch"], job["times"]
def touch(path):
    when = times.get(path) or epoch
    try:
        os.utime(path, (when, when), follow_symlinks=False)
    except OSError:
        pass
for root in job["roots"]:
    for folder, folders, files in os.walk(root, topdown=False):
        for name in files + folders:
            touch(os.path.join(folder, name))
    touch(root)
"""
"""Sets all time stamps, so that nothing tells when the episode was started."""

LOOK = r"""
import base64, json, os, stat, sys
job = json.load(sys.stdin)
left = job["most_bytes"]
found, trees = {}, {}
def look(path):
    global left
    try:
        status = os.lstat(path)
    except (OSError, ValueError):
        return None
    mode = status.st_mode
    facts = {"mode": "%o" % stat.S_IMODE(mode)}
    if stat.S_ISLNK(mode):
        facts.update(type="link", target=os.readlink(path))
    elif stat.S_ISDIR(mode):
        facts["type"] = "folder"
    elif stat.S_ISREG(mode):
        facts.update(type="file", size=status.st_size)
        if status.st_size <= left:
            try:
                with open(path, "rb") as file:
                    data = file.read(left)
                left -= len(data)
                facts["data"] = base64.b64encode(data).decode()
            except OSError as error:
                facts["unreadable"] = error.strerror
    else:
        facts["type"] = "other"
    return facts
for path in job["paths"]:
    found[path] = look(path)
for root in job["trees"]:
    names, queue = [], [root]
    while queue and len(names) <= job["most_paths"]:
        folder = queue.pop()
        try:
            inside = sorted(os.listdir(folder))
        except OSError:
            if folder == root:
                names = None
            break
        for name in inside:
            path = os.path.join(folder, name)
            facts = look(path)
            if facts is not None:
                names.append(path)
                found[path] = facts
                if facts["type"] == "folder":
                    queue.append(path)
    trees[root] = names
json.dump({"paths": found, "trees": trees}, sys.stdout)
"""
"""Looks at paths and trees without following links. Standard input: `{"paths", "trees", "most_bytes", "most_paths"}`.
A file that cannot be read, or that exceeds the budget, has no `data`, and then holds no check."""

PROCESSES = r"""
import json, os, sys
lines = []
for name in sorted(filter(str.isdigit, os.listdir("/proc")), key=int):
    if int(name) not in (1, os.getpid()):
        try:
            with open("/proc/%s/cmdline" % name, "rb") as file:
                words = file.read(4096).rstrip(b"\0").split(b"\0")
        except OSError:
            continue
        lines.append(b" ".join(words).decode("utf-8", "backslashreplace"))
json.dump([line for line in lines if line], sys.stdout)
"""
"""Lists the command lines of all processes but the first one and itself. Those that ended have none."""
