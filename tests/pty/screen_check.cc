// Screen mode in a pseudo-terminal: rldb_screen_check RLDB. It is entered and left, steps, follows the size of the
// terminal, and restores the terminal after every exit. The last line is `N passed, N failed`.
#include <signal.h>
#include <sys/wait.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>

#include "pty/screen_model.h"
#include "pty/terminal.h"

using namespace rldb::pty;
namespace fs = std::filesystem;

namespace {

int g_passed = 0, g_failed = 0;

void check(bool good, const char* what, const std::string& said = {}) {
  ++(good ? g_passed : g_failed);
  if (!good) std::printf("FAIL  %s\n%s\n", what, said.c_str());
}

bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

constexpr const char* kEnter = "\033[?1049h";
constexpr const char* kLeave = "\033[?1049l";
constexpr const char* kToggle =
    "\x18"
    "a";

// A program stopped in `main:b`, at the prompt.
struct Session {
  explicit Session(const std::string& program, const char* colors = "--color=never")
      : home(with_module()), terminal(program, {"-q", colors, "m.py"}, home->path()) {
    terminal.wait_for("rldb> ", 15);
    enter("break main:b", "breakpoint 1");
    enter(":run main", "(rldb main:b)");
  }
  static std::unique_ptr<Folder> with_module() {
    auto folder = std::make_unique<Folder>();
    std::ofstream(folder->path() + "/m.py")
        << "from tvm.script import ir as I, relax as R\n\n@I.ir_module\nclass Module:\n"
           "    @R.function\n    def main(x: R.Tensor((2,), \"float32\")):\n"
           "        with R.dataflow():\n            a = R.add(x, x)\n"
           "            b = R.multiply(a, a)\n            c = R.add(b, x)\n"
           "            R.output(c)\n        return c\n";
    return folder;
  }
  void enter(const std::string& entry, const std::string& reply) {
    terminal.forget();
    terminal.send(entry + "\r");
    terminal.wait_for(reply, 20);
    terminal.read_for(0.2);
  }
  // Sends keys in screen mode; returns the screen when there is no further output.
  std::string keys(const std::string& keys) {
    terminal.send(keys);
    terminal.read_for(0.6);
    return screen();
  }
  // The output since the screen was shown or resized.
  std::string screen() const {
    ScreenModel model(width, height);
    model.write(terminal.said());
    return model.text();
  }
  std::string into_screen() {
    terminal.forget();
    terminal.send(kToggle);
    terminal.wait_for(kEnter);
    terminal.read_for(0.6);
    return screen();
  }
  std::string resized(unsigned short rows, unsigned short columns) {
    terminal.forget();
    width = columns;
    height = rows;
    terminal.resize(rows, columns);
    terminal.read_for(0.6);
    return screen();
  }
  bool as_before() const { return same_modes(terminal.modes(), terminal.first_modes()); }
  bool leaves_with(int code) {
    const auto status = terminal.ended(30);
    terminal.read_for(0.2);  // its last output
    return status && WIFEXITED(*status) && WEXITSTATUS(*status) == code && as_before();
  }

