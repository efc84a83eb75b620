"""A second scorer, written from METHOD.md (sections 1, 5, 6 and 9) before and apart from the one in
src/judge/score: tests compare the two. Standard library only.

    reference.py < ASKED      a list of {"home": DIR, "weights": …}; a list of documents comes back

It reads what the worker writes: runs/<id>/manifest.json, runs/<id>/journal.jsonl, and gold's
calibration/<key>.json in the home or calibration/*.json in the task's folder.
"""

import json
import math
import os
import sys
from collections import Counter, defaultdict
from fractions import Fraction

SUITES = ("official", "probes")
REFUSED = ("empty", "missing", "apply", "build", "environment")
BADGES = (
    "limit",
    "uncalibrated",
    "unprobed",
    "unisolated",
    "suspect",
    "could-read-upstream",
    "extended",
)
DIMENSIONS = ("area", "repository", "kind", "gpus")
Z = 1.959963984540054  # 97.5 % of the normal distribution


# --- reading -----------------------------------------------------------------------------------


def plain_toml(path):
    """Sections with `key = "text"` or `key = number`: all that is asked for here."""
    found, section = {}, ""
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            line = line.strip()
            if line.startswith("["):
                section = line.strip("[]") + "."
            elif "=" in line:
                key, value = (part.strip() for part in line.split("=", 1))
                try:
                    found[section + key] = json.loads(value)
                except ValueError:
                    pass  # a value of another kind
    return found


def read_json(path):
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError):
        return None


class State:
    """What the journal's lines add up to."""

    def __init__(self, path):
        self.suites = {}  # (subject, suite) -> {"cases": {id: outcome}, "finished": bool}
        self.twins, self.disagreed, self.keys = {}, set(), {}
        self.engine = self.agent = self.captured = self.started = None
        self.maker = {}  # the agent that was started last
        self.clear()
        try:
            with open(path, "rb") as file:
                lines = file.read().split(b"\n")
        except OSError:
            lines = []
        for line in lines:
            try:
                record = json.loads(line)
            except ValueError:
                continue  # torn
            if isinstance(record, dict):
                self.take(record)

    def clear(self):
        self.grade = self.fault = self.exit = None
        self.cancelled = False

    def forget(self):
        for place in [p for p in self.suites if p[0] == "submission"]:
            del self.suites[place]
        self.twins, self.disagreed = {}, set()

    def suite(self, event):
        place = (event["subject"], event["suite"])
        return self.suites.setdefault(place, {"cases": {}, "finished": False})

    def take(self, e):
        kind = e.get("event")
        if kind == "run_started":
            # a run that is taken up again keeps the suites that were finished
            self.suites = {p: s for p, s in self.suites.items() if s["finished"]}
            self.disagreed = {s for s in self.disagreed if ("submission", s) in self.suites}
            machine = (e["host"], e["boot"])
            ended = self.agent is not None and "end" in self.agent
            if self.captured is None and not (self.started == machine and ended):
                self.agent = None
            self.started = machine
            self.clear()
        elif kind == "engine_chosen":
            if self.engine != e["engine"]:
                self.suites = {}
                self.forget()
            self.engine = e["engine"]
        elif kind == "calibrated":
            before = self.keys.get(e.get("suite"))
            if e.get("suite") and before and before != e["key"]:
                self.forget()
            self.keys[e.get("suite")] = e["key"]
        elif kind == "agent_started":
            self.forget()
            self.captured = None
            self.agent = {"network": e["network"]}
            self.maker = e
        elif kind == "agent_ended" and self.agent is not None:
            self.agent["end"] = e["end"]["how"]
        elif kind == "captured":
            agent = self.agent or {}
            self.captured = {
                "limit": agent.get("end") in ("limit", "killed"),
                "could-read-upstream": agent.get("network") == "open",
            }
        elif kind == "case_finished":
            result = e["result"]
            self.suite(e)["cases"][result["id"]] = result["outcome"]
        elif kind == "collected":
            self.suite(e)
        elif kind == "suite_finished":
            self.suite(e)["finished"] = True
        elif kind == "twins":
            self.twins[e["suite"]] = e["passed"]
        elif kind == "disagreed" and e["subject"] == "submission":
            self.disagreed.add(e["suite"])
        elif kind == "graded":
            self.grade = e["grade"]
        elif kind == "fault":
            self.fault = e["message"]
        elif kind == "cancelled":
            self.cancelled = True
        elif kind == "run_finished":
            self.exit = e["exit"]


