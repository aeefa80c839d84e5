// Damaged executables at the prompt: whatever a file holds, opening, listing, running and debugging it ends in an
// answer. Built from the examples, damaged inside every section with lengths and checksums made right again, so that
// the damage arrives. After a crash the guilty file is still in the folder for temporary files.
//
// RLDB_MUTATIONS=N tries N files and not a few hundred, RLDB_MUTATION_SEED=S others than those of every day.
#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>

#include "rldb/support/cancel.h"
#include "rldb/support/check.h"
#include "rldb/support/memory.h"
#include "ui/repl/state.h"

using namespace rldb;
using namespace rldb::ui;

namespace {

constexpr std::uint64_t kSectionsMagic = 0x3153544345534C52ULL;

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

std::vector<Part> split(const std::string& file) {
  const std::size_t at = file.rfind(std::string_view("RLSECTS1"));
  REQUIRE(at != std::string::npos);
  REQUIRE(read<std::uint64_t>(file, at) == kSectionsMagic);
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

std::string join(const std::vector<Part>& parts) {
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

// The checksum of every stored kernel, as artefact.cc has it.
void mend_checksums(std::string& kernels) {
  for (std::size_t at = kernels.find("RLDBKRN1"); at != std::string::npos; at = kernels.find("RLDBKRN1", at + 1)) {
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
  explicit Mutator(std::uint64_t seed) : random_(seed) {}
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
      case 2: {  // a word of its own
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
  std::mt19937_64 random_;
};

struct Example {
  const char* file;
  std::string call;  // the function and its arguments
};
const Example kExamples[] = {
    {"mlp.py", "main 2x4xf32=ones 4x8xf32=ones 8xf32=ones 8x3xf32=ones 3xf32=ones"},
    {"rfc_shapes.py", "shape_example 2x2x2xf32=ones"},
    {"rfc_cross_level.py", "relax_func 2x3xf32=ones 3x4xf32=ones"},
    {"attention.py", "main 3x8xf32=ones 8x8xf32=ones 8x8xf32=ones 8x8xf32=ones 8x8xf32=ones 8xf32=ones"},
};

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text && *text ? std::strtoull(text, nullptr, 10) : otherwise;
}

CommandLine vm_line() {
  CommandLine line;
  line.options.engine = session::Engine::Vm;  // evaluated kernels: the JIT has tests of its own
  return line;
}

// How far the files came: damage that no file survives would test the loader only.
struct Reached {
  int opened = 0;
  int started = 0;
};

// All that a user can ask of a file. Throws what must not be thrown.
void look_at(Reached& reached, const std::string& path, const std::string& call) {
  CapturedConsole console;
  Repl repl(vm_line(), console);
  const auto say = [&](const std::string& entry) {
    support::Deadline deadline(0.5, 60);
    Status status = Status::Failed;
    try {
      status = repl.execute(entry);
    } catch (const support::Cancelled&) {
    } catch (const std::bad_alloc&) {
    }
    support::clear_cancel();
    const std::string text = console.take();
    CHECK_MESSAGE(text.find("internal error") == std::string::npos, entry << ": " << text);
    return status == Status::Good;
  };
  if (!say(":load " + path)) return;
  ++reached.opened;
  for (const char* entry : {":list", ":info functions", ":info program", ":disasm", ":llvm add"}) say(entry);
  say(":run " + call);
  say(":break *1");
  if (!say(":start " + call)) return;
  ++reached.started;
  for (const char* step : {"stepi", "stepi 3", "step", "next", "stept", "step 2", "rsi", "stepi 20", "finish"}) {
    for (const char* view : {"bt", "locals", "registers", "heap", "print x", "origin", "disasm", "up", "info program"})
      say(view);
    say(step);
  }
  say("continue");
}

}  // namespace

TEST_CASE("no damage to an executable goes further than a diagnostic") {
  const std::size_t limit = support::memory_limit();
  support::set_memory_limit(std::size_t(768) << 20);
  const std::uint64_t count = from_environment("RLDB_MUTATIONS", 150);
  const std::uint64_t seed = from_environment("RLDB_MUTATION_SEED", 1);
  Reached reached;
  const std::string path =
      (std::filesystem::temp_directory_path() / fmt::format("rldb_mutation_{}.rlvm", ::getpid())).string();
  for (const Example& example : kExamples) {
    CapturedConsole console;
    Repl repl(vm_line(), console);
    source::Diagnostics d;
    REQUIRE(repl.session().load_file(fmt::format(RLDB_SOURCE_DIR "/docs/examples/{}", example.file), d));
    const auto bytes = repl.session().serialise(d);
    REQUIRE(bytes);
    const std::vector<Part> parts = split(*bytes);
    REQUIRE(parts.size() >= 4);
    for (std::uint64_t i = 0; i < count / std::size(kExamples); ++i) {
      Mutator mutator(seed * 1'000'003 + i);
      const std::string file = i == 0 ? *bytes : mutator.mutate(parts);
      std::ofstream(path, std::ios::binary | std::ios::trunc) << file;
      CAPTURE(example.file);
      CAPTURE(i);
      CHECK_NOTHROW(look_at(reached, path, example.call));
    }
  }
  std::remove(path.c_str());
  support::set_memory_limit(limit);
  MESSAGE(count << " files, " << reached.opened << " opened, " << reached.started << " started");
  CHECK(reached.opened > int(count / 5));
  CHECK(reached.started > int(count / 10));
}
