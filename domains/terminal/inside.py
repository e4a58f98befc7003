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
left, names_left = job["most_bytes"], job["most_names"]
found, trees, locked = {}, {}, []
def look(path):
    global left
    try:
        status = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError):
        return {"type": "unknown"}
    mode = status.st_mode
    facts = {"mode": "%o" % stat.S_IMODE(mode)}
    if stat.S_ISLNK(mode):
        try:
            facts.update(type="link", target=os.readlink(path))
        except OSError:
            facts["type"] = "unknown"
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
def inside(folder):
    mode = os.lstat(folder).st_mode
    if not stat.S_ISDIR(mode):
        raise NotADirectoryError(folder)
    if mode & 0o500 != 0o500:  # nothing can be hidden in a folder that is locked
        os.chmod(folder, stat.S_IMODE(mode) | 0o500)
        locked.append((folder, stat.S_IMODE(mode)))
    return sorted(os.listdir(folder))
def tree(root):
    global names_left
    paths, queue = [], [root]
    while queue:
        folder = queue.pop()
        try:
            names = inside(folder)
        except OSError:
            if folder == root:
                return None
            found[folder] = {"type": "unknown"}
            continue
        for name in names:
            path = os.path.join(folder, name)
            names_left -= len(path) + 100
            if names_left < 0:
                return None
            facts = look(path) or {"type": "unknown"}
            paths.append(path)
            found[path] = facts
            if facts["type"] == "folder":
                queue.append(path)
    return paths
for path in job["paths"]:
    found[path] = look(path)
for root in job["trees"]:
    trees[root] = tree(root)
for folder, mode in reversed(locked):
    os.chmod(folder, mode)
json.dump({"paths": found, "trees": trees}, sys.stdout)
"""
"""Looks at paths and trees without following links. Standard input: `{"paths", "trees", "most_bytes", "most_names"}`.

What cannot be looked at is of type `unknown`, which satisfies no check. A file that cannot be read, or that exceeds the
budget, has no `data`, and then holds no check; a tree with more names than the budget allows is `None`."""

CLEAN = r"""
import json, os, subprocess, sys
job = json.load(sys.stdin)
def remove(path):
    if os.path.lexists(path):
        if not os.path.islink(path):
            subprocess.run(["/bin/chmod", "-R", "u+rwX", "--", path], check=False)
        subprocess.run(["/bin/rm", "-rf", "--", path], check=True)
for path in job["remove"]:
    parent = path
    while (parent := os.path.dirname(parent)) not in ("/", ""):
        if os.path.islink(parent) and os.access(os.path.dirname(parent), os.W_OK):
            os.unlink(parent)  # a link of the agent's would lead the file elsewhere
        elif os.path.isdir(parent) and not os.access(parent, os.W_OK | os.X_OK):
            os.chmod(parent, 0o755)
    remove(path)
for folder in job["empty"]:
    if os.path.isdir(folder) and not os.path.islink(folder):
        os.chmod(folder, 0o755)
        for name in os.listdir(folder):
            remove(os.path.join(folder, name))
"""
"""Makes room for the files of a check. Standard input: `{"remove": [path], "empty": [folder]}`."""
