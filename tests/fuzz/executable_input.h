// Executables as input: a file split into its sections, damaged inside them with lengths and checksums corrected,
// so that the damage gets through; and everything that a user can do with a file. Used by the fuzz target and the
// test.
#pragma once

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "rldb/ui/prompt/state.h"
#include "rldb/ui/terminal/exit_code.h"

namespace rldb::fuzz {

template <class T>
T read(const std::string& bytes, std::size_t at) {
  T v{};
  std::memcpy(&v, bytes.data() + at, sizeof v);
  return v;
}
template <class T>
void put(std::string& bytes, std::size_t at, T v) {
  std::memcpy(bytes.data() + at, &v, sizeof v);
}

struct Part {
  std::uint32_t id = 0;  // 0: TVM's part, before the sections
  std::string bytes;
};

// Empty when the file has no sections of ours.
inline std::vector<Part> split(const std::string& file) {
  const std::size_t at = file.rfind(std::string_view("RLSECTS1"));
  if (at == std::string::npos) return {};
  std::vector<Part> parts{{0, file.substr(0, at + 12)}};
  for (std::size_t next = at + 12; next + 12 <= file.size();) {
    const auto id = read<std::uint32_t>(file, next);
    const auto length = read<std::uint64_t>(file, next + 4);
    if (id == 0) break;
    parts.push_back({id, file.substr(next + 12, length)});
    next += 12 + length;
  }
  return parts;
}

inline std::string join(const std::vector<Part>& parts) {
  std::string file;
  for (const Part& p : parts) {
    if (p.id != 0) {
      std::string head(12, '\0');
      put(head, 0, p.id);
      put(head, 4, std::uint64_t(p.bytes.size()));
      file += head;
    }
    file += p.bytes;
  }
  return file + std::string(12, '\0');
}

// The checksum of every stored kernel, as in artefact.cc.
inline void mend_checksums(std::string& kernels) {
  for (std::size_t at = kernels.find("RLDBKRN"); at != std::string::npos; at = kernels.find("RLDBKRN", at + 1)) {
    if (at < 8 || at + 16 > kernels.size()) continue;
    const auto length = read<std::uint64_t>(kernels, at - 8);
    if (length < 16 || length > kernels.size() - at) continue;
    std::uint64_t h = 0xcbf29ce484222325u;
    for (std::size_t i = at + 16; i < at + length; ++i) h = (h ^ std::uint8_t(kernels[i])) * 0x100000001b3u;
    put(kernels, at + 8, h);
  }
}

class Mutator {
 public:
  explicit Mutator(std::mt19937_64& random) : random_(random) {}
  std::uint64_t below(std::uint64_t n) { return n == 0 ? 0 : random_() % n; }

  void damage(std::string& bytes) {
    if (bytes.empty()) return;
    const std::size_t at = below(bytes.size());
    switch (below(7)) {
      case 0:
        bytes[at] = char(bytes[at] ^ (1 << below(8)));
        break;
      case 1:
        bytes[at] = char(below(4) == 0 ? 0xff : below(256));
        break;
      case 2: {  // a chosen word
        constexpr std::int64_t kWords[] = {0,  1,     -1,   2,        7,           255,
                                           -2, 65536, 1000, 1L << 31, -(1L << 31), 0x7fffffffffffffff};
        const std::size_t word = at / 4 * 4;
        if (word + 8 <= bytes.size()) put(bytes, word, kWords[below(std::size(kWords))]);
        break;
      }
      case 3:
        bytes.insert(at, std::string(1 + below(16), char(below(256))));
        break;
      case 4:
        bytes.erase(at, 1 + below(16));
        break;
      case 5:
        if (below(4) == 0) bytes.resize(at);
        break;
      case 6: {  // a piece of itself somewhere else
        const std::string piece = bytes.substr(at, 8 * (1 + below(4)));
        const std::size_t to = below(bytes.size());
        bytes.replace(to, std::min(piece.size(), bytes.size() - to), piece);
        break;
      }
    }
  }

  std::string mutate(std::vector<Part> parts) {
    for (std::uint64_t n = 1 + below(3); n > 0; --n) {
      Part& part = parts[below(parts.size())];
      damage(part.bytes);
      if (part.id == 2) mend_checksums(part.bytes);
    }
    return join(parts);
  }

 private:
  std::mt19937_64& random_;
};

inline ui::CommandLine vm_line() {
  ui::CommandLine line;
  line.options.engine = session::Engine::Vm;  // evaluated kernels: the JIT has tests of its own
  line.timeout = 0.5;
  return line;
}

// How far the files got: damage that no file survives would test the loader only.
struct Reached {
  int opened = 0;
  int started = 0;
};

// Everything that a user can do with a file, after the entry `before`. Empty, or a bug found.
inline std::string look_at(Reached& reached, const std::string& path, const std::string& call,
                           const std::string& before = "") {
  ui::CapturedConsole console;
  ui::Repl repl(vm_line(), console);
  std::string bug;
  const auto say = [&](const std::string& entry) {
    const ui::Status status = repl.execute(entry);
    if (repl.last().exit_code == ui::kInternal) bug = entry + ": " + console.text();
    console.take();
    return status == ui::Status::Good;
  };
  if (!before.empty()) say(before);
  if (!say(":load " + path)) return bug;
  ++reached.opened;
  for (const char* entry : {":list", ":info functions", ":info program", ":disasm", ":llvm add"}) say(entry);
  say(":run " + call);
  say(":break *1");
  if (!say(":start " + call)) return bug;
  ++reached.started;
  for (const char* step : {"stepi", "stepi 3", "step", "next", "stept", "step 2", "rsi", "stepi 20", "finish"}) {
    for (const char* view : {"bt", "locals", "registers", "heap", "print x", "origin", "disasm", "up", "info program"})
      say(view);
    say(step);
  }
  say("continue");
  return bug;
}

}  // namespace rldb::fuzz
