// Random keys at the prompt: rldb_keys_fuzz RLDB [SEED [KEYS [RUNS]]]. Types random keys into a program in a
// pseudo-terminal (control and meta keys, escape sequences, text, malformed UTF-8, pastes, signals, window sizes); now
// and then, and at the end, the prompt must still answer, and when it has exited the terminal must be as it was before.
// The last line is `N passed, N failed`; a failure names its seed and the last keys.
#include <signal.h>
#include <sys/wait.h>

#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <random>

#include "pty/terminal.h"

using namespace rldb::pty;

namespace {

class Keys {
 public:
  explicit Keys(std::uint64_t seed) : random_(seed) {}

  std::size_t below(std::size_t n) { return std::size_t(random_() % n); }
  bool one_in(std::size_t n) { return below(n) == 0; }

  // One key or a short sequence. Never a `!`, as a shell command could follow; never ^D, the key that ends a session.
  std::string next() {
    switch (below(16)) {
      case 0:
      case 1:
        return control();
      case 2:
        return "\033" + one_of("abcdefghijklmnopqrstuvwxyz<>.,-_?=*&{}~/@$^\\#0123456789 \t\r\n\b\177");
      case 3:
        return pick(kSequences);
      case 4:
        return control() + control();
      case 5:
        return "\x18" + (one_in(2) ? control() : one_of("abcdefghijklmnopqrstuvwxyz()*/@$~?"));
      case 6:
        return (one_in(2) ? "\x12" : "\x13") + text(below(4)) + (one_in(2) ? control() : "");
      case 7:
        return pick(kCharacters);
      case 8:
        return std::string(1, char(0x80 + below(0x80)));
      case 9:
        return one_in(3) ? paste() : text(3);
      case 10:
        return "\033[" + text(below(3)) + one_of("ABCDHFPQRSZ~;?mt");
      case 11:
        return one_in(3) ? "\r" : "\t";
      case 12:
        return one_in(4) ? "\x03" : pick(kScript);
      default:
        return one_in(3) ? pick(kScript) : text(1 + below(5));
    }
  }

 private:
  template <std::size_t N>
  std::string pick(const char* const (&rows)[N]) {
    return rows[below(N)];
  }
  std::string one_of(std::string_view set) { return std::string(1, set[below(set.size())]); }
  std::string control() {
    char c = 0;
    do {
      c = char(below(33));
      if (c == 32) c = 0x7F;
    } while (c == 0x04 || c == 0x1A);  // ^D ends; ^Z has its own test
    return std::string(1, c);
  }
  std::string text(std::size_t n) {
    std::string out;
    while (out.size() < n) {
      const char c = char(' ' + below(95));
      if (c != '!') out += c;
    }
    return out;
  }
  std::string paste() {
    std::string out = "\033[200~";
    for (std::size_t i = below(5); i > 0; --i) out += one_in(2) ? pick(kScript) : text(below(20)) + "\r";
    if (one_in(3)) out += "\033[31m\001\002" + std::string(1, char(0x80 + below(0x80)));
    return one_in(8) ? out : out + "\033[201~";  // some never end
  }

