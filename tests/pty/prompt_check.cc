// The prompt's behaviour with its terminal and with signals: rldb_prompt_check RLDB [--runs=N] [--bytes]. `--runs`: all
// of it that many times, to find what fails now and then; `--bytes`: one byte of the keys in each write. The last line
// is `N passed, N failed`.
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

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

struct Prompt {
  explicit Prompt(const std::string& program, const std::string& home, std::vector<std::string> more = {})
      : terminal(program, with(std::move(more)), home) {
    terminal.wait_for("rldb> ", 15);
  }
  static std::vector<std::string> with(std::vector<std::string> more) {
    more.insert(more.end(), {"-q", "--color=never"});
    return more;
  }
  bool says(const std::string& keys, const std::string& reply) {
    terminal.forget();
    terminal.send(keys);
    if (!terminal.wait_for(reply, 15)) return false;
    // Keys typed before the next prompt would go to the terminal itself: ^D, ^R and ^\ mean something else there.
    return !keys.ends_with('\r') || terminal.wait_for_after(reply, "rldb", 15);
  }
  bool leaves_with(int code) {
    const auto status = terminal.ended(30);
    return status && WIFEXITED(*status) && WEXITSTATUS(*status) == code &&
           same_modes(terminal.modes(), terminal.first_modes());
  }
  Terminal terminal;
};