  std::unique_ptr<Folder> home;
  Terminal terminal;
  int width = 80, height = 24;
};

void check_panes(const std::string& program) {
  Session s(program);
  std::string seen = s.into_screen();
  check(holds(seen, "-- code: m.py") && holds(seen, "b=>    9"), "C-x a shows the code, the stop, the breakpoint",
        seen);
  check(holds(seen, "-- values: main") && holds(seen, "  a = Tensor"), "the values of the frame", seen);
  check(holds(seen, "== command: main:b at m.py:9"), "the command line, which says where it is stopped", seen);
  seen = s.keys("print a.shape\r");
  check(holds(seen, "(rldb main:b) print a.shape\n"), "what is typed stays, and its reply", seen);
  seen = s.keys("step\r");
  check(holds(seen, " =>   10") && holds(seen, "b      9") && holds(seen, "  b = Tensor"), "panes follow a step", seen);
  seen = s.keys("\x18s");
  check(holds(seen, "SingleKey"), "C-x s", seen);
  seen = s.keys("N");
  check(holds(seen, "b=>    9"), "a capital letter steps back", seen);
  seen = s.keys("n");
  check(holds(seen, " =>   10"), "a letter steps", seen);
  seen = s.keys("q");
  check(!holds(seen, "SingleKey"), "q leaves single-key mode", seen);
  seen = s.keys(
      "\x18"
      "2");
  check(holds(seen, "-- instructions: main"), "C-x 2 is the next layout", seen);
  seen = s.keys(
      "\x18"
      "1");
  check(!holds(seen, "-- values"), "C-x 1 leaves one pane", seen);
  seen = s.keys(":layout src\r");
  check(holds(seen, "-- code: m.py") && holds(seen, "-- values"), ":layout", seen);
  seen = s.resized(20, 60);
  check(holds(seen, "-- code: m.py") && holds(seen, " =>   10"), "60 columns", seen);
  seen = s.resized(50, 140);
  check(holds(seen, "|-- values: main"), "140 columns: values beside the code", seen);
  seen = s.keys(":help\r");
  check(!holds(seen, "-- more:") && holds(seen, ":help NAME"), "no pager asks", seen);
  seen = s.keys("\033[5~");
  check(holds(seen, "scrolled back"), "PageUp scrolls the output", seen);
  s.keys("\033[6~");
  s.terminal.forget();
  s.terminal.send(kToggle);
  check(s.terminal.wait_for_after(kLeave, "(rldb main:c) "), "C-x a leaves, and there is a prompt", s.terminal.said());
  s.terminal.forget();
  s.terminal.send("\x04");
  check(s.terminal.wait_for("(y/n) "), "^D asks, as a run is stopped", s.terminal.said());
  s.terminal.send("y\r");
  check(s.leaves_with(0), "and the session ends as ever", s.terminal.said());
}

void check_others(const std::string& program) {
  Session s(program);
  s.into_screen();
  s.terminal.forget();
  s.terminal.send("!echo from a shell; stty -a | tr ' ' '\\n' | grep -c '^icanon'\r");
  check(s.terminal.wait_for_after(kLeave, "Enter: back") && holds(s.terminal.said(), "from a shell\r\n1\r\n"),
        "a shell has the normal screen, as it was", s.terminal.said());
  s.terminal.forget();
  s.terminal.send("\r");
  check(s.terminal.wait_for_after(kEnter, "code: m.py"), "and the alternate screen comes back", s.terminal.said());
  std::string seen = s.keys(":load m.py\r");
  check(holds(seen, "continue? (y/n)"), "a question is asked in the command line", seen);
  s.terminal.send("n\n");
  s.terminal.read_for(0.6);
  seen = s.screen();
  check(holds(seen, "=>    9"), "and its answer taken", seen);
  s.terminal.forget();
  s.terminal.send("\x1a");
  check(s.terminal.wait_for(kLeave), "^Z restores the normal screen", s.terminal.said());
  s.terminal.read_for(0.2);
  s.terminal.signal(SIGCONT);
  check(s.terminal.wait_for_after(kEnter, "code: m.py"), "fg shows the alternate screen", s.terminal.said());
  s.terminal.send("print a.sh\x03");
  s.terminal.read_for(0.3);
  s.terminal.forget();
  s.terminal.send(":quit!\r");
  check(s.leaves_with(0) && holds(s.terminal.said(), kLeave), ":quit restores the terminal", s.terminal.said());
}

void check_ends(const std::string& program) {
  for (const int signal : {SIGSEGV, SIGABRT, SIGTERM, SIGHUP}) {
    Session s(program);
    s.into_screen();
    s.terminal.forget();
    s.terminal.signal(signal);
    const auto status = s.terminal.ended();
    s.terminal.read_for(0.2);  // its last output
    check(status.has_value(), "a signal ends it");
    check(holds(s.terminal.said(), kLeave) && s.as_before(), "and the terminal is as it was", s.terminal.said());
  }
}

// A long-running program: ^C, and a crash meanwhile.
void check_work(const std::string& program) {
  const std::string work =
      ":engine eval\r_w = R.matmul(R.ones(R.shape([900, 900]), \"float32\"), R.ones(R.shape([900, 900]), "
      "\"float32\"))\r";
  {
    Session s(program);
    s.into_screen();
    s.keys(":engine eval\r");
    s.terminal.forget();
    s.terminal.send(work.substr(work.find('\r') + 1));
    check(s.terminal.wait_for("^C interrupts"), "progress is shown while an entry takes long", s.terminal.said());
    std::string seen = s.resized(50, 140);
    check(holds(seen, "|-- values: main") && holds(seen, "^C interrupts") && holds(seen, "b = R.multiply(a, a)"),
          "a resize while an entry is executed lays the panes out again", seen);
    seen = s.resized(20, 60);
    check(holds(seen, "-- code: m.py") && holds(seen, "^C interrupts"), "and again, narrower", seen);
    s.terminal.send("typed meanwhile");
    s.terminal.read_for(0.2);
    s.terminal.send("\x03");
    check(s.terminal.wait_for("interrupted", 20), "^C ends work", s.terminal.said());
  }
  Session s(program);
  s.into_screen();
  s.terminal.send(work);
  s.terminal.wait_for("^C interrupts");
  s.terminal.forget();
  s.terminal.signal(SIGABRT);
  const auto status = s.terminal.ended();
  s.terminal.read_for(0.2);
  check(status && WIFSIGNALED(*status) && holds(s.terminal.said(), kLeave) && s.as_before(),
        "a crash in work leaves the terminal as it was", s.terminal.said());
}

void check_refused(const std::string& program) {
  Folder home;
  Terminal terminal("/usr/bin/env", {"TERM=dumb", program, "-q"}, home.path());
  terminal.wait_for("rldb> ");
  check(terminal.send(":tui\r") && terminal.wait_for("screen mode needs a terminal"), "a dumb terminal has none",
        terminal.said());
  terminal.send(":quit!\r");
  terminal.ended();
}

// The suggestion from the history for the rest of an entry.
void check_suggestions(const std::string& program) {
  Folder home;
  Terminal terminal(program, {"-q", "--color=always"}, home.path());
  terminal.wait_for("rldb> ", 15);
  terminal.send("R.const(4711)\r");
  terminal.wait_for("\r\n4711");
  terminal.read_for(0.3);
  terminal.forget();
  terminal.send("R.con");
  check(terminal.wait_for("\033[2mst(4711)"), "the rest is dimmed", terminal.said());
  terminal.forget();
  terminal.send("\033[C\r");
  check(terminal.wait_for("\r\n4711"), "Right accepts it", terminal.said());
  terminal.read_for(0.3);
  terminal.forget();
  terminal.send("R.const(4\x01\x05\x03");
  terminal.read_for(0.3);
  terminal.forget();
  terminal.send("R.const(4");
  terminal.read_for(0.3);
  terminal.send("7)\r");
  check(terminal.wait_for("\r\n47"), "typing on ignores it", terminal.said());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: rldb_screen_check RLDB\n");
    return 2;
  }
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const std::string rldb = fs::absolute(argv[1]);
  check_panes(rldb);
  check_others(rldb);
  check_ends(rldb);
  check_work(rldb);
  check_refused(rldb);
  check_suggestions(rldb);
  std::printf("%d passed, %d failed\n", g_passed, g_failed);
  return g_failed == 0 ? 0 : 1;
}
