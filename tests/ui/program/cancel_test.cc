// ^C in every phase: a timer requests cancellation at a random moment, and the phase ends soon, or has finished. The
// context and the session can be used as if nothing had happened: the same phase, run again, gives the same result as
// in a fresh one.
#include <doctest/doctest.h>
#include <pthread.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <random>
#include <thread>

#include "rldb/bytecode/serialise.h"
#include "rldb/frontend/document.h"
#include "rldb/ir/arith.h"
#include "rldb/ir/equal.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/verifier.h"
#include "rldb/repro/roundtrip.h"
#include "rldb/repro/validate.h"
#include "rldb/runtime/tensor_file.h"
#include "rldb/session/session.h"
#include "rldb/support/file.h"
#include "rldb/support/memory.h"
#include "rldb/ui/render/text_diff.h"

using namespace rldb;
using session::Session;

namespace {

struct Quiet : runtime::Output {
  void write(std::string_view) override {}
};

constexpr int kBindings = 20'000;
constexpr int kStores = 2'000;

// Many bindings, some with symbolic shapes, tuples and branches, and a kernel of many statements.
std::string large_module(int bindings = kBindings, int stores = kStores) {
  std::string text =
      "@I.ir_module\nclass Module:\n    @T.prim_func\n"
      "    def kernel(A: T.Buffer((64,), \"float32\"), B: T.Buffer((64,), \"float32\")):\n";
  for (int i = 0; i < stores; ++i)
    text += "        B[" + std::to_string(i % 64) + "] = A[" + std::to_string(i * 7 % 64) + "] + T.float32(" +
            std::to_string(i) + ")\n";
  text +=
      "\n    @R.function\n"
      "    def main(x: R.Tensor((\"n\", 4), \"float32\"), k: R.Tensor((64,), \"float32\"), c: R.Tensor((), "
      "\"bool\")):\n"
      "        cls = Module\n        y = R.call_tir(cls.kernel, (k,), out_ty=R.Tensor((64,), \"float32\"))\n";
  for (int i = 0; i < bindings; ++i) {
    if (i % 1000 == 999) {
      text += "        if c:\n            x = R.add(x, x)\n        else:\n            x = R.multiply(x, x)\n";
    } else if (i % 100 == 99) {
      text += "        t = (x, y)\n        x = t[0]\n";
    } else {
      text += i % 3 == 0 ? "        x = R.add(x, x)\n" : "        x = R.nn.relu(x)\n";
    }
  }
  return text + "        return (x, y)\n";
}

// Processor time of a thread: other load on the machine does not count.
double cpu_seconds(pthread_t thread) {
  clockid_t clock;
  timespec t{};
  if (pthread_getcpuclockid(thread, &clock) != 0 || clock_gettime(clock, &t) != 0) return 0;
  return double(t.tv_sec) + double(t.tv_nsec) * 1e-9;
}

// Requests cancellation when the thread that made it has worked for that long, unless it is destroyed before.
class Timer {
 public:
  explicit Timer(double cpu)
      : thread_([this, cpu, worker = pthread_self(), begin = cpu_seconds(pthread_self())] {
          std::unique_lock lock(mutex_);
          while (!done_ && cpu_seconds(worker) - begin < cpu) wake_.wait_for(lock, std::chrono::microseconds(200));
          if (done_) return;
          asked_at_ = cpu_seconds(worker);
          asked_ = true;
          support::request_cancel(support::CancelCause::Interrupt);
        }) {}
  ~Timer() {
    {
      std::lock_guard lock(mutex_);
      done_ = true;
    }
    wake_.notify_all();
    thread_.join();
    support::clear_cancel();
  }
  // Processor time of this thread since the cancellation; 0 if there was none.
  double since() {
    std::lock_guard lock(mutex_);
    return asked_ ? cpu_seconds(pthread_self()) - asked_at_ : 0;
  }

