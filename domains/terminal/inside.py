"""Programs that run inside a sandbox, by its own python3 and nothing else: to build the start, to look at the end."""

from __future__ import annotations

READ = r"""
import base64, json, os, sys
job = json.load(sys.stdin)
"""
"""What the next two begin with; they may follow each other."""

BUILD = (
    READ
    + r"""
def parents(path):
    os.makedirs(os.path.dirname(path), exist_ok=True)
for path in job["folders"]:
    os.makedirs(path, exist_ok=True)
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
)
"""Writes files. Standard input: `{"files": {path: Entry}, "folders": [path]}`."""

SETTLE = r"""
epoch, times = job["epoch"], job["times"]
def touch(path):
    when = times.get(path) or epoch
    try:
        os.utime(path, (when, when), follow_symlinks=False)
    except OSError:
        pass
def settle(folder):
    mode = os.lstat(folder).st_mode
    locked = mode & 0o700 != 0o700
    if locked:
        os.chmod(folder, 0o700)
    for entry in os.scandir(folder):
        if entry.is_dir(follow_symlinks=False):
            settle(entry.path)
        else:
            touch(entry.path)
    if locked:
        os.chmod(folder, mode & 0o7777)
    touch(folder)
for root in job["roots"]:
    settle(root)
"""
"""Sets all time stamps, so that nothing tells when the episode was started. Standard input: `{"epoch": seconds,
"times": {path: seconds}, "roots": [path]}`."""

LOOK = r"""
import base64, json, os, stat, sys
job = json.load(sys.stdin)
left = job["most_bytes"]
found, trees, locked = {}, {}, []
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
            mode = os.lstat(folder).st_mode & 0o7777
            if mode & 0o500 != 0o500:  # nothing can be hidden in a folder that is locked
                os.chmod(folder, mode | 0o500)
                locked.append((folder, mode))
            inside = sorted(os.listdir(folder))
        except OSError:
            if folder == root:
                names = None
                break
            continue
        for name in inside:
            path = os.path.join(folder, name)
            facts = look(path)
            if facts is not None:
                names.append(path)
                found[path] = facts
                if facts["type"] == "folder":
                    queue.append(path)
    trees[root] = names
for folder, mode in reversed(locked):
    os.chmod(folder, mode)
json.dump({"paths": found, "trees": trees}, sys.stdout)
"""
"""Looks at paths and trees without following links. Standard input: `{"paths", "trees", "most_bytes", "most_paths"}`.
A file that cannot be read, or that exceeds the budget, has no `data`, and then holds no check."""
