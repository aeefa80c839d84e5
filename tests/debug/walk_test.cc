// Random walks of all verbs, forward and backward, at three levels: at equal times the whole state of the machine is
// the same to the last bit, however it was reached.
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>

#include "debug/helpers.h"
#include "debug/random_kernels.h"
#include "rldb/runtime/shared_memory.h"

namespace rldb::debug {

using testing::text_of;

namespace {

namespace fs = std::filesystem;
using runtime::Value;
using runtime::ValueKind;
using session::Engine;

std::uint64_t hash_bytes(const std::byte* data, std::size_t size, std::uint64_t seed = 14695981039346656037ULL) {
  for (std::size_t i = 0; i < size; ++i) seed = (seed ^ std::uint64_t(data[i])) * 1099511628211ULL;
  return seed;
}

// Every bit of a value; opaque objects by their kind.
std::string exact(const Value& v, int depth = 0) {
  if (depth > 20) return "...";
  switch (v.kind()) {
    case ValueKind::Tensor: {
      const runtime::Tensor& t = v.as_tensor();
      return fmt::format("{}{} {:x}", to_string(t.dtype()), fmt::format("({})", fmt::join(t.shape(), ",")),
                         hash_bytes(t.data(), t.byte_size()));
    }
    case ValueKind::Tuple: {
      std::string text = "(";
      for (const Value& f : v.as_tuple().fields) text += exact(f, depth + 1) + ";";
      return text + ")";
    }
    case ValueKind::Float:
      return fmt::format("{:a}", v.as_float());
    case ValueKind::Storage: {
      const auto s = v.storage_ref();
      return fmt::format("storage {:x}", hash_bytes(s->data(), s->size()));
    }
    case ValueKind::Null:
    case ValueKind::Int:
    case ValueKind::Bool:
    case ValueKind::DType:
    case ValueKind::String:
    case ValueKind::Shape:
    case ValueKind::Function:
    case ValueKind::Object:
      break;
  }
  return runtime::describe(v);
}

std::string state_of(const vm::Machine& m) {
  std::string text;
  for (std::size_t f = 0; f < m.frames().size(); ++f) {
    text += fmt::format("frame {} function {} pc {}\n", f, m.frames()[f].function, m.frames()[f].pc);
    for (bytecode::RegName r = 0; const Value* v = m.read_register(f, r); ++r)
      if (!v->is_null()) text += fmt::format("  %{} {}\n", r, exact(*v));
  }
  return text;
}

// The state of a stop inside a kernel.
std::string state_of(const Debugger::KernelPosition& at) {
  std::string text = fmt::format("{} statement {}\n", at.kernel, at.statement);
  for (const auto& [name, value] : at.variables) text += fmt::format("  {} {}\n", name, exact(value));
  for (const auto& [name, value] : at.buffers) text += fmt::format("  {} {}\n", name, exact(value));
  for (const std::string& block : at.blocks) text += "  in " + block + "\n";
  return text;
}

StopReport random_verb(Debugger& d, std::mt19937_64& rng, std::uint64_t& last_time, std::string& said) {
  const std::uint64_t count = 1 + rng() % 4;
  source::Diagnostics found;
  switch (rng() % 18) {
    case 0:
      return said = "step", d.step(count);
    case 1:
      return said = "next", d.next(count);
    case 2:
      return said = "finish", d.finish();
    case 3:
    case 4:
      return said = "stepi", d.step_instruction(count);
    case 5:
      return said = "nexti", d.next_instruction(count);
    case 6:
    case 7:
      return said = "stept", d.step_statement(1 + rng() % 40);
    case 8:
      return said = "reverse-step", d.reverse_step(count);
    case 9:
      return said = "reverse-next", d.reverse_next(count);
    case 10:
      return said = "reverse-stepi", d.reverse_step_instruction(count);
    case 11:
      return said = "reverse-stept", d.reverse_step_statement(count);
    case 12:
      return said = "reverse-finish", d.reverse_finish();
    case 13:
    case 14:
      return said = "stept block", d.step_to_in_kernel("block", count, found);
    case 15:
      return said = "reverse-stept block", d.reverse_step_to_in_kernel("block", count, found);
    case 16:
      return said = "reverse-continue", d.reverse_resume();
    default:
      return said = "goto", d.go_to(last_time == 0 ? 0 : rng() % (last_time + 1));
  }
}

void walk(const fs::path& file, Engine engine, std::uint64_t seed, int verbs) {
  testing::Capture output;
  session::Options options;
  options.engine = engine;
  options.default_dim = 3;
  session::Session session(options, &output);
  source::Diagnostics found;
  if (!session.load_file(file, found)) return;
  const std::vector<std::string> names = session.function_names();
  const auto main = std::find(names.begin(), names.end(), "main");
  if (names.empty()) return;
  const std::string function = main != names.end() ? *main : names.front();
  auto arguments = session.arguments(function, {}, found);
  if (!arguments) return;
  std::vector<Value> args;
  for (const session::Argument& a : *arguments) args.push_back(a.value);
  Debugger debugger(session);
  StopReport stop = debugger.start(function, args, true, found);
  if (stop.kind != StopKind::Entry || !debugger.machine()) return;

  std::mt19937_64 rng(seed);
  std::map<std::pair<std::uint64_t, std::int64_t>, std::string> states;
  std::uint64_t last_time = 0;
  std::string path = "start";
  for (int i = 0; i < verbs; ++i) {
    std::string said;
    stop = random_verb(debugger, rng, last_time, said);
    path += " " + said;
    if (stop.kind == StopKind::None || !debugger.machine()) {
      debugger.go_to(0);
      continue;
    }
    last_time = std::max(last_time, stop.time);
    if (!debugger.machine()->running() || debugger.machine()->fault()) continue;
    const auto inside = debugger.kernel_position();
    if (stop.in_kernel != inside.has_value()) FAIL_CHECK("in a kernel or not, at " << path);
    // A moment is a time, and inside a kernel the number of steps done.
    const std::pair<std::uint64_t, std::int64_t> moment(stop.time, inside ? std::int64_t(inside->steps) : -1);
    const std::string state = inside ? state_of(*inside) : state_of(*debugger.machine());
    const auto [known, is_new] = states.emplace(moment, state);
    if (is_new || known->second == state) continue;
    FAIL_CHECK(fmt::format("{} on {}: at time {} by way of: {}\nbefore:\n{}now:\n{}", file.filename().string(),
                           session::to_string(engine), stop.time, path, known->second, state));
    return;
  }
}

std::vector<fs::path> modules(const fs::path& folder) {
  std::vector<fs::path> out;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.path().extension() == ".py") out.push_back(entry.path());
  std::sort(out.begin(), out.end());
  return out;
}

// Checkpoints share memory of any size with the run, for as long as this lives.
struct EverythingShared {
  EverythingShared() { runtime::set_shared_from(1); }
  ~EverythingShared() { runtime::set_shared_from(64 * 1024); }
};

}  // namespace