class Store:
    def __init__(self, home):
        self.home, self.tasks = home, {}
        runs = os.path.join(home, "runs")
        self.folders = [
            os.path.join(runs, name)
            for name in sorted(os.listdir(runs))
            if os.path.isfile(os.path.join(runs, name, "manifest.json"))
        ]

    def facts(self, task, folder):
        if task not in self.tasks:
            try:
                found = plain_toml(os.path.join(folder, "task.toml"))
            except OSError:
                found = {}
            gpus = str(found.get("hardware.gpus", 0)) if found else None
            facts = {d: found.get(d) for d in DIMENSIONS}
            self.tasks[task] = {**facts, "gpus": gpus}
        return self.tasks[task]

    def gold(self, key, suite, folder):
        """Gold's cases under a key, by id; None: nothing is kept; False: it does not add up."""
        own = read_json(os.path.join(self.home, "calibration", key + ".json"))
        shipped = os.path.join(folder, "calibration")
        names = sorted(os.listdir(shipped)) if os.path.isdir(shipped) else []
        for found in [own] + [read_json(os.path.join(shipped, n)) for n in names]:
            part = (found or {}).get("suites", {}).get(suite)
            if part is None or part["key"] != key:
                continue
            cases = {c["id"]: c["outcome"] for c in part["cases"]}
            doubled = len(cases) != len(part["cases"])
            for case in part["cases"]:
                runs = [r["outcome"] for r in case.get("runs", [])]
                # passed where every run passed it: a flaky case is none that gold passes
                if runs and (case["outcome"] == "passed") != all(r == "passed" for r in runs):
                    doubled = True
            if doubled or "passed" not in cases.values():
                return False
            return cases
        return None


def configuration(store, folder, manifest, state):
    source = manifest["source"]
    known = dict.fromkeys(("model", "agent", "effort", "prompt", "skill"))
    if source["kind"] == "submission":
        path = os.path.join(
            manifest["task_dir"], "submissions", source["name"], "submission.toml"
        )
        # a folder without task.toml is no task
        task = os.path.join(manifest["task_dir"], "task.toml")
        if os.path.isfile(task) and os.path.isfile(path):
            found = plain_toml(path)
            for key in ("model", "agent", "effort"):
                known[key] = found.get(key)
    elif source["kind"] == "agent":
        known["agent"] = source["name"]
        if source["run"] != manifest["run"]:  # graded again: what made it stands in that run
            other = os.path.join(store.home, "runs", source["run"])
            manifest = read_json(os.path.join(other, "manifest.json")) or {}
            state = State(os.path.join(other, "journal.jsonl"))
        order = manifest.get("agent") or {}
        known["model"] = state.maker.get("model") or order.get("model")
        known["prompt"] = state.maker.get("prompt") or order.get("prompt")
    return tuple(known[k] for k in ("model", "agent", "effort", "prompt", "skill"))


def origin(manifest):
    source = manifest["source"]
    return (source["kind"], source.get("name"), source.get("run"), source.get("file"))


