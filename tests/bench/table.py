"""Runs rldb_bench in rounds and prints one table: figure, peer or limit of the same run, ratio, goal.

Called by scripts/bench, which builds first. Medians of all rounds; with --with=BUILD the program of another build folder
takes turns with this one, so that both see the same state of the machine.
"""
import argparse
import json
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from figures import GROWTH, MOST_GROWTH, SECTIONS

SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}


def plain(name):
    """A benchmark's name without what Google Benchmark appends."""
    return re.sub(r"/iterations:\d+|/process_time|/real_time", "", name)


def wanted_benchmarks(pattern):
    names = set()
    for title, figures in SECTIONS:
        for f in figures:
            if re.search(pattern, f"{title}: {f.title}"):
                names.add(f.benchmark)
                names.update([f.peer] if f.peer else [])
    for title, base, _, sizes in GROWTH:
        if re.search(pattern, f"Growth: {title}"):
            names.update(f"{base}/{n}" for n in sizes)
    return names


def run_round(build, names, seconds):
    """One run of each benchmark: {name: {"time": s, counters...}}."""
    appended = r"(/iterations:[0-9]+)?(/process_time)?(/real_time)?"
    filter_ = "^(" + "|".join(re.escape(n) for n in sorted(names)) + f"){appended}$"
    env = dict(os.environ, OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    done = subprocess.run([str(build / "rldb_bench"), f"--benchmark_filter={filter_}", "--benchmark_format=json",
                           f"--benchmark_min_time={seconds}"], capture_output=True, text=True, env=env)
    if done.returncode != 0:
        sys.exit(f"scripts/bench: rldb_bench ended with {done.returncode}\n{done.stderr}")
    found = {}
    text = done.stdout[done.stdout.find("{"):]
    for row in json.loads(text)["benchmarks"] if text else []:
        if row.get("error_occurred"):
            print(f"scripts/bench: {row['name']}: {row.get('error_message')}", file=sys.stderr)
            continue
        time_of = "real_time" if "/real_time" in row["name"] else "cpu_time"
        values = {k: v for k, v in row.items() if isinstance(v, (int, float))}
        values["time"] = row[time_of] * SECONDS[row["time_unit"]]
        found[plain(row["name"])] = values
    return found


def collect(builds, names, rounds, seconds):
    """{build: {name: {counter: [samples]}}}, with the builds taking turns in each round."""
    samples = [{} for _ in builds]
    for k in range(rounds):
        print(f"round {k + 1} of {rounds}", file=sys.stderr)
        for build, own in zip(builds, samples):
            for name, values in run_round(build, names, seconds).items():
                for counter, value in values.items():
                    own.setdefault(name, {}).setdefault(counter, []).append(value)
    return samples


def value_of(samples, benchmark, figure):
    values = samples.get(benchmark, {}).get(figure.counter or "time")
    if not values:
        return None
    value = statistics.median(values)
    return value * figure.scale if figure.counter else value / SECONDS[figure.unit]


def number(v):
    if v is None:
        return "-"
    return f"{v:,.0f}" if abs(v) >= 1000 else f"{v:.3g}"


def judge(value, goal, most):
    return "" if goal is None or value is None else "ok" if (value <= goal if most else value >= goal) else "MISSED"


def print_rows(header, rows):
    widths = [max(len(str(r[i])) for r in [header] + rows) for i in range(len(header))]
    for row in [header] + rows:
        cells = [str(c).ljust(w) if i == 0 else str(c).rjust(w) for i, (c, w) in enumerate(zip(row, widths))]
        print("  ".join(cells).rstrip())


def compared_with(name, old, drift):
    """The change of a time since an earlier run, without what the peers changed by: new / old."""
    before = old.get(name, {}).get("value")
    return lambda now: now / before / drift if before and now is not None else None


def drift_of(old, figures):
    """How much slower the machine is than in the earlier run, by what peers and limits take now: the median, as one of
    them may have been interrupted."""
    ratios = [f["peer"] / old[name]["peer"] for name, f in figures.items()
              if f.get("peer") and old.get(name, {}).get("peer") and f["timed"]]
    return statistics.median(ratios) if ratios else 1.0


def measure_figures(samples, pattern):
    out = {}
    for title, figures in SECTIONS:
        for f in figures:
            name = f"{title}: {f.title}"
            if not re.search(pattern, name):
                continue
            value = value_of(samples, f.benchmark, f)
            if value is None:
                continue
            peer = value_of(samples, f.peer, f) if f.peer else None
            out[name] = {"value": value, "unit": f.unit, "peer": peer, "peer_title": f.peer_title if peer else "",
                         "ratio": value / peer if peer else None, "goal": f.goal, "of": f.of, "most": f.most,
                         "timed": f.unit in SECONDS}
    return out


def print_figures(figures, old, other):
    drift = drift_of(old, figures) if old else 1.0
    extra = (["other", "new/other"] if other is not None else []) + (["new/old"] if old else [])
    header = ["figure", "value", "unit", "peer or limit", "", "ratio", "goal", ""] + extra
    section, rows = None, []
    for name, f in figures.items():
        title, rest = name.split(": ", 1)
        if title != section:
            if rows:
                print_rows(header, rows)
            print(f"\n{title}")
            section, rows = title, []
        judged = f["ratio"] if f["of"] == "ratio" else f["value"]
        goal = "" if f["goal"] is None else ("<= " if f["most"] else ">= ") + number(f["goal"])
        goal += " x" if goal and f["of"] == "ratio" else ""
        row = [rest, number(f["value"]), f["unit"], f["peer_title"], number(f["peer"]) if f["peer"] else "",
               number(f["ratio"]) if f["ratio"] else "", goal, judge(judged, f["goal"], f["most"])]
        if other is not None:
            there = other.get(name, {}).get("value")
            row += [number(there), number(f["value"] / there if there else None)]
        if old:
            row.append(number(compared_with(name, old, drift if f["timed"] else 1.0)(f["value"])))
        rows.append(row)
    if rows:
        print_rows(header, rows)
    if old:
        print(f"\nnew/old is without the machine's own change, {drift:.2f}, by the peers and limits in both runs")


def slope(points):
    """Least squares through the logarithms."""
    xs, ys = [math.log(n) for n, _ in points], [math.log(t) for _, t in points]
    mx, my = statistics.fmean(xs), statistics.fmean(ys)
    return sum((x - mx) * (y - my) for x, y in zip(xs, ys)) / sum((x - mx) ** 2 for x in xs)


def not_measured(samples, names):
    """Benchmarks of the table that this build does not have, or that failed."""
    return sorted(n for n in names if not samples.get(n))


def measure_growth(samples, pattern):
    out = {}
    for title, base, counter, sizes in GROWTH:
        if not re.search(pattern, f"Growth: {title}"):
            continue
        points = [(n, statistics.median(v)) for n in sizes
                  if (v := samples.get(f"{base}/{n}", {}).get(counter or "time"))]
        if len(points) >= 3 and all(t > 0 for _, t in points):
            out[title] = {"seconds": dict(points), "exponent": slope(points)}
    return out


def print_growth(growth):
    if not growth:
        return
    print("\nGrowth: time is n to the power of")
    rows = [[title, *(f"{n:,}: {t * 1e3:.4g} ms" for n, t in g["seconds"].items()), f"{g['exponent']:.2f}",
             "ok" if g["exponent"] <= MOST_GROWTH else "MISSED"] for title, g in growth.items()]
    print_rows(["figure", "n", "2n", "4n", "exponent", ""], rows)


def timed(command, env=None):
    start = time.perf_counter()
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=env)
    return time.perf_counter() - start if done.returncode == 0 else None