TEST_CASE("random walks come to equal states at equal times where all memory is shared until it is written") {
  const EverythingShared shared;
  const auto examples = modules(fs::path(RLDB_SOURCE_DIR) / "docs/examples");
  for (const fs::path& file : examples)
    for (const Engine engine : {Engine::Jit, Engine::Vm}) walk(file, engine, 2, 100);
  const auto files = modules(fs::path(RLDB_SOURCE_DIR) / "tests/conformance/corpus");
  for (std::size_t i = 1; i < files.size(); i += 5) walk(files[i], i % 2 ? Engine::Jit : Engine::Vm, i, 60);
}

TEST_CASE("random walks over the examples come to equal states at equal times") {
  const auto files = modules(fs::path(RLDB_SOURCE_DIR) / "docs/examples");
  REQUIRE(files.size() >= 5);
  for (const fs::path& file : files)
    for (const Engine engine : {Engine::Jit, Engine::Vm}) walk(file, engine, 1, 150);
}

TEST_CASE("random walks over modules with every construct come to equal states at equal times") {
  const auto files = modules(fs::path(RLDB_SOURCE_DIR) / "tests/conformance/corpus");
  REQUIRE(files.size() >= 50);
  for (std::size_t i = 0; i < files.size(); i += 3) walk(files[i], i % 2 ? Engine::Jit : Engine::Vm, i, 60);
}

TEST_CASE("random walks over random kernels come to equal states at equal times") {
  const fs::path file = fs::temp_directory_path() / fmt::format("rldb_walk_{}.py", ::getpid());
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    std::ofstream(file) << testing::RandomKernels(seed).program();
    walk(file, seed % 2 ? Engine::Jit : Engine::Vm, seed, 80);
  }
  fs::remove(file);
}

}  // namespace rldb::debug
