// Sessions killed at random moments: rldb_kill_fuzz RLDB [SEED [KILLS]]. Each session is restored with `--resume` and
// continues: definitions, values, passes and options, each entry sent without waiting for the reply to the last. After
// every kill -9 everything the program had acknowledged must be there again. The last line is `N passed, N failed`.
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <random>

#include "pty/terminal.h"

using namespace rldb::pty;

namespace {

class Attack {
 public:
  Attack(std::string program, std::uint64_t seed) : program_(std::move(program)), random_(seed) {}

  // One life of the session: resumed, inspected, used, killed. Empty: all is well.
  std::string live() {
    Terminal terminal(program_, {"-q", "--color=never", "--resume"}, home_.path());
    if (!terminal.wait_for("rldb> ", 60)) return "it does not start: " + terminal.said();
    if (std::string lost = look(terminal); !lost.empty()) return lost;
    const std::size_t entries = below(6);
    for (std::size_t i = 0; i < entries; ++i) {
      ++sent_;
      terminal.send(entry(sent_));
      // Up to the end of the reply, or into the middle of it.
      if (below(3) != 0) {
        if (!terminal.wait_for(reply(sent_), 60)) return "no reply to entry " + std::to_string(sent_);
        answered_ = sent_;
      }
    }
    ::usleep(useconds_t(below(30'000)));
    terminal.read_for(0.001);
    for (; answered_ < sent_ && terminal.said().find(reply(answered_ + 1)) != std::string::npos;) ++answered_;
    terminal.signal(SIGKILL);
    terminal.ended();
    return {};
  }

 private:
  std::size_t below(std::size_t n) { return std::size_t(random_() % n); }

  // Every third is a definition over several lines, which must be restored in full.
  static bool is_function(std::size_t i) { return i % 3 == 0; }
  static std::string name(std::size_t i) { return (is_function(i) ? "f" : "v") + std::to_string(i); }
  static std::string number(std::size_t i) { return std::to_string(500'000 + i); }
  static std::string entry(std::size_t i) {
    if (!is_function(i)) return name(i) + " = R.const(" + number(i) + ")\r";
    return "\033[200~@R.function\rdef " + name(i) +
           "(x: R.Tensor((4,), \"float32\")):\r    y = R.add(x, x)\r    return y\r\033[201~\r\r";
  }
  static std::string reply(std::size_t i) {
    return is_function(i) ? "defined " + name(i) + "\r\n" : "\r\n" + number(i);
  }

  // Acknowledged entries are there; others may be.
  std::string look(Terminal& terminal) {
    for (std::size_t i = answered_ > 4 ? answered_ - 4 : 1; i <= sent_; ++i) {
      terminal.forget();
      terminal.send(is_function(i) ? ":show " + name(i) + "\r" : name(i) + "\r");
      const bool there =
          terminal.wait_for(is_function(i) ? "def " + name(i) : "\r\n" + number(i), i <= answered_ ? 60 : 1);
      if (!there && i <= answered_) return name(i) + " is lost: " + terminal.said();
      if (!there) {
        sent_ = i - 1;  // the line that was being typed; anything after it was not read
        break;
      }
    }
    answered_ = sent_;
    return {};
  }

  std::string program_;
  Folder home_;
  std::mt19937_64 random_;
  std::size_t sent_ = 0;
  std::size_t answered_ = 0;  // acknowledged by the program up to here
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: rldb_kill_fuzz RLDB [SEED [KILLS]]\n");
    return 2;
  }
  const std::uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
  const std::size_t kills = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 1000;
  constexpr std::size_t kLives = 25;  // of one session; its journal grows with each
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  int passed = 0, failed = 0;
  for (std::size_t done = 0; done < kills;) {
    Attack attack(argv[1], seed + done);
    for (std::size_t i = 0; i < kLives && done < kills; ++i, ++done) {
      const std::string why = attack.live();
      ++(why.empty() ? passed : failed);
      if (why.empty()) continue;
      std::printf("FAIL  seed %llu, life %zu: %s\n", (unsigned long long)(seed + done - i), i, why.c_str());
      ++done;
      break;
    }
  }
  std::printf("%d passed, %d failed\n", passed, failed);
  return failed == 0 ? 0 : 1;
}