def standing(store, manifest, state):
    """("counted", run) | ("fault", None) | ("left_out", reason)"""
    source = manifest["source"]["kind"]
    if manifest.get("work", {}).get("kind", "grade") != "grade":
        return "left_out", "calibration"
    if source in ("gold", "base"):
        return "left_out", "reference"
    if manifest.get("only") or manifest.get("parent"):
        return "left_out", "chosen_cases"
    if manifest["suites"] != "all":
        return "left_out", "part_of_suites"
    if state.exit is None:
        return "left_out", "unfinished"
    if state.cancelled:
        return "left_out", "cancelled"
    if state.fault is not None:
        return ("left_out", "refused_order") if state.exit == 2 else ("fault", None)
    if state.grade is None:
        return "left_out", "no_grade"
    if "official" not in state.keys:
        return "left_out", "no_calibration"
    run = {"suites": {}}
    stored = state.grade
    cause = stored["cause"]
    refused = cause in REFUSED
    run["void"] = any(state.twins.values()) or stored["verdict"] == "void"
    golds = {}
    for suite in SUITES:
        if suite in state.keys:
            golds[suite] = store.gold(state.keys[suite], suite, manifest["task_dir"])
    if any(gold is None for gold in golds.values()):
        return "left_out", "no_calibration"
    if any(gold is False for gold in golds.values()):
        return "left_out", "invalid"
    for suite, gold in golds.items():
        seen = state.suites.get(("submission", suite), {"cases": {}})["cases"]
        passed = {c for c, outcome in seen.items() if outcome == "passed" and c in gold}
        if run["void"] or (refused and cause != "environment"):
            passed = set()  # score 0, in the denominator
        gold_passed = {c for c, outcome in gold.items() if outcome == "passed"}
        stands = not (run["void"] or refused)
        run["suites"][suite] = {
            "collected": len(gold),
            "gold_passed": len(gold_passed),
            "passed": len(passed),
            "score": len(passed) / len(gold),
            "resolved": stands and len(passed) >= len(gold_passed),
            "strict": stands and gold_passed <= passed,
        }
    suites = run["suites"].values()
    total = {k: sum(s[k] for s in suites) for k in ("collected", "gold_passed", "passed")}
    run["joint"] = {
        "score": total["passed"] / total["collected"],
        "resolved": all(s["resolved"] for s in suites),
        "strict": all(s["strict"] for s in suites),
        **total,
    }
    run["union"] = not run["void"] and not refused and total["passed"] >= total["gold_passed"]
    run["probed"] = "probes" in golds
    run["cause"] = cause
    run["badges"] = set(stored["badges"]) - {"unprobed"}
    run["badges"] |= {"suspect"} if state.disagreed else set()
    run["badges"] |= {b for b, has in (state.captured or {}).items() if has}
    run["badges"] |= set() if run["probed"] else {"unprobed"}
    run["verdict"] = (
        "void"
        if run["void"]
        else "resolved"
        if run["joint"]["resolved"]
        else "official_only"
        if run["suites"]["official"]["resolved"]
        else "failed"
    )
    says = {
        s: {k: part[k] for k in ("collected", "gold_passed", "passed")}
        for s, part in stored["suites"].items()
    }
    means = {
        s: {k: part[k] for k in ("collected", "gold_passed", "passed")}
        for s, part in run["suites"].items()
    }
    off = run["suites"]["official"]
    if (
        says != means
        or stored["verdict"] != run["verdict"]
        or stored["resolved"] != run["joint"]["resolved"]
        or stored["resolved_strict"] != run["joint"]["strict"]
        or stored["resolved_official"] != off["resolved"]
        or stored["resolved_official_strict"] != off["strict"]
        or stored["task"] != manifest["task"]
        or stored["run"] != manifest["run"]
    ):
        return "left_out", "disagrees"
    return "counted", run


# --- figures -----------------------------------------------------------------------------------


def mean(values):
    values = list(values)
    return sum(values) / len(values) if values else None


def spread(values):
    """Sample variance."""
    values = list(values)
    if len(values) < 2:
        return None
    middle = mean(values)
    return sum((v - middle) ** 2 for v in values) / (len(values) - 1)


def by_task(runs):
    groups = defaultdict(list)
    for run in runs:
        groups[run["task"]].append(run)
    return dict(sorted(groups.items()))


def rate(runs, solved):
    n, c = len(runs), sum(map(solved, runs))
    found = {"count": c, "of": n, "rate": None, "low": None, "high": None}
    found.update(standard_error=None, task_mean=None)
    if n:
        p = c / n
        centre = (p + Z * Z / (2 * n)) / (1 + Z * Z / n)
        half = Z * math.sqrt(p * (1 - p) / n + Z * Z / (4 * n * n)) / (1 + Z * Z / n)
        found.update(rate=p, low=max(0.0, centre - half), high=min(1.0, centre + half))
        found.update(standard_error=math.sqrt(p * (1 - p) / n))
        found.update(task_mean=mean(mean(map(solved, r)) for r in by_task(runs).values()))
    return found


