"""The live page as a client of its server sees it: page_client.py RLDB MODULE. The last line counts the checks."""
import base64
import http.client
import json
import os
import pty
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
import zlib

RLDB, MODULE = sys.argv[1:3]
passed = failed = 0

HOSTILE = '''from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2,), dtype="float32")) -> R.Tensor((2,), dtype="float32"):
        s = R.str("</script></pre><img src=x onerror=alert(1)><!--<script>")
        y = R.add(x, x)
        return y
'''


def check(name, ok, seen=""):
    global passed, failed
    if ok:
        passed += 1
    else:
        failed += 1
        print("failed:", name, seen)


class Session:
    def __init__(self, module):
        self.process = subprocess.Popen([RLDB, "-nx", "-q", "--serve", module], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        line = ""
        while "http://" not in line:
            line = self.process.stdout.readline()
            if not line:
                raise SystemExit("no address\n0 passed, 1 failed")
        self.take_address(line)

    def take_address(self, text):
        match = re.search(r"http://127\.0\.0\.1:(\d+)/([0-9a-f]{32})/", text)
        self.port, self.token = int(match.group(1)), match.group(2)

    def ask(self, path, body=None, headers=None, token=None, method=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        all_headers = {} if body is None else {"Content-Type": "application/json"}
        all_headers.update(headers or {})
        data = None if body is None else body if isinstance(body, str) else json.dumps(body)
        connection.request(method or ("GET" if body is None else "POST"), f"/{token or self.token}/{path}", data, all_headers)
        reply = connection.getresponse()
        text = reply.read().decode()
        connection.close()
        return reply.status, text, reply.headers

    def json(self, path, body=None):
        status, text, _ = self.ask(path, body)
        return json.loads(text) if status == 200 else None

    def raw(self, data):
        with socket.create_connection(("127.0.0.1", self.port), timeout=10) as s:
            s.sendall(data)
            received = b""
            try:
                while chunk := s.recv(65536):
                    received += chunk
            except (ConnectionResetError, BrokenPipeError):
                pass
        return received.split(b"\r\n")[0].decode()

    def close(self):
        self.process.kill()
        self.process.wait()


class SessionAtTerminal(Session):
    def __init__(self, module, home, terminal):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ.update(HOME=home, XDG_STATE_HOME=home, TERM=terminal)
            os.execv(RLDB, [RLDB, "-nx", "-q", "--color=never", "--serve", module])
        self.said = ""
        threading.Thread(target=self.read, daemon=True).start()
        if not self.shows("rldb> "):
            raise SystemExit("no prompt\n0 passed, 1 failed")
        self.take_address(self.said)

    def read(self):
        try:
            while chunk := os.read(self.fd, 65536):
                self.said += chunk.decode(errors="replace")
        except OSError:  # the other end is closed
            pass

    def shows(self, text):
        for _ in range(300):
            if text in self.said:
                return True
            time.sleep(0.1)
        return False

    def type(self, text):
        self.said = ""
        os.write(self.fd, text.encode())


def documents(s):
    status, page, headers = s.ask("")
    policy = headers["Content-Security-Policy"]
    nonce = re.search(r"script-src 'nonce-([0-9a-f]+)'", policy)
    check("the page", status == 200 and page.startswith("<!DOCTYPE html>") and headers["Content-Type"].startswith("text/html"))
    check("a policy with a nonce", nonce and f'<script nonce="{nonce.group(1)}">' in page and "default-src 'none'" in policy)
    check("nothing from elsewhere", not re.search(r"(src|href)=\"", page))
    check("no cross-origin access", headers["Access-Control-Allow-Origin"] is None)
    program = s.json("program")
    check("versions", [v["pass"] for v in program["versions"]][0] == "" and any(v["by_build"] for v in program["versions"]), program)
    check("kernels", {"matmul", "add", "relu"} <= {k["name"] for k in program["kernels"]}, program["kernels"])
    first, last = s.json("text?version=0"), s.json(f"text?version={len(program['versions']) - 1}")
    lines = first["text"].split("\n")
    lv1 = next(i for i, line in enumerate(lines) if line.strip().startswith("lv1:"))
    own = dict((row[0], row[1:]) for row in first["relatives"])[lv1 + 1]
    check("the binding lights up in the last version", any(own[0] in row[1:] for row in last["relatives"]), own)
    check("and its kernel", any(own[0] in k["relatives"] for k in program["kernels"] if k["name"] == "add"), program["kernels"])
    check("and its instructions", any(own[0] in row[2:] for f in s.json("instructions")["functions"] for row in f["instructions"]))
    changed = [row for hunk in s.json("diff?version=1")["hunks"] for row in hunk]
    second = s.json("text?version=1")["text"].split("\n")
    check("a difference", any(row[0] == "+" for row in changed))
    check("equal lines are numbered on both sides", all(lines[b - 1] == second[a - 1] for mark, b, a in changed if mark == " "))
    source = s.json("source")
    with open(MODULE, encoding="utf-8") as file:
        written = file.read().split("\n")
    at = next(i for i, line in enumerate(written) if line.strip().startswith("lv1:")) + 1
    check("the source as it was written", source["text"].split("\n") == written and source["version"] == 0, source)
    check("its lines belong to those of the version", [at, lv1 + 1] in source["printed"], source["printed"])
    check("a line of it lights up the same", dict((row[0], row[1:]) for row in source["relatives"])[at] == own, source["relatives"])
    graph = s.json("graph?version=0&function=main")["nodes"]
    boxes = s.json("layout?version=0&function=main&view=")["boxes"]
    check("its layout", [graph[b["node"]]["name"] for b in boxes] == [n["name"] for n in graph] and len(boxes[-1]["edges"]) == 2, boxes[-1])
    check("a layout with every box", len(s.json("layout?version=0&function=main&view=all,folded&open=a%0Ab")["boxes"]) == len(graph), "")
    check("a graph", [n["name"] for n in graph][-1] == "gv" and graph[-1]["result"] and len(graph[-1]["inputs"]) == 2, graph[-1])
    kernel = s.json("kernel?name=relu")
    check("a kernel in three forms", "def relu" in kernel["tir"] and "define" in kernel["llvm"] and kernel["asm"], kernel)
    compiled = kernel["compiled"].split("\n")
    for form in ("llvm", "asm"):
        lines = kernel[form + "_lines"]
        check(f"{form}: a line of the kernel for each line", len(lines) == kernel[form].count("\n"), len(lines))
        stores = {compiled[line - 1].strip() for line in lines if line}
        check(f"{form}: the statement is among them", any("compute" in s or "=" in s for s in stores), stores)
        check(f"{form}: no debug information is left", "DILocation" not in kernel[form] and ".loc" not in kernel[form])
    check("a memory plan", s.json("memory?version=0")["functions"][0]["function"] == "main")
    # Its loops are shared out to threads: code that is called for a range of iterations has lines, too.
    shared = s.json("kernel?name=matmul")
    product = next(i for i, line in enumerate(shared["compiled"].split("\n"), 1) if "+ x_panel[" in line)
    for form in ("llvm", "asm"):
        check(f"{form}: a statement of a loop that is shared out", product in shared[form + "_lines"], product)
    for path in ("text?version=99", "text", "graph?version=0&function=no", "layout?version=0&function=no", "layout?version=99&function=main", "kernel?name=no", "nothing", "../program"):
        check(f"no {path}", s.ask(path)[0] == 404)
    return lv1 + 1


def session(s, line):
    check("a breakpoint by a line", s.json("break", {"version": 0, "line": line})["ok"])
    check("is there", len(s.json("state")["breakpoints"]) == 1)
    check("an entry", s.json("command", {"entry": ":run"})["ok"])
    state = s.json("state")
    check("stops there", state["active"] and state["stop"]["where"]["binding"] == "lv1", state["stop"])
    check("a next", s.json("command", {"entry": ":next"})["ok"] and s.json("state")["stop"]["where"]["binding"] == "lv2")
    check("and back", s.json("command", {"entry": ":reverse-next"})["ok"] and s.json("state")["stop"]["where"]["binding"] == "lv1")
    stop = s.json("stop")
    check("locals", any(l["name"] == "lv0" for l in stop["locals"]) and stop["total"] == len(stop["locals"]) and stop["first"] == 0, stop)
    check("locals ahead", "lv2" in stop["not_yet"] and stop["not_yet_total"] == len(stop["not_yet"]), stop)
    rest = s.json("stop?first=1")
    check("a page of locals", rest["locals"] == stop["locals"][1:] and rest["first"] == 1 and rest["total"] == stop["total"], rest)
    check("a page behind the last", s.json("stop?first=1000000")["locals"] == [])
    heap = s.json("heap")
    check("the shape heap", any(h["expression"] == "n" and h["value"] for h in heap), heap)
    value = s.json("value?name=lv0&index=")
    check("a value", value["kind"] == "tensor" and value["slice"]["columns"] == 8 and value["facts"]["histogram"], value)
    check("an expression with an error", s.json("value?name=no_such")["problem"])
    check("why", any(step["name"] == "x" for step in s.json("why?name=lv0")["steps"]))
    check("a record with space", s.json("console?since=0")["full"] is False)
    console = s.json("console?since=0")["entries"]
    check("the console", [e["text"] for e in console][-3:] == [":run", ":next", ":reverse-next"], [e["text"] for e in console])
    check("an entry that fails", not s.json("command", {"entry": ":no-such"})["ok"])
    check("a breakpoint off", s.json("break", {"version": 0, "line": line})["ok"] and not s.json("state")["breakpoints"])
    check("completion", ":reverse-next" in [":" + c.lstrip(":") for c in s.json("complete?text=:reverse-")["candidates"]])
    check("a pass", s.json("command", {"entry": ":kill"}) and s.json("command", {"entry": ":run-pass LegalizeOps"})["ok"])
    check("is a version", s.json("program")["versions"][1]["pass"] == "LegalizeOps")
    profile = s.json("profile", {"call": "main"})
    check("a profile", profile["profiles"][0]["function"] == "main" and not profile["problem"], profile)
    refused = s.json("profile", {"call": "no_such"})
    check("a profile that cannot be made says why", not refused["profiles"] and "no_such" in refused["problem"], refused)
    document = s.json("program")["document"]
    s.json("command", {"entry": ":set syntax sinfo"})
    check("another syntax makes other texts", s.json("program")["document"] > document)


def refusals(s):
    host = f"127.0.0.1:{s.port}"
    check("a wrong token", s.ask("state", token="0" * 32)[0] == 403)
    check("no token", s.ask("state", token="x")[0] == 403)
    check("another host", s.ask("state", headers={"Host": "evil.example"})[0] == 421)
    check("another port as host", s.ask("state", headers={"Host": "127.0.0.1:1"})[0] == 421)
    check("another origin", s.ask("command", {"entry": ":info"}, {"Origin": "http://evil.example"})[0] == 403)
    check("our origin", s.ask("state", headers={"Origin": f"http://{host}"})[0] == 200)
    check("another site", s.ask("state", headers={"Sec-Fetch-Site": "cross-site"})[0] == 403)
    check("a form's type", s.ask("command", "entry=x", {"Content-Type": "text/plain"})[0] == 415)
    check("another method", s.ask("state", method="PUT")[0] == 405)
    check("a body that is not JSON", s.ask("command", "{")[0] == 400)
    check("a body that is no object", s.ask("command", "[1]")[0] == 400)
    check("a breakpoint of wrong types", s.ask("break", {"version": "x", "line": None})[0] == 404)
    check("deep JSON", s.ask("command", "[" * 100000)[0] == 400)
    cases = {
        b"GET / HTTP/1.1\r\nHost: " + b"a" * 40000 + b"\r\n\r\n": "431",
        b"GET / HTTP/1.1\r\n" + b"".join(b"h%d: 1\r\n" % i for i in range(300)) + b"\r\n": "431",
        b"POST / HTTP/1.1\r\nContent-Length: 99999999999999999999999\r\n\r\n": "413",
        b"POST / HTTP/1.1\r\nContent-Length: 1073741824\r\n\r\n": "413",
        b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n": "400",
        b"POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n": "400",
        b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n": "501",
        b"GET / HTTP/9.9\r\n\r\n": "505",
        b"\x00\x01\x02\r\n\r\n": "400",
        b"GET /%zz HTTP/1.1\r\n\r\n": "400",
        b"GET nothing HTTP/1.1\r\n\r\n": "400",
        b": \r\n\r\n": "400",
    }
    for data, status in cases.items():
        seen = s.raw(data)
        check(f"{data[:40]!r}", seen.split(" ")[1:2] == [status], seen)
    half = socket.create_connection(("127.0.0.1", s.port))
    half.sendall(b"GET /")
    check("half a request holds nobody up", s.json("state") is not None)
    half.close()


# As assets/10-base.js does it.
def unpacked(value, rows):
    if isinstance(value, list):
        return [unpacked(part, rows) for part in value]
    if not isinstance(value, dict):
        return value
    if "~" in value:
        runs = value["~"]
        return [unpacked(rows[i], rows) for first, count in zip(runs[::2], runs[1::2]) for i in range(first, first + count)]
    return {name: unpacked(part, rows) for name, part in value.items()}


def hostile():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "hostile.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(HOSTILE)
        out = os.path.join(folder, "page.html")
        done = subprocess.run([RLDB, "opt", path, "--passes=LegalizeOps", "--html=" + out], capture_output=True, text=True)
        with open(out, encoding="utf-8") as file:
            page = file.read()
        data = re.search(r'<script type="application/octet-stream" id="data">(.*?)</script>', page, re.S)
        check("the static form", done.returncode == 0 and data, done.stderr)
        packed = json.loads(zlib.decompress(base64.b64decode(data.group(1))))
        recorded, rows = packed["replies"], packed["rows"]
        text = unpacked(recorded["text?version=1"], rows)
        check("its lists are runs of rows", any(f["name"] == "main" for f in text["functions"]) and text["relatives"], text)
        program = unpacked(recorded["program"], rows)
        check("its versions", [v["version"] for v in program["versions"]] == list(range(len(program["versions"]))) and '"~"' in json.dumps(recorded), program)
        source = unpacked(recorded["source"], rows)
        check("its source, and the version that was read from it", source["version"] == 0 and source["printed"], source)
        check("a row stands once", len({json.dumps(row) for row in rows}) == len(rows), rows)
        check("its documents", {"program", "text?version=0", "diff?version=1", "instructions", "kernel?name=add"} <= set(recorded), list(recorded))
        check("nothing of the program is markup", page.count("<script") == 2 and "<img" not in page and "onerror=alert(1)&gt;" in page)
        check("texts without scripts", '<pre class="out" id="text-1">' in page)
        check("equal replies stand in it once", any(isinstance(reply, str) and isinstance(recorded[reply], dict) for reply in recorded.values()), list(recorded))


# Nobody would be let in: batch sessions end, and replies in JSON are for whoever writes the entries.
def sessions_without_a_page():
    for options in (["--batch"], ["--format=json"]):
        done = subprocess.run([RLDB, "-nx", "-q", *options, "--serve", MODULE], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
        said = done.stdout + done.stderr
        check(f"no page with {options[0]}", "http://" not in said and "no page of its own" in said, said)


# Entries of the page are shown at the terminal, and so is the stop that they lead to.
def at_a_terminal():
    for terminal in ("xterm", "dumb"):
        with tempfile.TemporaryDirectory() as home:
            s = SessionAtTerminal(MODULE, home, terminal)
            check(f"{terminal}: a start", s.json("command", {"entry": ":start"})["ok"])
            check(f"{terminal}: is shown", s.shows("page: :start"), s.said)
            check(f"{terminal}: the prompt follows", s.shows("(rldb main) "), s.said)
            s.type(":serve off\r")
            check(f"{terminal}: closed", s.shows("no page is served"), s.said)
            s.type(":quit\r")
            check(f"{terminal}: asks", s.shows("(y/n)"), s.said)
            s.type("y\r")
            check(f"{terminal}: ends", os.waitpid(s.pid, 0)[1] == 0)


served = Session(MODULE)
try:
    session(served, documents(served))
    refusals(served)
    check("still there", served.json("state") is not None)
    quitted = served.ask("command", {"entry": ":quit"})
    check("quit ends the session", quitted[0] == 200 and served.process.wait(20) == 0)
finally:
    served.close()
hostile()
sessions_without_a_page()
at_a_terminal()
print(f"{passed} passed, {failed} failed")
sys.exit(1 if failed else 0)