def operator_of(binding):
    kernels = [c for c in binding["calls_of"] if not c.startswith("vm.builtin")]
    return re.sub(r"\d+$", "", kernels[0]) if kernels else "the machine"


def measure_model(build, model):
    """First results from an empty and a filled cache, and the time of a run by operator against the roofline."""
    rldb = str(build / "rldb")
    with tempfile.TemporaryDirectory(prefix="rldb_bench_") as folder:
        run = [rldb, "run", str(model), f"--cache={folder}/cache"]
        cold, warm = timed(run), timed(run)
        profile = f"{folder}/profile.json"
        subprocess.run([rldb, "-q", "-nx", "--batch", "--threads=1", f"--cache={folder}/cache", str(model), "-ex",
                        f":profile main --runs=3 --json={profile}"], stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
        if not os.path.exists(profile):
            return None
        data = json.loads(Path(profile).read_text())[0]  # of the only rank
    by_operator = {}
    for binding in data["bindings"]:
        row = by_operator.setdefault(operator_of(binding), {"calls": 0, "nanoseconds": 0, "least": 0.0, "known": 0})
        row["calls"] += binding["calls"]
        row["nanoseconds"] += binding["nanoseconds"]
        if binding["roofline"]:
            row["least"] += binding["nanoseconds"] * binding["roofline"]
            row["known"] += binding["nanoseconds"]
    return {"cold": cold, "warm": warm, "run": data["nanoseconds"] / 1e9 / data["runs"], "runs": data["runs"],
            "machine": data["machine"], "operators": by_operator}


def print_model(name, model):
    machine = model["machine"]
    print(f"\n{name}: first result {number(model['cold'])} s, from the cache {number(model['warm'])} s; a run on one "
          f"thread {number(model['run'] * 1e3)} ms (limits: {machine['float32_operations_per_second'] / 1e9:.0f} "
          f"GFLOP/s, {machine['bytes_per_second'] / 1e9:.0f} GB/s)")
    whole = sum(row["nanoseconds"] for row in model["operators"].values())
    rows = []
    for operator, row in sorted(model["operators"].items(), key=lambda item: -item[1]["nanoseconds"])[:10]:
        share = row["nanoseconds"] / whole if whole else 0
        rows.append([operator, row["calls"], f"{row['nanoseconds'] / 1e6 / model['runs']:.3g} ms", f"{share:.1%}",
                     f"{row['least'] / row['known']:.0%}" if row["known"] else "-"])
    print_rows(["operator", "calls", "time", "share", "of the roofline"], rows)


def main():
    parser = argparse.ArgumentParser(prog="scripts/bench", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--filter", default="", help="only figures whose `section: title` matches this expression")
    parser.add_argument("--rounds", type=int, default=5, help="runs of each benchmark (5)")
    parser.add_argument("--seconds", type=float, default=0.1, help="least time of a benchmark in a round (0.1)")
    parser.add_argument("--json", type=Path, help="write all medians, and the samples behind them, to this file")
    parser.add_argument("--compare", type=Path, metavar="OLD.json", help="beside the figures of an earlier run")
    parser.add_argument("--with", type=Path, dest="other", metavar="BUILD", help="take turns with another build folder")
    parser.add_argument("--models", type=Path, metavar="DIR", help="also the modules in a folder, by operator")
    options = parser.parse_args()

    builds = [options.build] + ([options.other] if options.other else [])
    names = wanted_benchmarks(options.filter)
    if not names and not options.models:
        sys.exit(f"scripts/bench: no figure matches {options.filter}")
    samples = collect(builds, names, options.rounds, options.seconds) if names else [{} for _ in builds]
    figures = measure_figures(samples[0], options.filter)
    other = measure_figures(samples[1], options.filter) if options.other else None
    old = json.loads(options.compare.read_text())["figures"] if options.compare else {}
    print_figures(figures, old, other)
    growth = measure_growth(samples[0], options.filter)
    print_growth(growth)
    if missing := not_measured(samples[0], names):
        print(f"\nnot measured: {', '.join(missing)}")
    models = {}
    for path in sorted(options.models.glob("*.py")) if options.models else []:
        models[path.name] = measure_model(options.build, path)
        if models[path.name]:
            print_model(path.name, models[path.name])
        else:
            print(f"\n{path.name}: does not run")
    if options.json:
        options.json.write_text(json.dumps({"rounds": options.rounds, "figures": figures, "growth": growth,
                                            "models": models, "samples": samples[0]}, indent=1) + "\n")


if __name__ == "__main__":
    main()
