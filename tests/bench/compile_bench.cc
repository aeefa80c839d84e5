// How fast texts are parsed, checked, edited and printed, how passes scale, and the cost of starting.
//
// The text is a dataflow block of N bindings `lvI: R.Tensor((n, 64), dtype="float32") = R.add(lvJ, lvJ)`, about 77
// bytes each. `bindings/s` and `bytes/s` are the figures to compare; time per binding should not grow with N.
// `tree_sitter` is the generated parser alone, on the whole text; `syntax` is our tree, which reads statements of one
// shape once (this text is the best case, `syntax_mixed` has a hundred shapes in turn); whatever `check` takes beyond
// that is reading.
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <tree_sitter/api.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>

#include "rldb/frontend/document.h"
#include "rldb/ir/printer.h"
#include "rldb/ir/verifier.h"
#include "rldb/ops/op_info.h"
#include "rldb/passes/pass.h"
#include "rldb/session/session.h"

extern "C" const TSLanguage* tree_sitter_tvmscript(void);

using namespace rldb;

namespace {

std::string chain(std::int64_t n) {
  std::string text =
      "@I.ir_module\nclass Module:\n    @R.function\n"
      "    def main(lv0: R.Tensor((\"n\", 64), dtype=\"float32\")) -> R.Tensor((\"n\", 64), dtype=\"float32\"):\n"
      "        n = T.int64()\n        with R.dataflow():\n";
  for (std::int64_t i = 1; i <= n; ++i)
    text +=
        fmt::format("            lv{}: R.Tensor((n, 64), dtype=\"float32\") = R.add(lv{}, lv{})\n", i, i - 1, i - 1);
  return text + fmt::format(
                    "            gv: R.Tensor((n, 64), dtype=\"float32\") = lv{}\n            R.output(gv)\n        "
                    "return gv\n",
                    n);
}

struct Program {
  ir::Context ctx;
  source::SourceManager sources;
  source::Diagnostics diagnostics;
  const ir::Module* module = nullptr;
  explicit Program(const std::string& text) {
    ops::install(ctx);
    const source::FileId file = sources.add("bench", text);
    module = frontend::parse(ctx, sources, file, diagnostics).module;
  }
};

void count(benchmark::State& state, const std::string& text) {
  state.counters["bindings/s"] =
      benchmark::Counter(double(state.range(0)) * double(state.iterations()), benchmark::Counter::kIsRate);
  state.SetBytesProcessed(std::int64_t(text.size()) * state.iterations());
}

// Statements of about a hundred shapes in turn.
std::string mixed(std::int64_t n) {
  std::string text = "@R.function\ndef main(lv0: R.Tensor((4, 64), dtype=\"float32\")):\n";
  for (std::int64_t i = 1; i <= n; ++i) {
    std::string dims;
    for (std::int64_t d = 0; d < i % 300; d += 7) dims += i % 3 == 0 ? " + 1" : " - a.b";
    text += fmt::format("    lv{}: R.Tensor((n{}, 64), dtype=\"float32\") = R.add(lv{}, lv{}{})\n", i, dims, i - 1,
                        i - 1, i % 2 == 0 ? ", k=1" : "");
  }
  return text + "    return lv0\n";
}

void parse_whole(benchmark::State& state, const std::string& text) {
  const std::unique_ptr<TSParser, decltype(&ts_parser_delete)> parser(ts_parser_new(), ts_parser_delete);
  ts_parser_set_language(parser.get(), tree_sitter_tvmscript());
  for (auto _ : state) {
    TSTree* tree = ts_parser_parse_string(parser.get(), nullptr, text.data(), static_cast<std::uint32_t>(text.size()));
    if (ts_node_has_error(ts_tree_root_node(tree))) state.SkipWithError("does not parse");
    ts_tree_delete(tree);
  }
  count(state, text);
}
void tree_sitter(benchmark::State& state) { parse_whole(state, chain(state.range(0))); }
BENCHMARK(tree_sitter)->Arg(1'000)->Arg(10'000)->Arg(100'000)->Unit(benchmark::kMillisecond);
void tree_sitter_mixed(benchmark::State& state) { parse_whole(state, mixed(state.range(0))); }
BENCHMARK(tree_sitter_mixed)->Arg(10'000)->Unit(benchmark::kMillisecond);

void syntax_mixed(benchmark::State& state) {
  const std::string text = mixed(state.range(0));
  for (auto _ : state)
    if (!frontend::is_syntax(text)) state.SkipWithError("does not parse");
  count(state, text);
}
BENCHMARK(syntax_mixed)->Arg(10'000)->Unit(benchmark::kMillisecond);

void syntax(benchmark::State& state) {
  const std::string text = chain(state.range(0));
  for (auto _ : state)
    if (!frontend::is_syntax(text)) state.SkipWithError("does not parse");
  count(state, text);
}
BENCHMARK(syntax)->Arg(1'000)->Arg(10'000)->Arg(100'000)->Unit(benchmark::kMillisecond);

void parse(benchmark::State& state) {
  const std::string text = chain(state.range(0));
  for (auto _ : state) {
    Program p(text);
    if (!p.module || p.diagnostics.has_errors()) state.SkipWithError("does not parse");
  }
  count(state, text);
}
BENCHMARK(parse)->Arg(1'000)->Arg(10'000)->Arg(100'000)->Unit(benchmark::kMillisecond);

void check(benchmark::State& state) {
  const std::string text = chain(state.range(0));
  for (auto _ : state) {
    Program p(text);
    if (!p.module || !ir::verify(p.ctx, p.module, p.diagnostics)) state.SkipWithError("does not check");
  }
  count(state, text);
}
BENCHMARK(check)->Arg(1'000)->Arg(10'000)->Arg(20'000)->Arg(40'000)->Arg(100'000)->Unit(benchmark::kMillisecond);

// Replaces one operator by another in a line in the middle, up to fresh diagnostics.
void edit(benchmark::State& state) {
  source::SourceManager sources;
  frontend::Document document(sources, "bench", chain(state.range(0)));
  const std::string line = fmt::format("            lv{}: ", state.range(0) / 2);
  std::size_t whole = 0;
  bool add = true;
  for (auto _ : state) {
    state.PauseTiming();
    const std::string_view from = add ? "R.add" : "R.subtract", to = add ? "R.subtract" : "R.add";
    const auto at = static_cast<std::uint32_t>(document.text().find(from, document.text().find(line)));
    add = !add;
    state.ResumeTiming();
    document.edit(at, static_cast<std::uint32_t>(at + from.size()), to);
    if (document.diagnostics().has_errors()) state.SkipWithError("the edit makes errors");
    whole += document.last_read().whole ? 1 : 0;
  }
  // Now and then everything is read again, to release memory.
  state.counters["read as a whole"] = double(whole);
}
BENCHMARK(edit)->Arg(1'000)->Arg(10'000)->Arg(100'000)->Unit(benchmark::kMillisecond);

// A line that is typed in the middle and makes errors, and is taken back.
void damage(benchmark::State& state, const std::string& typed) {
  source::SourceManager sources;
  frontend::Document document(sources, "bench", chain(state.range(0)));
  const std::string line = fmt::format("            lv{}: ", state.range(0) / 2);
  const auto at = static_cast<std::uint32_t>(document.text().find(line));
  std::size_t whole = 0;
  bool type = true;
  for (auto _ : state) {
    document.edit(at, static_cast<std::uint32_t>(at + (type ? 0 : typed.size())), type ? typed : "");
    if (document.diagnostics().has_errors() != type) state.SkipWithError("the errors are not those of the line");
    whole += document.last_read().whole ? 1 : 0;
    type = !type;
  }
  state.counters["read as a whole"] = double(whole);
}
void edit_damage(benchmark::State& state) { damage(state, "            y =\n"); }
void edit_header(benchmark::State& state) { damage(state, "    class A:\n"); }
BENCHMARK(edit_damage)->Arg(10'000)->Unit(benchmark::kMillisecond);
BENCHMARK(edit_header)->Arg(10'000)->Unit(benchmark::kMillisecond);

// VmHWM of a running process, in bytes; 0 if it has ended. (Its ru_maxrss would include what this process had when it
// forked.)
double peak_bytes(pid_t pid) {
  std::ifstream status(fmt::format("/proc/{}/status", pid));
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:")) return std::strtod(line.c_str() + 6, nullptr) * 1024;
  return 0;
}

// Peak memory of a process that checks the text, minus that of one that checks a short one.
void peak_memory(benchmark::State& state) {
  const auto peak = [](std::int64_t bindings) -> double {
    const std::string path = std::filesystem::temp_directory_path() / fmt::format("rldb_bench_{}.py", ::getpid());
    std::ofstream(path) << chain(bindings);
    const pid_t pid = ::fork();
    if (pid == 0) {
      if (!std::freopen("/dev/null", "w", stdout)) ::_exit(126);
      ::execl(RLDB_PROGRAM, "rldb", "check", path.c_str(), static_cast<char*>(nullptr));
      ::_exit(127);
    }
    int status = 0;
    double bytes = 0;
    bool loaded = false;  // before that the process is a copy of this one
    while (::waitpid(pid, &status, WNOHANG) == 0) {
      loaded = loaded || std::filesystem::read_symlink(fmt::format("/proc/{}/exe", pid)).filename() == "rldb";
      if (loaded) bytes = std::max(bytes, peak_bytes(pid));
      ::usleep(200);
    }
    std::filesystem::remove(path);
    return status == 0 ? bytes : -1;
  };
  double large = 0;
  for (auto _ : state) large = peak(state.range(0));
  const double small = peak(100);
  if (large < 0 || small < 0) return state.SkipWithError("rldb does not check the text");
  state.counters["bytes/binding"] = (large - small) / double(state.range(0));
}
BENCHMARK(peak_memory)->Arg(10'000)->Arg(100'000)->Iterations(1)->Unit(benchmark::kMillisecond)->UseRealTime();

void print(benchmark::State& state) {
  const std::string text = chain(state.range(0));
  Program p(text);
  for (auto _ : state) benchmark::DoNotOptimize(ir::print(p.module));
  count(state, text);
}
BENCHMARK(print)->Arg(1'000)->Arg(10'000)->Arg(20'000)->Arg(40'000)->Unit(benchmark::kMillisecond);

void run_pass(benchmark::State& state, const char* pass, const char* before) {
  Program p(chain(state.range(0)));
  passes::PassEnv env{p.ctx, p.diagnostics};
  const ir::Module* module = p.module;
  if (*before) {
    auto prepared = passes::run_pipeline(env, module, *passes::parse_pipeline(before));
    if (!prepared.ok()) return state.SkipWithError("cannot prepare");
    module = prepared.value();
  }
  const auto pipeline = *passes::parse_pipeline(pass);
  for (auto _ : state) {
    auto done = passes::run_pipeline(env, module, pipeline);
    if (!done.ok()) return state.SkipWithError("the pass fails");
    benchmark::DoNotOptimize(done);
  }
  state.counters["bindings/s"] =
      benchmark::Counter(double(state.range(0)) * double(state.iterations()), benchmark::Counter::kIsRate);
}
#define RLDB_PASS_BENCH(Pass, before)              \
  BENCHMARK_CAPTURE(run_pass, Pass, #Pass, before) \
      ->Arg(1'000)                                 \
      ->Arg(10'000)                                \
      ->Arg(20'000)                                \
      ->Arg(40'000)                                \
      ->Unit(benchmark::kMillisecond)
RLDB_PASS_BENCH(LegalizeOps, "");
RLDB_PASS_BENCH(DeadCodeElimination, "");
RLDB_PASS_BENCH(EliminateCommonSubexpr, "");
RLDB_PASS_BENCH(CanonicalizeBindings, "");
RLDB_PASS_BENCH(FuseOps, "LegalizeOps,AnnotateTIROpPattern");
RLDB_PASS_BENCH(FuseTIR, "LegalizeOps,AnnotateTIROpPattern,FuseOps");
RLDB_PASS_BENCH(ToNonDataflow, "LegalizeOps");
RLDB_PASS_BENCH(CallTIRRewrite, "LegalizeOps,ToNonDataflow,RemovePurityChecking");
RLDB_PASS_BENCH(StaticPlanBlockMemory, "LegalizeOps,ToNonDataflow,RemovePurityChecking,CallTIRRewrite");
RLDB_PASS_BENCH(VMShapeLower,
                "LegalizeOps,ToNonDataflow,RemovePurityChecking,CallTIRRewrite,StaticPlanBlockMemory,LowerAllocTensor,"
                "KillAfterLastUse,LowerRuntimeBuiltin,ComputePrimValue");

// The status of a process that has ended. Not by fork, which copies the tables of all pages of this process: with the
// peers' libraries in it that takes longer than what is measured.
int run_process(std::initializer_list<const char*> arguments) {
  std::vector<char*> argv;
  for (const char* a : arguments) argv.push_back(const_cast<char*>(a));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  for (const int fd : {STDOUT_FILENO, STDERR_FILENO})
    ::posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_WRONLY, 0);
  pid_t pid = 0;
  int status = ::posix_spawn(&pid, RLDB_PROGRAM, &actions, nullptr, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (status == 0) ::waitpid(pid, &status, 0);
  return status;
}

// A whole process: starts without a file, and quits.
void start_up(benchmark::State& state) {
  for (auto _ : state)
    if (run_process({"rldb", "-q", "-nx", "--batch", "-ex", ":quit"}) != 0)
      return state.SkipWithError("rldb does not start");
}
BENCHMARK(start_up)->Unit(benchmark::kMillisecond)->UseRealTime();

// A whole process: from its start to the first result of the MLP, with an empty cache or with that of the run before.
void first_result(benchmark::State& state, const char* cache) {
  constexpr const char* kModule = RLDB_SOURCE_DIR "/docs/examples/mlp.py";
  for (auto _ : state)
    if ((cache ? run_process({"rldb", "run", kModule, cache}) : run_process({"rldb", "run", kModule})) != 0)
      return state.SkipWithError("rldb does not run the example");
}
BENCHMARK_CAPTURE(first_result, cold, "--cache=off")->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK_CAPTURE(first_result, warm, nullptr)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