def means(runs, part):
    parts = [part(r) for r in runs]
    passed, collected = sum(p["passed"] for p in parts), sum(p["collected"] for p in parts)
    tasks = [mean(part(r)["score"] for r in group) for group in by_task(runs).values()]
    return {
        "macro_mean": mean(tasks),
        "pooled": passed / collected if collected else None,
        "passed": passed,
        "collected": collected,
    }


def official(run):
    return run["suites"]["official"]


def joint(run):
    return run["joint"]


def headline(runs):
    judges = {}
    for name, part in (("official", official), ("joint", joint)):
        judges[name] = {
            "score": means(runs, part),
            "resolved": rate(runs, lambda r, part=part: part(r)["resolved"]),
            "strict": rate(runs, lambda r, part=part: part(r)["strict"]),
        }
    off, both = (judges[j]["resolved"]["count"] for j in ("official", "joint"))
    probed = [r for r in runs if r["probed"]]
    tasks = len(by_task(runs))
    return {
        "runs": len(runs),
        "tasks": tasks,
        **judges,
        "probes": means(probed, lambda r: r["suites"]["probes"]),
        "resolved_pooled": rate(runs, lambda r: r["union"]),
        "gap": {
            "official": off,
            "joint": both,
            "of": len(runs),
            "conditional": (off - both) / off if off else None,
            "points": 100 * (off - both) / len(runs) if runs else None,
        },
        "task_weight_points": 100 / tasks if tasks else None,
    }


def totals(runs):
    def differs(part):
        return sorted({r["task"] for r in runs if part(r)["resolved"] != part(r)["strict"]})

    return {
        "all": headline(runs),
        "probed": headline([r for r in runs if r["probed"]]),
        "without_suspects": headline([r for r in runs if "suspect" not in r["badges"]]),
        "verdicts": {
            v: sum(r["verdict"] == v for r in runs)
            for v in ("resolved", "official_only", "failed", "void")
        },
        "causes": dict(Counter(r["cause"] for r in runs if r["cause"])),
        "badges": dict(Counter(b for r in runs for b in r["badges"])),
        "strict_differs": {"official": differs(official), "joint": differs(joint)},
    }


def slices(runs, facts):
    found = {}
    for dimension in DIMENSIONS:
        groups = defaultdict(list)
        for run in runs:
            groups[facts[run["task"]][dimension]].append(run)
        whole = len(by_task(runs))
        found[dimension] = [
            {
                "value": value,
                "runs": len(part),
                "tasks": len(by_task(part)),
                "share_of_runs": len(part) / len(runs),
                "share_of_tasks": len(by_task(part)) / whole,
                "headline": headline(part),
            }
            for value, part in sorted(
                groups.items(), key=lambda g: (g[0] is not None, g[0] or "")
            )
        ]
    return found


def mcnemar(b, c):
    n = b + c
    tail = sum(math.comb(n, k) for k in range(min(b, c) + 1))
    return float(min(Fraction(1), Fraction(2 * tail, 2**n)))


def transition(first, second, tasks, part):
    cells = {"both": 0, "fixed": 0, "regressed": 0, "neither": 0}
    fixes, regressions = [], []
    rates = [0, 0]
    for task in tasks:
        share = [
            Fraction(sum(part(r)["resolved"] for r in side[task]), len(side[task]))
            for side in (first, second)
        ]
        rates = [rates[i] + share[i] for i in (0, 1)]
        # with repeats a task is solved where more than half of its runs are
        before, after = (s > Fraction(1, 2) for s in share)
        if before and after:
            cells["both"] += 1
        elif after:
            cells["fixed"] += 1
            fixes.append(task)
        elif before:
            cells["regressed"] += 1
            regressions.append(task)
        else:
            cells["neither"] += 1
    n = len(tasks)
    return {
        **cells,
        "fixes": fixes,
        "regressions": regressions,
        "p_value": mcnemar(cells["fixed"], cells["regressed"]) if n else None,
        "rate_a": float(rates[0] / n) if n else None,
        "rate_b": float(rates[1] / n) if n else None,
        "difference_points": float(100 * (rates[1] - rates[0]) / n) if n else None,
    }