std::string text_of(const std::string& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

std::size_t journals(const std::string& home) {
  std::error_code error;
  std::size_t n = 0;
  for (const auto& file : fs::directory_iterator(home + "/state/rldb", error))
    n += file.path().extension() == ".journal";
  return n;
}

void check_keys(const std::string& program) {
  Folder home;
  Prompt p(program, home.path());
  check(p.says("first = R.const(41)\r", "\r\n41"), "an entry is answered", p.terminal.said());
  check(p.says("\x12\x18"
               "b\x15R.const(51)\r",
               "\r\n51"),
        "^R ^X and a key", p.terminal.said());
  p.terminal.read_for(0.3);  // until the prompt is there: type-ahead would be edited by the terminal
  check(p.says("\x12st =\r", "first = R.const(41)"), "^R finds an entry", p.terminal.said());
  check(p.says("\x1c\x1cR.const(52)\r", "\r\n52"), "^\\ at the prompt", p.terminal.said());
  p.terminal.send("\033[200~R.const(");
  p.terminal.read_for(0.2);
  check(p.says("\x03R.const(53)\r", "\r\n53"), "^C ends a paste that has no end", p.terminal.said());
  for (int i = 0; i < 10; ++i) {  // while the previous keys are still being processed
    const std::string number = std::to_string(5300 + i);
    p.terminal.send("R.\t\t\t\t\t\t\t\t");
    check(p.says("\x03R.const(" + number + ")\r", "\r\n" + number), "what is typed after ^C is the next entry's",
          p.terminal.said());
  }
  check(p.says("\033[200~R.const(54)\033[201~\r", "\r\n54"), "a paste is an entry", p.terminal.said());
  check(p.says("\033[200~\033]0;title\007\033[201~", "^[]0;title^G"), "control characters are shown, not obeyed",
        p.terminal.said());
  check(p.says("\x03", "\033[Jrldb> ") && p.terminal.send("\x04") && p.leaves_with(0),
        "^D leaves, and the terminal is as before", p.terminal.said());
  check(journals(home.path()) == 0, "a session that ended in order leaves no journal");
  struct stat info {};
  check(::stat((home.path() + "/.rldb_history").c_str(), &info) == 0 && (info.st_mode & 0777) == 0600,
        "the history is private");
}

// The contents of the screen after some keys in a session of their own; `say` is waited for.
std::string screen_after(const std::string& program, const std::vector<std::string>& keys, const std::string& say) {
  Folder home;
  Prompt p(program, home.path());
  for (const std::string& key : keys) {
    p.terminal.send(key);
    p.terminal.read_for(0.15);
  }
  p.terminal.wait_for(say);
  p.terminal.read_for(0.1);
  ScreenModel screen(80, 24);
  screen.write(p.terminal.said());
  return screen.text();
}

bool holds(const std::string& screen, const std::string& text) { return screen.find(text) != std::string::npos; }

void check_screen(const std::string& program) {
  const std::string function = "@R.function\rdef g(y: R.Tensor((2,), \"float32\")):\rz = R.add(y, y)\rreturn z";
  std::string seen = screen_after(program, {function + "\r\r", ":show g\r", ":list g\r"}, "return z");
  check(seen.find("    return z\nrldb> :list g") != std::string::npos && seen.ends_with("    return z\nrldb>\n"),
        "the last line of a listing stays", seen);
  seen = screen_after(program, {"!printf abc\r"}, "abc");
  check(holds(seen, "\nabc\nrldb>"), "a last line without its line break stays", seen);

  const std::string pasted =
      "\033[200~@R.function\rdef g(y: R.Tensor((2,), \"float32\")):\r    z = R.add(y, y)\r\r    return z\r\033[201~";
  seen = screen_after(program, {pasted}, "return z");
  check(holds(seen, "\n...>     z = R.add(y, y)\n...>\n...>     return z\n...>\n") && !holds(seen, "defined"),
        "a paste is not indented again, and its blank line runs nothing", seen);
  seen = screen_after(program, {pasted, "\r"}, "defined g");
  check(holds(seen, "defined g\nrldb>"), "a pasted function is defined by Enter", seen);
  seen = screen_after(program, {"\033[200~# of mine\ra = R.const(3)\033[201~\r", ":print a + 1\r"}, "\n4");
  check(holds(seen, "\n$1 = a + 1 = 4\n"), "a pasted comment does not hide what follows it", seen);
  seen = screen_after(program,
                      {"\033[200~:load <<END\r@I.ir_module\rclass M:\r    @R.function\r    def main(x: R.Tensor((2,), "
                       "\"float32\")):\r        return x\rEND\r\033[201~\r"},
                      "loaded");
  check(holds(seen, "...> END\nloaded <here>: main\nrldb>"), "a pasted here-document ends at its mark", seen);
  seen = screen_after(program, {"\033[200~>>> a = R.const(7)\r>>> a\rTensor\r\033[201~\r"}, "7");
  check(holds(seen, "rldb> a = R.const(7)\n...> a\n") && !holds(seen, "error"),
        "pasted prompts and replies are removed", seen);
  seen = screen_after(program, {"(rldb) b = R.const(8)\r#| 8\r"}, "8");
  check(holds(seen, "\n8\nrldb>") && !holds(seen, "error"), "typed prompts too", seen);

  seen = screen_after(program, {"R.const(1)\r", "R.con", "\x0c"}, "\033[2J");
  check(seen == "rldb> R.con\n", "^L clears the screen and shows the entry again", seen);
  seen = screen_after(program, {function, "\033[A", "\x01", "\x0b"}, "return z");
  check(holds(seen, "float32\")):\n...>\n...>     return z"), "^A and ^K act on the line", seen);
  seen = screen_after(program, {"a = R.const(1)\r", "R.const(2)\r", "a", "\033[A"}, "rldb> a");
  check(holds(seen, "\nrldb> a = R.const(1)\n"), "Up finds the entry that begins so", seen);
}

// The contents of the screen of a session with hints, after keys one at a time.
std::string screen_with_hints(const std::string& program, const std::vector<std::string>& keys,
                              const std::string& say) {
  Folder home;
  Terminal terminal(program, {"-q", "--color=never"}, home.path());
  terminal.wait_for("rldb> ", 15);
  for (const std::string& key : keys) {
    terminal.send(key);
    terminal.read_for(0.3);
  }
  terminal.wait_for(say);
  terminal.read_for(0.3);
  ScreenModel screen(80, 24);
  screen.write(terminal.said());
  return screen.text();
}

void check_hints(const std::string& program) {
  std::string seen = screen_with_hints(program, {"x = R.const([[1.0, 2.0]], \"float32\")\r", "R.add(x, x"}, "R.add(x1");
  check(holds(seen, "rldb> R.add(x, x\nR.add(x1, x2)"), "the signature of a call stands below it", seen);
  seen = screen_with_hints(program, {"x = R.const([[1.0, 2.0]], \"float32\")\r", "R.matmul(x, R.permute_dims(x))"},
                           "type: ");
  check(holds(seen, "type: R.Tensor((1, 1), dtype=\"float32\")"), "the type of the entry", seen);
  seen = screen_with_hints(program, {"x = R.const([[1.0, 2.0]], \"float32\")\r", "R.matmul(x, x)"}, "reduction");
  check(holds(seen, "rldb> R.matmul(x, x)\n") && holds(seen, "reduction length") && holds(seen, "are 2 and 1"),
        "an error is shown before Enter", seen);
  const std::string x = "x = R.const([[1.0, 2.0]], \"float32\")\r";
  seen = screen_with_hints(program, {x, "R.matmul(x, R.permute_dims(x"}, "type so far");
  check(holds(seen, "type so far: R.Tensor((1, 1), dtype=\"float32\")"), "the type of an open call", seen);
  seen = screen_with_hints(program, {x, "R.add(R.matmul(x, x), "}, "reduction");
  check(holds(seen, "reduction length"), "an error inside of an open call", seen);
  seen = screen_with_hints(program, {x, "R.matmul(x, "}, "R.matmul(");
  check(!holds(seen, "expects") && !holds(seen, "missing") && !holds(seen, "error"),
        "arguments that may still follow are no error", seen);
  seen = screen_with_hints(program, {x, "R.nothing(x, "}, "unknown operator");
  check(holds(seen, "unknown operator `R.nothing`"), "an unknown operator in front of an open call", seen);
  seen = screen_with_hints(program, {x, "y ="}, "rldb> y =");
  check(!holds(seen, "syntax error"), "an operand that is still to come is no error", seen);
  seen = screen_with_hints(program, {":brea"}, ":break ");
  check(holds(seen, "rldb> :brea\n:break [WHERE [if CONDITION]]"), "the usage of a command", seen);
  seen = screen_with_hints(program, {":verify", "\r"}, "error");
  check(!holds(seen, "well-formedness"), "hints are removed when the entry is accepted", seen);
}

void check_pager(const std::string& program) {
  Folder home;
  Prompt p(program, home.path());
  p.terminal.forget();
  p.terminal.send(":help\r");
  check(p.terminal.wait_for("-- more:", 15) && !holds(p.terminal.said(), ":quit"), "a screenful, and a question",
        p.terminal.said());
  p.terminal.forget();
  p.terminal.send("\r");
  check(p.terminal.wait_for("-- more:", 15) && p.terminal.said().size() < 400, "Enter shows a line", p.terminal.said());
  p.terminal.forget();
  p.terminal.send("q");
  check(p.terminal.wait_for("rldb> ", 15) && !holds(p.terminal.said(), ":quit"), "q leaves the rest out",
        p.terminal.said());
  p.terminal.send(":help\r");
  p.terminal.wait_for_after(":help", "-- more:", 15);
  p.terminal.forget();
  p.terminal.send("g");
  check(p.terminal.wait_for(":quit", 15) && p.terminal.wait_for("rldb> ", 15), "g shows all of it", p.terminal.said());
  p.terminal.send(":help\r");
  p.terminal.wait_for_after(":help", "-- more:", 15);
  p.terminal.forget();
  p.terminal.send(":set list-lines\r");
  check(p.terminal.wait_for("list-lines = 7", 15), "a colon at the end of a page begins the next entry",
        p.terminal.said());
  p.terminal.read_for(0.2);
  p.terminal.send(":help\r");
  p.terminal.wait_for_after(":help", "-- more:", 15);
  p.terminal.forget();
  p.terminal.send("xz\033[A\033[5~");
  p.terminal.read_for(0.3);
  p.terminal.send("q");
  check(p.terminal.wait_for("rldb> ", 15) && !holds(p.terminal.said(), "rldb> x") && !holds(p.terminal.said(), "[A"),
        "other keys at the end of a page are nobody's", p.terminal.said());
  p.terminal.read_for(0.2);
  p.terminal.send(":help\r");
  p.terminal.wait_for_after(":help", "-- more:", 15);
  p.terminal.forget();
  p.terminal.send("/end the SESSION\177\177\177\177\177\177\177session\r");
  check(p.terminal.wait_for_after(":quit", "-- more:", 15) && holds(p.terminal.said(), "...\r\n"),
        "a search goes on to a line below", p.terminal.said());
  p.terminal.send("g");
  check(p.terminal.wait_for("time only.", 15) && p.terminal.wait_for("rldb> ", 15), "and the pages go on from there",
        p.terminal.said());
  p.terminal.read_for(0.2);
  p.terminal.forget();
  p.terminal.send(":help\r");
  p.terminal.wait_for_after(":help", "-- more:", 15);
  p.terminal.forget();
  p.terminal.send("/no such text\r");
  check(p.terminal.wait_for("`no such text`: not found -- more:", 15), "a text that is not there", p.terminal.said());
  p.terminal.send("g");
  check(p.terminal.wait_for(":quit", 15) && p.terminal.wait_for("rldb> ", 15), "leaves out nothing", p.terminal.said());
  p.terminal.read_for(0.2);
  p.terminal.forget();
  p.terminal.send(":help\r:set list-lines\r");
  check(p.terminal.wait_for("list-lines = 7", 15) && !holds(p.terminal.said(), "-- more:"),
        "the pager does not ask when there is typeahead", p.terminal.said());
  p.says(":set pager off\r", "rldb> ");
  check(p.says(":help\r", ":quit"), "the pager can be switched off", p.terminal.said());
}

// A page that ends within a line that the terminal has wrapped.
void check_wrapped_page(const std::string& program) {
  Folder home;
  std::ofstream file(home.path() + "/m.py");
  file << "from tvm.script import ir as I, relax as R\n\n@I.ir_module\nclass Module:\n    @R.function\n"
          "    def main(x: R.Tensor((2,), \"float32\")):\n";
  for (int i = 0; i < 20; ++i) file << "        a" << i << ": R.Tensor((2,), dtype=\"float32\") = R.add(x, x)\n";
  file << "        return x\n";
  file.close();
  Prompt p(program, home.path(), {"m.py"});
  for (const unsigned short rows : {11, 12}) {
    p.terminal.resize(rows, 40);
    p.terminal.read_for(0.2);
    p.terminal.forget();
    p.terminal.send(":show main\r");
    p.terminal.wait_for("-- more:");
    p.terminal.read_for(0.1);
    ScreenModel screen(40, rows);
    screen.write(p.terminal.said());
    check(holds(screen.text(), "\n-- more:"), "the question of the pager has a row of its own", screen.text());
    p.terminal.send("q");
    p.terminal.wait_for("rldb> ");
  }
}

// At a stop a line that would fill the screen is cut, and the line below it is there.
void check_long_line(const std::string& program) {
  Folder home;
  std::ofstream file(home.path() + "/m.py");
  file << "@I.ir_module\nclass Module:\n    @R.function\n    def main(x: R.Tensor((2,), \"float32\")";
  for (int i = 0; i < 200; ++i) file << ", w" << i << ": R.Tensor((2,), \"float32\")";
  file << "):\n        y = R.add(x, x)\n        return y\n";
  file.close();
  Prompt p(program, home.path(), {"m.py"});
  check(p.says(":start\r", "y = R.add(x, x)"), "the source at a stop", p.terminal.said());
  const std::string said = p.terminal.said();
  check(holds(said, "..."), "a long line is cut at a stop", said);
  check(!holds(said, "w100: R.Tensor"), "a long line ends where three of the screen's do", said);
}

void check_start_files(const std::string& program) {
  Folder home;
  fs::create_directories(home.path() + "/.config/rldb");
  std::ofstream(home.path() + "/.config/rldb/init") << ":alias nine = R.const(9)\n";
  std::ofstream(home.path() + "/.rldbrc") << "project = R.const(33)\n";
  {
    Prompt p(program, home.path());
    check(p.says("nine\r", "\r\n9"), "the init file is read, and an alias works", p.terminal.said());
    check(p.says("project\r", "not defined"), "a project's file is not", p.terminal.said());
    check(p.says(":trust\r", "is read from now on"), "unless it is trusted", p.terminal.said());
    p.says(":set --save list-lines 3\r", "rldb> ");
  }
  {
    Prompt p(program, home.path());
    check(p.says("project\r", "\r\n33") && p.says(":set list-lines\r", "list-lines = 3"), "both are there later",
          p.terminal.said());
  }
  std::ofstream(home.path() + "/.rldbrc", std::ios::app) << "project = R.const(34)\n";
  Prompt p(program, home.path());
  check(p.says("project\r", "not defined"), "a file that was changed is not trusted any more", p.terminal.said());
}

// Bracketed paste is enabled in the terminal, and disabled afterwards.
void check_modes(const std::string& program) {
  Folder home;
  Prompt p(program, home.path());
  check(holds(p.terminal.said(), "\033[?2004h"), "bracketed paste is on at the prompt", p.terminal.said());
  check(p.says("!sleep 0.1; stty -a | tr ' ' '\\n' | grep -c '^icanon'\r", "\r\n1\r"),
        "a shell has the terminal as it was", p.terminal.said());
  check(holds(p.terminal.said(), "\033[?2004l"), "bracketed paste is off while an entry is worked on");
  p.terminal.forget();
  p.terminal.send("\x1a");
  p.terminal.read_for(0.2);
  p.terminal.signal(SIGCONT);
  check(p.terminal.wait_for("rldb> ") && p.says("R.const(71)\r", "\r\n71"), "after ^Z and fg there is a prompt",
        p.terminal.said());
  p.terminal.signal(SIGSTOP);
  p.terminal.forget();
  p.terminal.signal(SIGCONT);
  check(p.terminal.wait_for("rldb> "), "and after being stopped by others", p.terminal.said());
  p.terminal.signal(SIGSEGV);
  const auto status = p.terminal.ended();
  check(status && WIFSIGNALED(*status) && same_modes(p.terminal.modes(), p.terminal.first_modes()),
        "a crash at the prompt leaves the terminal as it was");
}

// Two sessions, one history; one item per entry, the last of equal ones.
void check_history(const std::string& program) {
  Folder home;
  Prompt a(program, home.path());
  Prompt b(program, home.path());
  a.says("R.const(1)\r", "\r\n1");
  b.says("R.const(2)\r", "\r\n2");
  a.says("(\r3)\r", "3");
  a.says("R.const(1)\r", "\r\n1");
  Prompt c(program, home.path());
  check(c.says("\033[A\033[A\033[A\033[A\r", "\r\n2"), "another session's entry is there, equal ones count once",
        c.terminal.said());
  check(text_of(home.path() + "/.rldb_history").find("(\\n    3)\n") != std::string::npos, "an entry is one item");
  std::ofstream(home.path() + "/.rldb_history", std::ios::app) << std::string("\x00\xff\\", 3) << "torn";
  Prompt d(program, home.path());
  check(d.says("\x12(\r", "3"), "a damaged history is read as far as it goes", d.terminal.said());
}

void check_dumb(const std::string& program) {
  Folder home;
  Terminal terminal("/usr/bin/env", {"TERM=dumb", program, "-q"}, home.path());
  check(terminal.wait_for("rldb> ") && terminal.send("(rldb) R.const(81)\r") && terminal.wait_for("\n81"),
        "a dumb terminal works", terminal.said());
  check(terminal.send(":quit\r") && terminal.ended() == 0, "and left");
  check(terminal.said().find('\033') == std::string::npos, "without control sequences", terminal.said());
  Terminal ended("/usr/bin/env", {"TERM=dumb", program, "-q"}, home.path());
  check(ended.wait_for("rldb> ") && ended.send("\x04") && ended.ended() == 0 && ended.said().ends_with("\n"),
        "^D ends the line", ended.said());
}

void check_ends(const std::string& program) {
  for (const int signal : {SIGTERM, SIGHUP}) {
    Folder home;
    {
      Prompt p(program, home.path());
      p.says("kept = R.const(42)\r", "\r\n42");
      p.terminal.send("half of an ent");
      p.terminal.signal(signal);
      check(p.leaves_with(128 + signal), "a signal ends the session in order", p.terminal.said());
    }
    check(text_of(home.path() + "/.rldb_history").find("kept = R.const(42)\n") != std::string::npos,
          "the history holds the entries");
    Prompt p(program, home.path());
    check(p.terminal.said().find(" was killed: :resume") != std::string::npos, "the session is offered",
          p.terminal.said());
    check(p.says(":resume\r", "resumed the session") && p.says("kept\r", "\r\n42"), "and comes back",
          p.terminal.said());
  }
}

void check_resume(const std::string& program) {
  Folder home;
  std::ofstream(home.path() + "/m.py")
      << "from tvm.script import ir as I, relax as R\n\n@I.ir_module\nclass Module:\n"
         "    @R.function\n    def main(x: R.Tensor((2,), \"float32\")):\n"
         "        with R.dataflow():\n            a = R.add(x, x)\n"
         "            b = R.multiply(a, a)\n            R.output(b)\n        return b\n";
  {
    Prompt p(program, home.path(), {"m.py", "--seed=7"});
    p.says("@R.function\rdef g(y: R.Tensor((2,), \"float32\")):\rreturn y\r\r", "defined g");
    p.says("!touch once-$(date +%N)\r", "rldb> ");
    p.says(":save saved.py\r", "wrote saved.py");
    p.says("wrong = R.nothing(1)\r", "error");
    p.says(":run-pass LegalizeOps\r", "rldb> ");
    p.says(":set list-lines 3\r", "rldb> ");
    p.says(":input v 2xf32=1,2\r", "v = ");
    p.says(":break main:b\r", "breakpoint 1");
    p.says(":run main v\r", "main:b");
    p.terminal.signal(SIGKILL);
    p.terminal.ended();
  }
  fs::remove(home.path() + "/saved.py");
  Prompt p(program, home.path());
  check(journals(home.path()) == 2, "the journal of the killed session is there");
  check(p.says(":resume\r", "stopped at main:b"), "it is stopped where it was", p.terminal.said());
  check(p.terminal.said().find("not repeated, because it acts outside of the session: !touch") != std::string::npos &&
            p.terminal.said().find(":save saved.py") != std::string::npos,
        "entries that are not repeated are listed", p.terminal.said());
  check(!fs::exists(home.path() + "/saved.py"), "nothing is saved again");
  check(p.says(":info breakpoints\r", "main:b"), "breakpoints", p.terminal.said());
  p.terminal.forget();
  p.terminal.send("d\r");
  check(p.terminal.wait_for("delete the breakpoint? (y/n)", 15), "breakpoints are not lost by one letter",
        p.terminal.said());
  p.terminal.send("n\r");
  check(p.says(":info breakpoints\r", "main:b"), "the answer no keeps them", p.terminal.said());
  check(p.says(":input\r", "v "), "values", p.terminal.said());
  check(p.says(":set list-lines\r", "list-lines = 3"), "options", p.terminal.said());
  check(p.says(":set seed\r", "seed = 7"), "options of the command line", p.terminal.said());
  check(p.says(":history\r", "LegalizeOps"), "passes", p.terminal.said());
  check(p.says(":show g\r", "def g("), "a definition over several lines", p.terminal.said());
  check(journals(home.path()) == 1, "one journal is left");
  p.terminal.forget();
  p.terminal.send(":run\r");
  check(p.terminal.wait_for("continue? (y/n)", 15), "nor is a run that is stopped, by another one", p.terminal.said());
  p.terminal.send("n\r");
  p.terminal.forget();
  p.terminal.send(":quit\r");
  check(p.terminal.wait_for("continue? (y/n)", 15), "a run that is stopped is not lost without a question",
        p.terminal.said());
  p.terminal.send("y\r");
  check(p.leaves_with(0) && journals(home.path()) == 0, "and none at the end", p.terminal.said());
}

void check_drop(const std::string& program) {
  Folder home;
  {
    Prompt p(program, home.path());
    p.says("x = R.const(1)\r", "\r\n1\r");
    p.terminal.signal(SIGKILL);
    p.terminal.ended();
  }
  Prompt p(program, home.path());
  check(p.says(":resume drop\r", "discarded the session"), "a killed session can be discarded", p.terminal.said());
  check(p.says(":resume\r", "there is no interrupted session"), "then there is none", p.terminal.said());
  Prompt second(program, home.path());
  check(second.says(":resume\r", "there is no interrupted session"), "a session that runs is not offered",
        second.terminal.said());
}

// A session killed in an entry that does not end: it is tried again, and can be skipped.
void check_resume_of_loop(const std::string& program) {
  Folder home;
  std::ofstream(home.path() + "/loop.py")
      << "from tvm.script import ir as I, relax as R\n\n@I.ir_module\nclass Module:\n"
         "    @R.function\n    def main(x: R.Tensor((), \"bool\")) -> R.Tensor((), \"bool\"):\n"
         "        cls = Module\n        y: R.Tensor((), \"bool\") = cls.main(x)\n        return y\n"
         "    @T.prim_func\n    def long(A: T.Buffer((1,), \"float32\")):\n"
         "        for i, j in T.grid(1000000000, 1000000000):\n            A[0] = A[0] * T.float32(0.5) + A[0]\n";
  {
    Prompt p(program, home.path(), {"loop.py"});
    p.says("kept = R.const(42)\r", "\r\n42");
    p.terminal.send(":engine eval\r:run long\r");
    p.terminal.wait_for(":run long", 15);
    p.terminal.read_for(0.5);
    p.terminal.signal(SIGKILL);
    p.terminal.ended();
  }
  Prompt p(program, home.path());
  p.terminal.forget();
  p.terminal.send(":resume\r");
  check(p.terminal.wait_for("the session was killed in this entry, ^C skips it: :run long", 15),
        "the entry that did not end is named", p.terminal.said());
  p.terminal.read_for(0.3);
  p.terminal.send("\x03");
  check(p.terminal.wait_for("skip it and repeat the others? (y/n) ", 15), "^C offers to skip it", p.terminal.said());
  check(p.says("y\r", "resumed the session of"), "and the rest is there", p.terminal.said());
  check(p.says("kept\r", "\r\n42"), "with its values", p.terminal.said());
}

// ^C in one burst with an entry that does not end: it is interrupted, whether it could begin or not, and what is typed
// behind that is the next entry's.
void check_burst(const std::string& program) {
  Folder home;
  std::ofstream(home.path() + "/loop.py")
      << "from tvm.script import tirx as T\n\n@T.prim_func\ndef long(A: T.Buffer((1,), \"float32\")):\n"
         "    for i, j in T.grid(1000000000, 1000000000):\n        A[0] = A[0] * T.float32(0.5) + A[0]\n";
  Prompt p(program, home.path(), {"loop.py"});
  p.says(":engine eval\r", "engine: eval");
  for (int i = 0; i < 5; ++i) {
    p.terminal.forget();
    p.terminal.send(":run long\r\x03");
    check(p.terminal.wait_for("interrupted", 15) && p.terminal.wait_for_after("interrupted", "rldb", 15),
          "^C directly behind an entry interrupts it", p.terminal.said());
    const std::string number = std::to_string(6300 + i);
    p.terminal.forget();
    p.terminal.send(":run long\rdropped\r\x03R.const(" + number + ")\r");
    check(p.terminal.wait_for("interrupted", 15) && p.terminal.wait_for_after("interrupted", "\r\n" + number, 15),
          "and takes back what was typed before it, not what is typed after it", p.terminal.said());
    p.terminal.wait_for_after("\r\n" + number, "rldb", 15);
  }
  check(p.says("\033[A\033[A\r\x03", "interrupted"), "an entry that was taken back is in the history",
        p.terminal.said());
}

// An entry that ^C ended is a comment of a saved script: replayed it would never end.
void check_saved_interrupt(const std::string& program) {
  Folder home;
  std::ofstream(home.path() + "/loop.py")
      << "from tvm.script import tirx as T\n\n@T.prim_func\ndef long(A: T.Buffer((1,), \"float32\")):\n"
         "    for i, j in T.grid(1000000000, 1000000000):\n        A[0] = A[0] * T.float32(0.5) + A[0]\n";
  Prompt p(program, home.path(), {"loop.py"});
  p.says("break long\r", "breakpoint 1");
  p.says("start long\r", "(rldb long");
  p.terminal.forget();
  p.terminal.send("finish\r");
  p.terminal.wait_for("^C interrupts", 15);
  check(p.says("\x03", "interrupted"), "a kernel is interrupted", p.terminal.said());
  const std::string script = home.path() + "/s.session";
  p.says(":save-script " + script + "\r", "wrote ");
  std::ifstream file(script);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  check(text.find("# interrupted here: finish\n") != std::string::npos && text.find("\nfinish") == std::string::npos,
        "a saved script does not repeat it", text);
}

// Journals of killed sessions do not pile up.
void check_many_killed(const std::string& program) {
  Folder home;
  for (int i = 0; i < 20; ++i) {
    Prompt p(program, home.path());
    p.says("x = R.const(" + std::to_string(i) + ")\r", "\r\n" + std::to_string(i));
    p.terminal.signal(SIGKILL);
    p.terminal.ended();
  }
  Prompt p(program, home.path());
  check(journals(home.path()) == 17, "the oldest journals are removed", std::to_string(journals(home.path())));
  check(p.says(":resume\r", "resumed") && p.says("x\r", "\r\n19"), "the newest is kept", p.terminal.said());
}

// Control sequences in names, strings and comments of a program are shown, not obeyed.
void check_hostile_text(const std::string& program) {
  const std::string raw = "\033]0;PWNED\007\033[2J\033[8m\302\233[2J\b\177\342\200\256";
  const std::string quoted = "\\x1b]0;PWNED\\x07\\x1b[2J\\x1b[8m\\x9b[2J\\x08\\x7f\\u202e";
  Folder home;
  const std::string file = "m" + raw + ".py";
  std::ofstream(home.path() + "/" + file)
      << "from tvm.script import ir as I, relax as R, tirx as T\n\n@I.ir_module\nclass Module:  # " << raw << "\n"
      << "    @R.function\n    def main(x: R.Tensor((2,), \"float32\")):\n"
      << "        R.func_attr({\"note\": \"" << quoted << "\"})\n"
      << "        y = R.add(x, x)  # " << raw << "\n        s = R.str(\"" << quoted << "\")\n"
      << "        z = R.call_pure_packed(\"" << quoted << "\", y, ty_args=[R.Object])\n        return (y, s, z)\n";
  std::ofstream(home.path() + "/bad.py")
      << "from tvm.script import ir as I, relax as R\n\n@I.ir_module\nclass Module:\n"
         "    @R.function\n    def main(x: R.Tensor((2,), \""
      << quoted << "\")):  # " << raw << "\n        return x\n";
  Prompt p(program, home.path());
  std::string seen = p.terminal.said();
  for (const std::string& entry : {":load " + file,
                                   std::string(":load bad.py"),
                                   ":load " + file,
                                   std::string(":list"),
                                   std::string(":list main"),
                                   std::string(":show"),
                                   std::string(":info program"),
                                   std::string(":info main:y"),
                                   std::string(":type main"),
                                   std::string(":history"),
                                   std::string(":run main"),
                                   std::string(":break main:y"),
                                   std::string(":start main"),
                                   std::string("locals"),
                                   std::string("bt full"),
                                   std::string("why y"),
                                   std::string(":display s"),
                                   std::string(":disasm"),
                                   std::string(":graph main"),
                                   std::string(":report"),
                                   std::string(":bisect LegalizeOps"),
                                   "R.str(\"" + quoted + "\")",
                                   "s = R.str(\"" + quoted + "\")",
                                   std::string(":info values"),
                                   ":load nothing" + quoted,
                                   ":input x 2xf32=" + quoted,
                                   ":set " + quoted,
                                   ":" + quoted,
                                   ":alias q = " + quoted,
                                   std::string(":alias"),
                                   ":dprintf main:y, \"" + quoted + " {x}\""}) {
    p.terminal.forget();
    // Typed control characters would be keys.
    std::string typed;
    for (const char c : entry)
      typed += (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) ? std::string("\x16") + c : std::string(1, c);
    p.terminal.send(typed + "\r");
    p.terminal.wait_for_after("\r\n", "rldb", 15);
    p.terminal.read_for(0.05);
    const std::string& said = p.terminal.said();
    const bool good = said.find("\033]0;") == std::string::npos && said.find("\033[8m") == std::string::npos &&
                      said.find("\302\233") == std::string::npos && said.find('\177') == std::string::npos &&
                      said.find("\342\200\256") == std::string::npos && said.find("\033[2J") == std::string::npos;
    check(good, "hostile text is shown, not obeyed", entry + "\n" + said);
  }
}

// ^C while the terminal is slower than the text does not count as lost output.
void check_slow_terminal(const std::string& program) {
  Folder home;
  Prompt p(program, home.path());
  for (int i = 0; i < 20; ++i) {
    p.terminal.send(":help\r:help --markdown\r");
    ::usleep(20'000);  // nothing is read: the terminal is full, and the program waits in the middle of its text
    p.terminal.signal(SIGINT);
    ::usleep(1000);
  }
  p.terminal.read_for(0.5);
  check(p.says("\x03\x15R.const(61)\r", "\r\n61"), "it goes on", p.terminal.said());
  p.terminal.send(":quit\r");
  check(p.leaves_with(0), "^C in the middle of a long text loses nothing", p.terminal.said());
}

void check_all(const std::string& rldb) {
  check_keys(rldb);
  check_screen(rldb);
  check_hints(rldb);
  check_pager(rldb);
  check_wrapped_page(rldb);
  check_long_line(rldb);
  check_start_files(rldb);
  check_modes(rldb);
  check_history(rldb);
  check_dumb(rldb);
  check_ends(rldb);
  check_resume(rldb);
  check_drop(rldb);
  check_resume_of_loop(rldb);
  check_burst(rldb);
  check_saved_interrupt(rldb);
  check_many_killed(rldb);
  check_hostile_text(rldb);
  check_slow_terminal(rldb);
}

}  // namespace

int main(int argc, char** argv) {
  int runs = 1;
  bool good = argc >= 2;
  for (int i = 2; i < argc; ++i) {
    const std::string_view option = argv[i];
    if (option == "--bytes")
      Terminal::set_piece(1);
    else if (option.starts_with("--runs="))
      runs = std::atoi(argv[i] + 7);
    else
      good = false;
  }
  if (!good) {
    std::fprintf(stderr, "usage: rldb_prompt_check RLDB [--runs=N] [--bytes]\n");
    return 2;
  }
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  for (int i = 1; i <= runs; ++i) {
    check_all(fs::absolute(argv[1]));
    if (runs > 1) std::printf("run %d: %d passed, %d failed\n", i, g_passed, g_failed);
  }
  std::printf("%d passed, %d failed\n", g_passed, g_failed);
  return g_failed == 0 ? 0 : 1;
}