 private:
  std::mutex mutex_;
  std::condition_variable wake_;
  bool done_ = false;
  bool asked_ = false;
  double asked_at_ = 0;
  std::thread thread_;
};

// The result of a phase, as a number; equal for equal results.
using Phase = std::function<std::uint64_t()>;

std::uint64_t hash_of(const std::string& text) { return std::hash<std::string>()(text); }

// Runs the phase to its end, cancels it a few times, and runs it to its end again.
void check_phase(const char* name, const Phase& phase, int rounds = 3) {
  CAPTURE(name);
  const double begin = cpu_seconds(pthread_self());
  const std::uint64_t expected = phase();
  const double whole = cpu_seconds(pthread_self()) - begin;
  std::minstd_rand random(unsigned(hash_of(name)));
  for (int i = 0; i < rounds; ++i) {
    double late = 0;
    {
      Timer timer(whole * double(random() % 1000) / 1000.0);
      try {
        phase();
      } catch (const support::Cancelled& cancelled) {
        CHECK(cancelled.cause() == support::CancelCause::Interrupt);
      }
      late = timer.since();
    }
    CHECK(late < 2.0);
    CHECK(phase() == expected);
  }
}

const std::string& text() {
  static const std::string made = large_module();
  return made;
}

struct Loaded {
  Quiet quiet;
  Session s{options(), &quiet};
  source::Diagnostics d;
  explicit Loaded(const std::string& module) { REQUIRE(s.load_text("large.py", module, d)); }
  static session::Options options() {
    session::Options o;
    o.engine = session::Engine::Vm;  // compiling kernels is a phase of its own
    return o;
  }
};

}  // namespace

TEST_CASE("cancelling a load leaves the program that was there") {
  Loaded l(text());
  check_phase("load", [&] {
    REQUIRE(l.s.module() != nullptr);
    source::Diagnostics d;
    const bool loaded = l.s.load_text("large.py", text(), d);  // (a doctest macro would catch the exception it throws)
    REQUIRE(loaded);
    return ir::structural_hash(l.s.module());
  });
}

TEST_CASE("cancelling what only looks at a module") {
  Loaded l(text());
  const ir::Module* m = l.s.module();
  check_phase("verify", [&] {
    source::Diagnostics d;
    return std::uint64_t(ir::verify(l.s.context(), m, d));
  });
  check_phase("print", [&] { return hash_of(ir::print(m)); });
  check_phase("hash", [&] { return ir::structural_hash(m); });
  source::Diagnostics d;
  Loaded other(text());
  check_phase("equal", [&] { return std::uint64_t(ir::structural_equal(m, other.s.module())); });
  check_phase("round trip", [&] {
    source::Diagnostics found;
    return hash_of(repro::roundtrip(l.s, {}, found));
  });
  const std::string printed = ir::print(m);
  check_phase("diff", [&] { return hash_of(ui::text_diff(text(), printed, "a", "b")); });
  check_phase("highlight", [&] { return std::uint64_t(frontend::highlight(text()).size()); });
  check_phase("completeness", [&] { return std::uint64_t(frontend::completeness(text())); });
}

TEST_CASE("cancelling each pass leaves the versions that were there") {
  Loaded l(text());
  auto pipeline = passes::parse_pipeline("minimum");
  REQUIRE(pipeline.ok());
  for (const passes::PassInvocation& pass : *pipeline) {
    const std::string name = passes::to_string(pass);
    const std::size_t version = l.s.history().position();
    check_phase(
        name.c_str(),
        [&] {
          REQUIRE(l.s.program()->go_to(version));
          source::Diagnostics d;
          const bool ran = l.s.run_passes(name, d);
          REQUIRE(ran);
          return ir::structural_hash(l.s.module());
        },
        2);
  }
}