def compare(a, b, runs_a, runs_b):
    first, second = by_task(runs_a), by_task(runs_b)
    tasks = sorted(set(first) & set(second))
    return {
        "a": a,
        "b": b,
        "tasks": len(tasks),
        "repeated_tasks": sum(len(first[t]) > 1 or len(second[t]) > 1 for t in tasks),
        "only_a": sorted(set(first) - set(second)),
        "only_b": sorted(set(second) - set(first)),
        "official": transition(first, second, tasks, official),
        "joint": transition(first, second, tasks, joint),
    }


def repeats(runs):
    groups = by_task(runs)
    most = max(map(len, groups.values()), default=0)
    at_k = []
    for k in range(1, most + 1):
        enough = [group for group in groups.values() if len(group) >= k]
        row = {"k": k, "tasks": len(enough)}
        for name, part in (("official", official), ("joint", joint)):
            some, every = [], []
            for group in enough:
                m, c = len(group), sum(part(r)["resolved"] for r in group)
                some.append(1 - math.comb(m - c, k) / math.comb(m, k))
                every.append(math.comb(c, k) / math.comb(m, k))
            row[name + "_pass"], row[name + "_all"] = mean(some), mean(every)
        at_k.append(row)
    return {
        "repeated_tasks": sum(len(g) > 1 for g in groups.values()),
        "most": most,
        "graded_again": sum(len(g) - len({r["origin"] for r in g}) for g in groups.values()),
        "at_k": at_k,
        "by_task": [
            {
                "task": task,
                "runs": len(group),
                "official": sum(official(r)["resolved"] for r in group),
                "joint": sum(joint(r)["resolved"] for r in group),
                "score_variance": spread(joint(r)["score"] for r in group),
                "resolved_variance": spread(float(joint(r)["resolved"]) for r in group),
            }
            for task, group in groups.items()
            if len(group) > 1
        ],
    }


def ranking(rates):
    """[(configuration, rate)] with ranks; equal rates share one."""
    ranked = [(c, r) for c, r in rates if r is not None]
    rows = [
        {"rank": 1 + sum(o > r + 1e-12 for _, o in ranked), "configuration": c, "rate": r}
        for c, r in ranked
    ]
    return sorted(rows, key=lambda row: (row["rank"], row["configuration"]))


def reweighted(groups, by, weights, facts):
    rows = []
    for index, runs in groups.items():
        parts = {s["value"]: s["headline"] for s in slices(runs, facts)[by]} if runs else {}
        wanted = {v: w for v, w in weights.items() if w > 0}
        missing = sorted(v for v in wanted if v not in parts)
        row = {"configuration": index, "missing": missing}
        for name, pick in (
            ("official", lambda h: h["official"]["resolved"]["task_mean"]),
            ("joint", lambda h: h["joint"]["resolved"]["task_mean"]),
            ("score", lambda h: h["joint"]["score"]["macro_mean"]),
        ):
            row[name] = (
                None
                if missing
                else sum(w * pick(parts[v]) for v, w in wanted.items()) / sum(wanted.values())
            )
        rows.append(row)
    return rows


# --- all together ------------------------------------------------------------------------------