  static constexpr const char* kSequences[] = {
      "\033[A",    "\033[B",    "\033[C",   "\033[D",  "\033OA",  "\033OB",     "\033OC",  "\033OD",
      "\033[H",    "\033[F",    "\033[3~",  "\033[2~", "\033[5~", "\033[6~",    "\033[1~", "\033[1;5C",
      "\033[1;5D", "\033[1;3C", "\033OP",   "\033[",   "\033",    "\033O",      "\033[Z",  "\033[200",
      "\033[201~", "\033\033",  "\033[15~", "\033[M ", "\033[I",  "\033[<0;1M", "\033x",   "\033[99;99R"};
  static constexpr const char* kCharacters[] = {
      "é",           "ß",        "€",        "漢",   "😀",    "e\xCC\x81",   "\xE2\x80\x8B",
      "\302\23331m", "\xE2\x82", "\xF0\x9F", "\xC3", "\xFF", "\xED\xA0\x80"};
  static constexpr const char* kScript[] = {"x = R.const(1)",
                                            "R.add(x, x)",
                                            "@R.function\r",
                                            "def f(x: R.Tensor((\"n\", 4), \"float32\")):\r",
                                            "with R.dataflow():\r",
                                            "    y = R.add(x, x)\r",
                                            "return y\r\r",
                                            ":help",
                                            ":list\r",
                                            ":info ",
                                            ":history\r",
                                            ":undo\r",
                                            "R.",
                                            "(((",
                                            "[{",
                                            "\"\"\"",
                                            "'",
                                            "# a comment",
                                            "?add\r",
                                            "\030a",
                                            "\x18s",
                                            "\x18o",
                                            ":tui\r",
                                            ":layout next\r",
                                            ":winheight code +3\r",
                                            "break main:a\r",
                                            ":run main\r",
                                            "step\r"};
  std::mt19937_64 random_;
};

std::string readable(const std::string& keys) {
  std::string out;
  char hex[8];
  for (const char c : keys) {
    if (std::isprint(static_cast<unsigned char>(c)) && c != '\\') {
      out += c;
    } else {
      std::snprintf(hex, sizeof hex, "\\x%02x", static_cast<unsigned char>(c));
      out += hex;
    }
  }
  return out;
}

// ^C ends whatever is running; then a sum is requested that does not occur in any of the keys.
bool answers(Terminal& terminal, unsigned number) {
  for (int i = 0; i < 3; ++i) {
    terminal.send("\x03");
    terminal.read_for(0.03);
  }
  // In single-key mode a colon starts an entry too.
  terminal.send("\x05\x15:tui off\r");
  terminal.read_for(0.1);
  terminal.send("\x05\x15");
  terminal.forget();
  terminal.send("R.const(" + std::to_string(number) + ")\r");
  return terminal.wait_for("\r\n" + std::to_string(number), 30);
}

std::string run(const std::string& program, std::uint64_t seed, std::size_t count) {
  Folder home;
  std::ofstream(home.path() + "/m.py") << "from tvm.script import ir as I, relax as R\n\n@I.ir_module\nclass Module:\n"
                                          "    @R.function\n    def main(x: R.Tensor((2,), \"float32\")):\n"
                                          "        a = R.add(x, x)\n        return a\n";
  Terminal terminal(program, {"-q", "--color=always", "m.py"}, home.path());
  if (!terminal.wait_for("rldb> ", 30)) return "it does not start: " + terminal.said();
  Keys keys(seed);
  std::string last;
  const auto failed = [&](const std::string& what) {
    std::string why = what;
    if (!terminal.running()) why += ", " + describe_status(*terminal.ended());
    const std::string& said = terminal.said();
    return why + "; the last keys: " + readable(last) + "; the end of what it wrote: " +
           readable(said.substr(said.size() - std::min<std::size_t>(said.size(), 600)));
  };
  for (std::size_t i = 0; i < count; ++i) {
    const std::string key = keys.next();
    last += key;
    if (last.size() > 300) last.erase(0, last.size() - 300);
    if (!terminal.send(key)) return failed("it does not read its keys at key " + std::to_string(i));
    if (keys.one_in(50)) terminal.resize((unsigned short)(1 + keys.below(60)), (unsigned short)(1 + keys.below(200)));
    if (keys.one_in(200)) terminal.signal(keys.one_in(2) ? SIGQUIT : SIGWINCH);
    if (keys.one_in(300)) terminal.signal(SIGTSTP), terminal.signal(SIGCONT);
    if (i % 500 == 499 && !answers(terminal, 100000 + unsigned(i)))
      return failed("it does not answer at key " + std::to_string(i));
    if (!terminal.running()) return failed("it ended at key " + std::to_string(i));
  }
  terminal.resize(24, 80);
  if (!answers(terminal, 999999)) return failed("it does not answer at the end");
  // Not before the prompt: while an entry runs the terminal is in line mode, where the kernel treats ^D as end of file
  // and delivers a NUL once the editor reads keys again.
  if (!terminal.wait_for_after("\r\n999999", "rldb", 30)) return failed("no prompt after the last entry");
  terminal.send(seed % 2 ? "\x04y\r" : ":quit!\r");  // it asks when a run is stopped
  const auto status = terminal.ended();
  if (!status) return failed("it does not leave");
  if (!WIFEXITED(*status) || WEXITSTATUS(*status) != 0) return describe_status(*status) + " when it left";
  if (!same_modes(terminal.modes(), terminal.first_modes())) return "the terminal is not as it was before";
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: rldb_keys_fuzz RLDB [SEED [KEYS [RUNS]]]\n");
    return 2;
  }
  const std::uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
  const std::size_t count = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 10'000;
  const std::uint64_t runs = argc > 4 ? std::strtoull(argv[4], nullptr, 10) : 1;
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  int passed = 0, failed = 0;
  for (std::uint64_t i = 0; i < runs; ++i) {
    const std::string why = run(argv[1], seed + i, count);
    if (!why.empty()) std::printf("FAIL  seed %llu: %s\n", (unsigned long long)(seed + i), why.c_str());
    ++(why.empty() ? passed : failed);
    std::fflush(stdout);
  }
  std::printf("%d passed, %d failed\n", passed, failed);
  return failed == 0 ? 0 : 1;
}