TEST_CASE("cancelling the passes that the minimum build has not") {
  Loaded l(text());
  for (const char* name : {"EliminateCommonSubexpr", "CanonicalizeBindings", "DeadCodeElimination", "ConvertToDataflow",
                           "AnnotateTIROpPattern", "Normalize", "LambdaLift"}) {
    const std::size_t version = l.s.history().position();
    check_phase(
        name,
        [&] {
          REQUIRE(l.s.program()->go_to(version));
          source::Diagnostics d;
          const bool ran = l.s.run_passes(name, d);
          REQUIRE(ran);
          return ir::structural_hash(l.s.module());
        },
        2);
    REQUIRE(l.s.program()->go_to(version));
  }
}

TEST_CASE("cancelling a validation leaves versions and options as they were") {
  Loaded l(large_module(300, 20));
  source::Diagnostics d;
  REQUIRE(l.s.run_passes("LegalizeOps", d));
  const ir::Module* current = l.s.module();
  check_phase("validate", [&] {
    REQUIRE(l.s.module() == current);
    REQUIRE(l.s.options().default_dim == session::Options().default_dim);
    const repro::Validation v = repro::validate_versions(l.s, l.s.history().module_at(0).as<ir::Module>(), current);
    return hash_of(repro::to_string(v));
  });
}

TEST_CASE("cancelling a build, its file and its reading") {
  Loaded l(text());
  check_phase(
      "build",
      [&] {
        // Another engine each time: a build for one is not used for the other.
        const bool eval = l.s.options().engine == session::Engine::Eval;
        l.s.options().engine = eval ? session::Engine::Vm : session::Engine::Eval;
        source::Diagnostics d;
        auto build = l.s.build(d);
        REQUIRE(build != nullptr);
        return std::uint64_t(build->executable->instr_offset.size());
      },
      2);
  source::Diagnostics d;
  auto build = l.s.build(d);
  REQUIRE(build != nullptr);
  std::string bytes;
  check_phase("serialise", [&] {
    auto made = bytecode::serialise(*build->executable);
    REQUIRE(made.ok());
    bytes = std::move(made).value();
    return hash_of(bytes);
  });
  check_phase("load executable", [&] {
    auto made = bytecode::load(bytes);
    REQUIRE(made.ok());
    return std::uint64_t(made->instr_offset.size());
  });
}