def score(home, weights=None):
    store = Store(home)
    read = []
    for folder in store.folders:
        manifest = read_json(os.path.join(folder, "manifest.json"))
        with open(os.path.join(folder, "manifest.json"), "rb") as file:
            raw = file.read()
        journal = os.path.join(folder, "journal.jsonl")
        if os.path.exists(journal):
            with open(journal, "rb") as file:
                raw += b"\0" + file.read()
        read.append((folder, manifest, raw))
    copies = defaultdict(list)
    for folder, manifest, raw in read:
        copies[manifest["run"] if manifest else folder].append((folder, raw))
    entries = []
    for folder, manifest, raw in read:
        if manifest is None:
            name = os.path.basename(folder)
            entries.append(
                {"run": name, "task": None, "config": None, "is": ("left_out", "unreadable")}
            )
            continue
        state = State(os.path.join(folder, "journal.jsonl"))
        same = copies[manifest["run"]]
        if len({r for _, r in same}) > 1:
            found = ("left_out", "conflict")
        elif folder != same[0][0]:
            found = ("left_out", "duplicate")
        else:
            found = standing(store, manifest, state)
        store.facts(manifest["task"], manifest["task_dir"])
        work = manifest.get("work", {}).get("kind", "grade")
        submission = manifest["source"]["kind"] not in ("gold", "base") and work == "grade"
        entries.append(
            {
                "run": manifest["run"],
                "task": manifest["task"],
                "config": configuration(store, folder, manifest, state) if submission else None,
                "origin": origin(manifest),
                "keys": tuple(state.keys.get(s) for s in SUITES),
                "is": found,
            }
        )
    names = sorted(
        {e["config"] for e in entries if e["config"] is not None},
        key=lambda c: [(v is not None, v or "") for v in c],
    )
    for entry in entries:
        entry["index"] = None if entry["config"] is None else names.index(entry["config"])
    counted = []
    for entry in entries:
        if entry["is"][0] == "counted":
            counted.append({**entry, **entry["is"][1]})
    counted.sort(key=lambda r: (r["task"], r["index"], r["run"]))
    faults = [e for e in entries if e["is"][0] == "fault"]
    left_out = [e for e in entries if e["is"][0] == "left_out"]
    groups = {i: [r for r in counted if r["index"] == i] for i in range(len(names))}
    facts = store.tasks
    present = {i: runs for i, runs in groups.items() if runs}
    tasks = by_task(counted)

    def solved(part):
        shares = {t: [part(r)["resolved"] for r in group] for t, group in tasks.items()}
        return {
            "by_none": [t for t, s in shares.items() if not any(s)],
            "by_all": [t for t, s in shares.items() if all(s)],
        }

    result = {
        "schema": 1,
        "runs": {
            "given": len(entries),
            "counted": len(counted),
            "faults": len(faults),
            "left_out": len(left_out),
        },
        "scored": [
            {
                "run": r["run"],
                "task": r["task"],
                "configuration": r["index"],
                "verdict": r["verdict"],
                "official": official(r),
                "probes": r["suites"].get("probes"),
                "joint": r["joint"],
                "resolved_pooled": r["union"],
                "badges": sorted(r["badges"], key=BADGES.index),
            }
            for r in counted
        ],
        "faults": [
            {"task": e["task"], "configuration": e["index"], "run": e["run"]}
            for e in sorted(faults, key=lambda e: (e["task"], e["index"], e["run"]))
        ],
        "left_out": [
            {"run": r, "task": t, "configuration": i, "reason": w}
            for r, w, t, i in sorted(
                ((e["run"], e["is"][1], e["task"], e["index"]) for e in left_out),
                key=lambda k: (k[0], k[1]),
            )
        ],
        "total": totals(counted),
        "total_slices": slices(counted, facts),
        "configurations": [
            {
                "configuration": dict(zip(("model", "agent", "effort", "prompt", "skill"), name)),
                "totals": totals(groups[i]),
                "slices": slices(groups[i], facts),
                "repeats": repeats(groups[i]),
                "faults": [
                    {"task": t, "runs": n}
                    for t, n in sorted(Counter(e["task"] for e in faults if e["index"] == i).items())
                ],
            }
            for i, name in enumerate(names)
        ],
        "tasks": [
            {
                "task": task,
                **facts[task],
                "runs": len(group),
                "configurations": len({r["index"] for r in group}),
                "probed_runs": sum(r["probed"] for r in group),
                "keys": len({r["keys"] for r in group}),
                "official": sum(official(r)["resolved"] for r in group),
                "joint": sum(joint(r)["resolved"] for r in group),
            }
            for task, group in tasks.items()
        ],
        "comparisons": [
            compare(a, b, present[a], present[b]) for a in present for b in present if a < b
        ],
        "solved": {"official": solved(official), "joint": solved(joint)},
        "same_tasks": len({tuple(by_task(runs)) for runs in present.values()}) <= 1,
        "ranking": ranking(
            (i, headline(runs)["joint"]["resolved"]["task_mean"]) for i, runs in present.items()
        ),
    }
    if weights:
        rows = reweighted(present, weights["by"], weights["weights"], facts)
        result["weighted"] = {
            "by": weights["by"],
            "configurations": rows,
            "ranking": ranking((r["configuration"], r["joint"]) for r in rows),
        }
    return result


def main():
    asked = json.load(sys.stdin)
    print(json.dumps([score(each["home"], each.get("weights")) for each in asked]))


if __name__ == "__main__":
    main()
