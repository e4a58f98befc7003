"""Configuration files that are invalid, contradict each other, or have to be merged or converted."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np

from agentworld_envs.domains.terminal.checks import Check, FileCheck, RunCheck
from agentworld_envs.domains.terminal.formats import SHOW_BLOCKS, SHOW_ENV, SHOW_INI, ini_text, shows
from agentworld_envs.domains.terminal.ingredients import (
    COMPANIES,
    SERVICES,
    TOWNS,
    answer_path,
    between,
    lines,
    opening,
    pick,
    shuffled,
    some,
    unchanged,
)
from agentworld_envs.domains.terminal.scenario import Entry, Level, Scenario, file, link

_TOOL = "/workspace/tools/show_config.py"


def build(rng: np.random.Generator, level: Level) -> Scenario:
    """Level 1: one fault or setting in one file; 2: several faults, a merge or a clash; 3: many files, exact rules."""
    return pick(rng, _GOALS[level])(rng)


def _root(rng: np.random.Generator) -> str:
    return f"/workspace/{pick(rng, ('etc', 'config', 'conf', 'deploy'))}"


def _settings(rng: np.random.Generator) -> dict[str, Any]:
    """A nested configuration."""
    service, town = pick(rng, SERVICES), pick(rng, TOWNS)
    return {
        "service": {"name": service, "port": between(rng, 2000, 9000), "debug": pick(rng, (True, False))},
        "database": {"host": f"db-{town.lower().replace(' ', '')}", "pool": between(rng, 2, 40), "password_file": None},
        "owners": [f"{pick(rng, ('ops', 'web', 'data'))}-{n}" for n in range(between(rng, 2, 4))],
        "title": f"{pick(rng, COMPANIES)}: {service} (it's {town})",
        "limits": {"upload_mb": between(rng, 1, 200), "ratio": between(rng, 1, 9) / 10},
    }


def _json_syntax(rng: np.random.Generator) -> Scenario:
    path, settings = f"{_root(rng)}/{pick(rng, ('app', 'service', 'settings'))}.json", _settings(rng)
    text = json.dumps(settings, indent=2)
    right, wrong, fix = pick(
        rng,
        (
            (r'("pool": \d+),', r"\1", 's/^\\( *"pool": [0-9]*\\)$/\\1,/'),
            (r'("ratio": [\d.]+)', r"\1,", 's/^\\( *"ratio": .*\\),$/\\1/'),
            (r'"limits":', "'limits':", 's/.limits.:/"limits":/'),
            (r'("debug": \w+)', r"\1,", '/"debug"/s/,$//'),
            (r'"port"', '// listen here\n    "port"', "/^ *\\/\\//d"),
            (r'"name": "', '"name": ', 's/"name": /"name": "/'),
            (r'"password_file": null', '"password_file": None', "s/: None/: null/"),
            (r'  "owners": \[', '  "owners" [', 's/"owners" /"owners": /'),
        ),
    )
    broken = re.sub(right, wrong, text)
    assert broken != text
    ask = pick(
        rng,
        (
            f"{path} was edited by hand and is no valid JSON any more. Correct the mistake; all settings keep the "
            f"values that "
            "they were meant to have.",
            f"A program refuses {path} because it is not valid JSON. There is one mistake in it. Repair the file "
            f"and leave the "
            "settings themselves as they are.",
        ),
    )
    checks = [FileCheck(path=path, text=json.dumps(settings), compare="json")]
    return Scenario(
        opening(rng) + ask,
        {path: file(broken + "\n")},
        checks,
        [f"sed -i '{fix}' {path} && python3 -m json.tool {path}"],
    )


def _ini_set(rng: np.random.Generator) -> Scenario:
    path = f"{_root(rng)}/services.ini"
    names = some(rng, SERVICES, between(rng, 3, 5))
    sections = {
        name: {
            "port": str(between(rng, 2000, 9000)),
            "enabled": pick(rng, ("yes", "no")),
            "workers": str(between(rng, 1, 9)),
        }
        for name in names
    }
    note = f"{pick(rng, COMPANIES)}, port = 1234 is an example"
    text = ini_text(sections, note)
    target, port = pick(rng, names), str(between(rng, 9100, 9900))
    flip = "no" if sections[target]["enabled"] == "yes" else "yes"
    after = {name: dict(keys) for name, keys in sections.items()}
    after[target].update(port=port, enabled=flip)
    ask = pick(
        rng,
        (
            f"In {path} set `port` of the section {target} to {port} and `enabled` to {flip}. Other sections, "
            f"other keys and "
            "the comments stay as they are.",
            f"The service {target} shall listen on port {port} and have enabled = {flip}: change its section in "
            f"{path}. Touch "
            "nothing else in the file, comments included.",
        ),
    )
    comments = RunCheck(
        argv=("grep", "-E", "^[;#]", path), stdout=lines(x for x in text.split("\n") if x[:1] in (";", "#"))
    )
    command = (
        f"sed -i '/^\\[{target}\\]/,/^\\[/{{s/^port = .*/port = {port}/;s/^enabled = .*/enabled = {flip}/}}' {path}"
    )
    # A range in sed ends at the next section, whose keys come after that line.
    return Scenario(opening(rng) + ask, {path: file(text)}, [shows(SHOW_INI, path, after), comments], [command])


def _env_syntax(rng: np.random.Generator) -> Scenario:
    path = f"{_root(rng)}/{pick(rng, ('app.env', 'service.env', '.env'))}"
    values = {
        "APP_PORT": str(between(rng, 2000, 9000)),
        "APP_TITLE": f"{pick(rng, COMPANIES)} {pick(rng, TOWNS)}",
        "APP_OWNER": pick(rng, ("ops", "web", "data")),
        "APP_MOTTO": f"{between(rng, 2, 9)} for $1 & more",
        "APP_DIR": f"/srv/{pick(rng, SERVICES)} data",
    }
    text = (
        f"# read by the shell\nAPP_PORT = {values['APP_PORT']}\nAPP_TITLE={values['APP_TITLE']}\n"
        f"APP_OWNER='{values['APP_OWNER']}'\nAPP_MOTTO={values['APP_MOTTO']}\nAPP_DIR=\"{values['APP_DIR']}\n"
    )
    ask = (
        f"{path} shall be read by bash with `. {path}` to set variables, but its lines are not quoted as bash "
        f"needs it. Repair "
        "it. Every variable has to get exactly the text after its `=` as its value, without blanks at the ends "
        "and without the "
        "quotes that are around some (of one pair only the first is left). A dollar sign stays one. Keep the "
        "names, and print nothing when it is read."
    )
    command = (
        f"cat > {path} <<'END'\n# read by the shell\n"
        + lines(f"{key}='{value}'" for key, value in values.items())
        + "END"
    )
    return Scenario(opening(rng) + ask, {path: file(text)}, [shows(SHOW_ENV, path, values, *values)], [command])


def _blocks(rng: np.random.Generator, servers: int) -> tuple[str, list[Any]]:
    """A server configuration in blocks, as text and as its settings."""
    workers = str(between(rng, 1, 8))
    text = [f"worker_processes {workers};"]
    found: list[Any] = [["worker_processes", workers]]
    for name in some(rng, SERVICES, servers):
        port, back = str(between(rng, 8000, 8999)), str(between(rng, 3000, 3999))
        host = f"{name}.example.com"
        back_url = f"http://127.0.0.1:{back}"
        text += ["", f"server {{  # {name}", f"    listen {port};", f"    server_name {host};", "    location / {"]
        text += [f"        proxy_pass {back_url};", '        add_header X-Site "shop; main";', "    }", "}"]
        inner = [["proxy_pass", back_url], ["add_header", "X-Site", '"shop; main"']]
        found.append([["server"], [["listen", port], ["server_name", host], [["location", "/"], inner]]])
    return lines(text), found


def _block_syntax(rng: np.random.Generator) -> Scenario:
    path = f"{_root(rng)}/{pick(rng, ('proxy', 'web', 'sites'))}.conf"
    text, found = _blocks(rng, between(rng, 2, 4))
    faults = [
        (r"(server_name \S+);", r"\1", "s/^\\( *server_name [^;]*\\)$/\\1;/"),
        (r'"shop; main";', r'"shop; main;', 's/"shop; main;$/"shop; main";/'),
        (r"(listen \d+);", r"\1:", "s/\\(listen [0-9]*\\):/\\1;/"),
        (r"location / \{", "location /", "s,location /$,location / {,"),
    ]
    chosen = some(rng, faults, between(rng, 2, 3))
    broken = text
    for right, wrong, _ in chosen:
        broken = re.sub(right, wrong, broken, count=between(rng, 0, 1))
    ask = (
        f"{path} is a configuration in blocks: a setting is words and a semicolon, a block is words, "
        f"`{{`, settings and `}}`; "
        f"`#` begins a comment, and quoted words may contain anything. `python3 {_TOOL} {path}` prints its "
        f"settings, or tells "
        "where it is not valid. Some characters got lost or mixed up in it. Repair it, so that it is valid and "
        "has the settings "
        "that were obviously meant; keep their order."
    )
    files = {_TOOL: file(SHOW_BLOCKS)}
    checks = [*unchanged(files), shows(SHOW_BLOCKS, path, found)]
    edits = " ".join(f"-e '{edit}'" for *_, edit in chosen)
    fix = f"sed -i {edits} {path} && python3 {_TOOL} {path}"
    return Scenario(opening(rng) + ask, {**files, path: file(broken)}, checks, [fix])


def _deep_merge(base: Any, over: Any) -> Any:
    if not isinstance(base, dict) or not isinstance(over, dict):
        return over
    found = dict(base)
    for key, value in over.items():
        if value is None:
            found.pop(key, None)
        else:
            found[key] = _deep_merge(base[key], value) if key in base else value
    return found


def _merge(rng: np.random.Generator) -> Scenario:
    root, base = _root(rng), _settings(rng)
    over: dict[str, Any] = {
        "service": {"port": between(rng, 9100, 9900), "debug": None},
        "owners": ["night-shift"],
        "limits": {"upload_mb": between(rng, 300, 900), "files": between(rng, 2, 9)},
        "mail": {"from": f"robot@{pick(rng, SERVICES)}.example"},
    }
    for key in some(rng, list(over), between(rng, 0, 2)):
        over.pop(key)
    over["database"] = {"pool": None, **pick(rng, ({"host": "db-local"}, {"password_file": "/run/secret"}))}
    out = f"{root}/effective.json"
    files = {
        f"{root}/base.json": file(json.dumps(base, indent=2) + "\n"),
        f"{root}/local.json": file(json.dumps(over, indent=2) + "\n"),
    }
    ask = (
        f"Merge {root}/local.json over {root}/base.json into the new file {out}. Objects are merged key by key, "
        f"at any depth; any "
        "other value of local.json, lists too, replaces the one of base.json. A null in local.json removes the "
        "key; a null that "
        "is only in base.json stays. Leave both files as they are."
    )
    code = (
        "import json\ndef merge(a, b):\n    if not (isinstance(a, dict) and isinstance(b, dict)):\n        return b\n"
        "    r = dict(a)\n    for k, v in b.items():\n        if v is None:\n            r.pop(k, None)\n        "
        "else:\n"
        "            r[k] = merge(a.get(k), v)\n    return r\n"
        f"a, b = (json.load(open(f'{root}/{{n}}.json')) for n in ('base', 'local'))\n"
        f"json.dump(merge(a, b), open('{out}', 'w'), indent=2)"
    )
    checks = [FileCheck(path=out, text=json.dumps(_deep_merge(base, over)), compare="json"), *unchanged(files)]
    return Scenario(opening(rng) + ask, files, checks, [f"python3 - <<'END'\n{code}\nEND"])


def _precedence(rng: np.random.Generator) -> Scenario:
    root, out = _root(rng), answer_path(rng, "env")
    order = ["defaults.env", "site.env", pick(rng, ("local.env", ".env"))]
    keys = some(rng, ("CACHE", "COLOR", "HOST", "LEVEL", "MODE", "PORT", "REGION", "RETRIES", "TIMEOUT"), 7)
    values: dict[str, str] = {}
    files: dict[str, Entry] = {}
    for number, name in enumerate(order):
        text = ["# " + name, ""]
        for key in shuffled(rng, keys if number == 0 else some(rng, keys, 3 + number)):
            value = pick(
                rng, (str(between(rng, 1, 9999)), pick(rng, TOWNS), pick(rng, SERVICES), f"a={between(rng, 1, 9)}", "")
            )
            quote = pick(rng, ("", '"', "'"))
            values[key] = value
            text.append(f"{pick(rng, ('', '', 'export '))}{key}={quote}{value}{quote}")
            if len(text) % 3 == 0:
                text.append(pick(rng, (f"#{key}=commented", f"  # {key}=old", "")))
        again = f"{between(rng, 1, 99)}"
        text.append(f"{keys[number]}={again}")
        values[keys[number]] = again
        files[f"{root}/{name}"] = file(lines(text))
    empty = keys[5]
    files[f"{root}/{order[2]}"] = file((files[f"{root}/{order[2]}"].text or "") + f"{empty}=\n")
    values[empty] = ""
    ask = (
        f"A service reads {root}/{order[0]}, then {order[1]}, then {order[2]} there. The last assignment of a "
        f"variable counts, "
        "also within a file, even when its value is empty. Lines that begin with # (maybe after blanks) and "
        "empty lines do not "
        "count; the word `export ` before a name means nothing; a pair of quotes around the whole value is no "
        "part of it. Write "
        f"the values that hold in the end to {out}: one line `NAME=value` each, without quotes, sorted by NAME. "
        f"Leave the three "
        "files as they are."
    )
    names = " ".join(f"{root}/{name}" for name in order)
    command = (
        f"sed -e '/^ *#/d' -e '/^ *$/d' -e 's/^export //' {names} | awk "
        f'\'{{ i = index($0, "="); k = substr($0, 1, i - 1); '
        'v = substr($0, i + 1)\nif (v ~ /^".*"$/ || v ~ /^\\047.*\\047$/) v = substr(v, 2, length(v) - 2)\n'
        f'n[k] = v }} END {{ for (k in n) print k "=" n[k] }}\' | LC_ALL=C sort > {out}'
    )
    checks = [FileCheck(path=out, text=lines(f"{key}={values[key]}" for key in sorted(values))), *unchanged(files)]
    return Scenario(opening(rng) + ask, files, checks, [command])


def _ports(rng: np.random.Generator) -> Scenario:
    root, first = f"{_root(rng)}/services", between(rng, 30, 80) * 100
    names = sorted(some(rng, SERVICES, between(rng, 5, 8)))
    pool = [first + n for n in range(4)]
    wanted = {name: pick(rng, pool[1:]) for name in names}
    # The second has to move, and the lowest port seems free until the last file is read.
    wanted |= {names[0]: pool[1], names[1]: pool[1], names[-1]: first}
    taken = set(wanted.values())
    seen: set[int] = set()
    given: dict[str, int] = {}
    for name in names:
        port = wanted[name]
        if port in seen:
            port = next(p for p in range(first, first + 99) if p not in taken)
        taken.add(port)
        seen.add(port)
        given[name] = port
    files = {}
    for name in names:
        files[f"{root}/{name}.ini"] = file(
            f"[service]\nname = {name}\nport = {wanted[name]}\nbacklog = {wanted[name]}\n"
        )
    spare = {f"{root}/old.ini.bak": file(f"[service]\nname = old\nport = {first + 4}\n")}
    ask = (
        f"Each file {root}/*.ini has the port of a service, and several want the same one. Go through the files "
        f"in alphabetical "
        f"order: a service keeps its port unless an earlier file has the same; then it gets the lowest port from "
        f"{first} upwards "
        "that no file *.ini has at that time, neither from the beginning nor by a change you made before. Change "
        "only the lines "
        "`port = ...` that have to change."
    )
    code = (
        f"import glob, re\nnames = sorted(glob.glob('{root}/*.ini'))\n"
        "text = {n: open(n).read() for n in names}\nport = {n: int(re.search(r'(?m)^port = (\\d+)', t)[1]) for "
        "n, t in text.items()}\n"
        "taken, seen = set(port.values()), set()\nfor n in names:\n    p = port[n]\n    if p in seen:\n"
        f"        p = next(q for q in range({first}, 65536) if q not in taken)\n"
        "        open(n, 'w').write(re.sub(r'(?m)^port = .*', f'port = {p}', text[n]))\n    taken.add(p)\n    "
        "seen.add(p)"
    )
    checks: list[Check] = [
        shows(SHOW_INI, path, {"service": {"name": name, "port": str(given[name]), "backlog": str(wanted[name])}})
        for name, path in zip(names, files, strict=True)
    ]
    return Scenario(
        opening(rng) + ask, {**files, **spare}, [*checks, *unchanged(spare)], [f"python3 - <<'END'\n{code}\nEND"]
    )


def _fragments(rng: np.random.Generator) -> Scenario:
    root = f"{_root(rng)}/conf.d"
    out = f"{root.rpartition('/')[0]}/effective.ini"
    names = [
        "10-base.conf",
        "9-late.conf",
        "20-site.conf",
        "30 night shift.conf",
        ".hidden.conf",
        "40-old.conf.disabled",
        "Z-last.conf",
    ]
    sections, keys = some(rng, SERVICES, 3), ("host", "port", "retries", "timeout")
    found: dict[str, dict[str, str]] = {}
    files: dict[str, Entry] = {}
    counted = sorted(name for name in names if name.endswith(".conf") and name[0] != ".")
    for name in counted + [name for name in names if name not in counted]:
        part: dict[str, dict[str, str]] = {}
        for section in some(rng, sections, between(rng, 2, 3)):
            part[section] = {key: str(between(rng, 1, 9999)) for key in some(rng, keys, between(rng, 1, 3))}
            if name not in counted:  # whoever reads it too gets a key too many
                part[section]["extra"] = "yes"
            elif name in ("9-late.conf", "10-base.conf"):  # the order of texts, not of numbers
                part[section]["timeout"] = f"{len(name)}00"
            if name == "Z-last.conf" and section in found and found[section]:
                part[section] = {sorted(found[section])[0]: "unset"}
        where = f"{root.rpartition('/')[0]}/available/{name}" if name == "20-site.conf" else f"{root}/{name}"
        files[where] = file(ini_text(part, name))
        if name == "20-site.conf":
            files[f"{root}/{name}"] = link(f"../available/{name}")
        for section, values in part.items() if name in counted else ():
            for key, value in values.items():
                found.setdefault(section, {})[key] = value
                if value == "unset":
                    del found[section][key]
    found = {section: values for section, values in found.items() if values}
    ask = (
        f"A program reads the files in {root} whose names end in .conf and do not begin with a dot, links too, in "
        f"the order of "
        "`LC_ALL=C sort` of their names. A later value of a key in a section replaces the earlier one; the value "
        "`unset` removes "
        f"the key. Write the settings that hold in the end to {out}, an INI file with `key = value` lines; a "
        f"section without keys "
        "is left out. Order and comments do not matter. Leave the files as they are."
    )
    code = (
        f"import configparser, os, sys\nroot = '{root}'\nnew = {{}}\nfor name in sorted(os.listdir(root)):\n"
        "    if name.endswith('.conf') and not name.startswith('.'):\n        c = configparser.ConfigParser()\n"
        "        c.read(os.path.join(root, name))\n        for s in c.sections():\n            for k, v in "
        "c[s].items():\n"
        "                new.setdefault(s, {})[k] = v\n                if v == 'unset':\n                    del "
        "new[s][k]\n"
        "c = configparser.ConfigParser()\nc.read_dict({s: d for s, d in new.items() if d})\n"
        f"c.write(open('{out}', 'w'))"
    )
    checks = [shows(SHOW_INI, out, found), *unchanged(files)]
    return Scenario(opening(rng) + ask, files, checks, [f"python3 - <<'END'\n{code}\nEND"])


def _move_port(rng: np.random.Generator) -> Scenario:
    root = f"{_root(rng)}/sites"
    old = between(rng, 300, 320) * 10
    new = between(rng, 700, 720) * 10
    texts: dict[str, str] = {}
    after: dict[str, str] = {}
    names = [f"{name}.conf" for name in some(rng, SERVICES, 4)] + ["-extra.conf", "night shift.conf", "notes.txt"]
    for number, name in enumerate(names):
        other = pick(rng, (f"http://127.0.0.1:{old}5", f"http://10.0.0.7:{old}", f"http://127.0.0.1:{old + 1}"))
        other = other if number else f"http://127.0.0.1:{old}5"  # a port that begins alike
        host = "127.0.0.1" if number % 2 == 0 else pick(rng, ("127.0.0.1", "localhost"))
        parts = [
            f"# was http://127.0.0.1:{old} once", "server {", f"    listen {pick(rng, (old, 8000 + number))};",
            f"    location /a {{ proxy_pass http://{host}:@{pick(rng, ('', '/api', '/v1/x'))}; }}",
            f"    location /b {{ proxy_pass {other}; }}", f"    limit {old};", "}",
        ]  # fmt: skip
        texts[f"{root}/{name}"] = lines(parts).replace("@", str(old))
        after[f"{root}/{name}"] = lines(parts).replace("@", str(new if name.endswith(".conf") else old))
    ask = (
        f"The program behind the sites in {root} moves from port {old} to port {new} of this machine. In all "
        f"files there whose "
        f"names end in .conf change every `proxy_pass` to 127.0.0.1 or localhost with port {old}, so that it has "
        f"port {new}; "
        "host and path stay. Nothing else may change: not the comments, not `listen`, not other machines or "
        "ports, no other "
        "files."
    )
    command = (
        f"cd {root} && sed -i -E '/^ *#/!s/(proxy_pass "
        f"http:\\/\\/(127\\.0\\.0\\.1|localhost)):{old}([;\\/])/\\1:{new}\\3/' ./*.conf"
    )
    checks = [FileCheck(path=path, text=text) for path, text in after.items()]
    return Scenario(opening(rng) + ask, {path: file(text) for path, text in texts.items()}, checks, [command])


def _convert(rng: np.random.Generator) -> Scenario:
    root = _root(rng)
    path, out = f"{root}/legacy.ini", f"{root}/settings.json"
    text, found = [f"; {pick(rng, COMPANIES)}"], {}  # type: tuple[list[str], dict[str, Any]]
    for name in some(rng, SERVICES, 3):
        kind = {"yes": True, "no": False, "on": True, "off": False}
        word, number = pick(rng, list(kind)), between(rng, -40, 5000)
        zip_code, items = f"0{between(rng, 1000, 9999)}", some(rng, TOWNS, between(rng, 2, 3))
        values: dict[str, tuple[str, Any]] = {
            "enabled": (word.upper() if number % 2 else word, kind[word]),
            "limit": (str(number), number),
            "postcode": (zip_code, zip_code),
            "towns": (" , ".join(items), items),
            "motto": (f"one = {number}; two # three", f"one = {number}; two # three"),
            "version": (f"1.{number % 10}", f"1.{number % 10}"),
        }
        text += ["", f"[{name}]"]
        group = found.setdefault(name, {})
        for key in shuffled(rng, list(values)):
            if key in ("enabled", "limit") or rng.random() < 0.75:
                text.append(f"{key.upper() if rng.random() < 0.3 else key} = {values[key][0]}")
                group[key] = values[key][1]
    ask = (
        f"Convert {path} to JSON in {out}: an object with an object for each section. Blanks around keys and "
        f"values do not count. Keys become lower case. "
        f"Values: yes, no, on, "
        "off in any case become true or false; whole numbers, maybe with a minus sign and without leading zeros, "
        "become numbers; "
        "a value with a comma becomes the list of its parts, without blanks around them, as strings; all others "
        "are strings as "
        f"they are. A key ends at the first `=`; lines that begin with `;` are comments. Leave {path} as it is."
    )
    code = (
        "import json, re\nout = {}\n"
        f"for line in open('{path}'):\n    line = line.strip()\n    if not line or line[0] == ';':\n        continue\n"
        "    if line[0] == '[':\n        part = out.setdefault(line[1:-1], {})\n        continue\n"
        "    k, _, v = (x.strip() for x in line.partition('='))\n    low = v.lower()\n"
        "    if low in ('yes', 'on', 'no', 'off'):\n        v = low in ('yes', 'on')\n"
        "    elif re.fullmatch(r'-?(0|[1-9][0-9]*)', v):\n        v = int(v)\n"
        "    elif ',' in v:\n        v = [x.strip() for x in v.split(',')]\n    part[k.lower()] = v\n"
        f"json.dump(out, open('{out}', 'w'), indent=1)"
    )
    files = {path: file(lines(text))}
    checks = [FileCheck(path=out, text=json.dumps(found), compare="json"), *unchanged(files)]
    return Scenario(opening(rng) + ask, files, checks, [f"python3 - <<'END'\n{code}\nEND"])


_GOALS = {
    1: (_json_syntax, _ini_set, _env_syntax),
    2: (_block_syntax, _merge, _precedence, _ports),
    3: (_fragments, _move_port, _convert),
}