TEST_CASE("cancelling an entry leaves values and module as they were") {
  Loaded l(large_module(3'000, 300));
  const ir::Module* module = l.s.module();
  source::Diagnostics d;
  REQUIRE(l.s.enter("keep = R.const(42)", d).ok);
  std::string entry = "v = (keep";
  for (int i = 0; i < 300; ++i) entry += ", R.add(keep, keep)";
  entry += ")";
  check_phase(
      "entry",
      [&] {
        REQUIRE(l.s.module() == module);
        REQUIRE(l.s.find_value("keep") != nullptr);
        source::Diagnostics found;
        const bool ok = l.s.enter(entry, found).ok;
        // For a run, being cancelled is a stop.
        if (!ok && support::cancel_cause() != support::CancelCause::None)
          throw support::Cancelled(support::cancel_cause());
        REQUIRE(ok);
        return hash_of(runtime::format_value(*l.s.find_value("v")));
      },
      4);
}

TEST_CASE("cancelling an edit: the next one reads the whole text") {
  source::SourceManager sources;
  const std::string module = large_module(5'000, 200);
  frontend::Document doc(sources, "doc.py", module);
  REQUIRE(doc.result().ok);
  check_phase("edit", [&] {
    // Twice, so that the text is restored.
    const auto at = std::uint32_t(doc.text().find("R.nn.relu(x)"));
    const auto end = std::uint32_t(doc.text().size());
    if (doc.text() != module) {
      doc.edit(0, end, module);
    } else {
      doc.edit(at, at + 9, "R.sqrt");
      doc.edit(at, at + 6, "R.nn.relu");
    }
    REQUIRE(doc.text() == module);
    REQUIRE(doc.result().ok);
    return ir::structural_hash(doc.result().module);
  });
}

TEST_CASE("cancelling one long inference") {
  ir::Context ctx;
  std::vector<const ir::Var*> vars;
  const ir::Expr* e = ctx.i64(1);
  for (int i = 0; i < 400; ++i) {
    const ir::Var* v = ctx.var("n" + std::to_string(i), ctx.int64());
    vars.push_back(v);
    e = i % 2 == 0 ? ir::add(ctx, ir::floor_div(ctx, ir::mul(ctx, e, v), ctx.i64(3 + i)), v)
                   : ir::max(ctx, ir::floor_mod(ctx, e, ctx.i64(100 + i)), ir::sub(ctx, v, e));
    if (i > 60) e = ir::add(ctx, v, ctx.i64(i));
  }
  check_phase("simplify", [&] {
    ir::Analyzer analyzer(ctx);
    for (const ir::Var* v : vars) analyzer.mark_non_negative(v);
    return hash_of(ir::print_expr(analyzer.simplify(e)));
  });
}

TEST_CASE("cancelling values: made up, read, copied, compared, shown") {
  check_phase("random tensor", [&] {
    auto made = runtime::random_tensor({1000, 1000}, runtime::DType::Float(32), 7);
    REQUIRE(made.ok());
    return std::uint64_t(made->as_tensor().element_count());
  });
  auto tensor = runtime::random_tensor({1000, 1000}, runtime::DType::Float(32), 7);
  REQUIRE(tensor.ok());
  std::string npy = runtime::write_npy(tensor->as_tensor());
  const std::size_t order = npy.find("False");
  REQUIRE(order != std::string::npos);
  npy.replace(order, 5, "True ");
  check_phase("read npy", [&] {
    auto made = runtime::read_npy(npy, "a.npy");
    REQUIRE(made.ok());
    return std::uint64_t(made->as_tensor().element_count());
  });
  std::string header = "{\"__metadata__\":{}";
  for (int i = 0; i < 20'000; ++i)
    header += ",\"w" + std::to_string(i) + "\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}";
  header += "}";
  std::string safetensors(8, '\0');
  for (int i = 0; i < 8; ++i) safetensors[std::size_t(i)] = char(header.size() >> (8 * i));
  safetensors += header;
  check_phase("read safetensors", [&] {
    auto made = runtime::read_safetensors(safetensors, "a.safetensors");
    REQUIRE(made.ok());
    return std::uint64_t(made->size());
  });
  runtime::Value shared = runtime::Value::of_tuple({*tensor, *tensor});
  for (int i = 0; i < 40; ++i) shared = runtime::Value::of_tuple({shared, shared});
  check_phase("copy", [&] { return std::uint64_t(runtime::deep_copy(shared).ok()); });
  check_phase("compare", [&] { return hash_of(runtime::compare(shared, shared)); });
  check_phase("show", [&] { return hash_of(runtime::format_value(shared)); });
}

TEST_CASE("memory that runs out anywhere leaves the session usable") {
  Loaded l(large_module(50, 10));
  const ir::Module* module = l.s.module();
  source::Diagnostics d;
  REQUIRE(l.s.enter("keep = R.const(42)", d).ok);
  const std::string entry = "w = R.add(keep, R.multiply(keep, keep))";
  const auto shown = [&] {
    source::Diagnostics found;
    REQUIRE(l.s.enter(entry, found).ok);
    return runtime::format_value(*l.s.find_value("w"));
  };
  const std::string expected = shown();
  int failures = 0;
  for (std::uint64_t n = 1; n < 4000; n += n < 200 ? 7 : 97) {
    CAPTURE(n);
    source::Diagnostics found;
    support::fail_allocation(n);
    try {
      l.s.enter(entry, found);
    } catch (const std::bad_alloc&) {
      ++failures;
    }
    support::fail_allocation(0);
    REQUIRE(l.s.module() == module);
    REQUIRE(l.s.find_value("keep") != nullptr);
    REQUIRE(shown() == expected);
  }
  CHECK(failures > 10);
}
