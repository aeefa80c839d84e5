// Inside kernels: machine code that stops itself reaches the same places with the same memory as the evaluator.
#include <algorithm>
#include <filesystem>
#include <limits>
#include <random>

#include "debug/helpers.h"
#include "debug/impl.h"
#include "debug/kernel/condition.h"
#include "debug/kernel/stepper.h"
#include "debug/kernel/text.h"
#include "rldb/ir/walk.h"

namespace rldb::debug {

namespace {

namespace fs = std::filesystem;
using runtime::Value;
using runtime::ValueKind;

constexpr std::uint64_t kWalkAll = std::numeric_limits<std::uint64_t>::max();

std::string bytes_of(const Value& v) {
  if (!v.is(ValueKind::Tensor)) return runtime::format_value(v);
  const runtime::Tensor& t = v.as_tensor();
  return fmt::format("{} {}", runtime::describe(v),
                     std::hash<std::string_view>()({reinterpret_cast<const char*>(t.data()), t.byte_size()}));
}

// Everything that can be seen of a machine.
std::string state_of(const eval::TirMachine& m) {
  std::string text = fmt::format("steps {} statement {}\n", m.steps(), m.current() ? m.current()->id : 0);
  for (const auto& [var, value] : m.variables())
    text += fmt::format("  {} = {}\n", var->name, runtime::format_value(value));
  for (const auto& [buffer, value] : m.buffers()) text += fmt::format("  {} {}\n", buffer->name, bytes_of(value));
  for (const ir::Stmt* s : m.enclosing()) text += fmt::format("  in {}\n", s->id);
  return text;
}

std::vector<Value> copies(const std::vector<Value>& args) {
  std::vector<Value> out;
  for (const Value& v : args) {
    if (!v.is(ValueKind::Tensor)) {
      out.push_back(v);
      continue;
    }
    auto t = runtime::Tensor::empty(v.as_tensor().shape(), v.as_tensor().dtype()).value();
    std::memcpy(t->data(), v.as_tensor().data(), t->byte_size());
    out.emplace_back(t);
  }
  return out;
}

// A session on the JIT, its kernels, and arguments for each.
struct Kernels {
  explicit Kernels(const fs::path& file) : session(options(), &output) {
    source::Diagnostics found;
    if (!session.load_file(file, found)) return;
    built = session.build(found);
    if (!built || !built->lowered) return;
    for (const ir::ModuleEntry& e : built->lowered->entries) {
      const auto* f = ir::as<ir::PrimFunc>(e.function);
      if (!f || !session.module()->find(e.name)) continue;  // arguments are made for kernels of the module
      auto arguments = session.arguments(e.name, {}, found);
      if (!arguments) continue;
      std::vector<Value> args;
      for (const session::Argument& a : *arguments) args.push_back(a.value);
      kernels.push_back({std::string(e.name), f, std::move(args)});
    }
  }
  static session::Options options() {
    session::Options o;
    o.engine = session::Engine::Jit;
    o.default_dim = 3;
    return o;
  }
  struct One {
    std::string name;
    const ir::PrimFunc* f;
    std::vector<Value> args;
  };
  testing::Capture output;
  session::Session session;
  std::shared_ptr<const session::Build> built;
  std::vector<One> kernels;
};

KernelSearch search_for(const Probe& p) {
  KernelSearch s;
  s.probes = {p};
  s.pass = {0};
  return s;
}

std::vector<Probe> probes_of(const ir::Stmt* s) {
  std::vector<Probe> out;
  const auto add = [&](Probe::Arrival arrival, const ir::Var* axis = nullptr) {
    Probe p;
    p.at = s;
    p.arrival = arrival;
    p.axis = axis;
    out.push_back(p);
  };
  if (ir::isa<ir::SeqStmt>(s)) return out;
  add(Probe::Arrival::Statement);
  if (ir::isa<ir::ForStmt>(s)) add(Probe::Arrival::Iteration);
  if (const auto* r = ir::as<ir::SBlockRealize>(s)) {
    add(Probe::Arrival::Block);
    for (const ir::IterVar& v : r->block->iter_vars) add(Probe::Arrival::NewValue, v.var);
  }
  return out;
}

struct Counts {
  int kernels = 0, refused = 0, compiled = 0, places = 0, probes = 0;
};

void check_places(Kernels& k, const Kernels::One& one, Counts& counts) {
  // `T.Let` may bind a name again; which of the two a later use refers to is not settled.
  bool has_let = false;
  ir::walk(one.f, [&](const ir::Node* n) { return !(has_let = has_let || ir::isa<ir::LetExpr>(n)); });
  if (has_let) return;
  KernelCode code(k.session);
  code.near = 0;
  ++counts.kernels;
  if (!code.find(one.f, one.name, {})) {
    // Kernels that the JIT refuses are stepped by the evaluator anyway.
    source::Diagnostics found;
    session::AsideCompiler compiler(k.session);
    auto whole = compiler.compile(one.f, one.name, found);
    counts.refused += !whole;
    if (whole)
      MESSAGE(one.name << ": " << SelfStopping::make(k.session.context(), compiler, one.f, one.name, {}).error());
    return;
  }
  ++counts.compiled;
  auto fast = KernelStepper::enter(code, one.name, one.f, copies(one.args), {});
  eval::TirMachine slow(one.f, &k.session.registry());
  const std::vector<Value> args = copies(one.args);
  const bool begins = slow.start(args).ok();
  REQUIRE(begins == (fast != nullptr));
  if (!begins) return;  // the values do not satisfy what the kernel asks of its strides
  constexpr std::uint64_t kPlaces = 80;
  for (std::uint64_t s = 1; s <= kPlaces; ++s) {
    if (!slow.step().ok() || !slow.running()) return;
    const auto found = fast->go_to(s);
    const std::string want = state_of(slow);
    REQUIRE_MESSAGE(found == KernelStepper::Found::Yes, one.name << " at " << want);
    ++counts.places;
    if (want == state_of(fast->machine())) continue;
    FAIL_CHECK(one.name << "\nevaluator:\n" << want << "machine code:\n" << state_of(fast->machine()));
    return;
  }
}

void check_probes(Kernels& k, const Kernels::One& one, Counts& counts) {
  KernelCode near(k.session), far(k.session);
  near.near = kWalkAll;
  far.near = 0;
  const KernelText text(k.session, one.name, one.f);
  for (const KernelText::Row& row : text.statements())
    for (const Probe& p : probes_of(row.stmt)) {
      if (++counts.probes % 3) continue;  // each costs a compilation
      auto slow = KernelStepper::enter(near, one.name, one.f, copies(one.args), {});
      auto fast = KernelStepper::enter(far, one.name, one.f, copies(one.args), {});
      REQUIRE((slow && fast));
      const KernelSearch search = search_for(p);
      std::vector<Arrivals> a, b;
      bool from_beginning = true;
      for (int i = 0; i < 5; ++i) {
        const auto x = slow->forward(search, from_beginning, {}, a), y = fast->forward(search, from_beginning, {}, b);
        from_beginning = false;
        REQUIRE_MESSAGE(x == y, one.name << " probe " << int(p.arrival));
        if (x != KernelStepper::Found::Yes) break;
        CHECK(state_of(slow->machine()) == state_of(fast->machine()));
      }
      const auto last_a = slow->last_arrival(search, {}, a), last_b = fast->last_arrival(search, {}, b);
      CHECK_MESSAGE(last_a == last_b, one.name << " probe " << int(p.arrival));
      CHECK(a[0].hits == b[0].hits);
    }
}

}  // namespace

TEST_CASE("machine code that stops itself is where the evaluator is") {
  Counts counts;
  for (const char* folder : {"docs/examples", "tests/conformance/corpus"})
    for (const auto& entry : fs::recursive_directory_iterator(fs::path(RLDB_SOURCE_DIR) / folder)) {
      if (entry.path().extension() != ".py") continue;
      Kernels k(entry.path());
      for (const Kernels::One& one : k.kernels) {
        INFO(entry.path().string());
        check_places(k, one, counts);
      }
    }
  MESSAGE(counts.kernels << " kernels, " << counts.compiled << " compiled, " << counts.places << " places");
  CHECK(counts.compiled >= 10);
  CHECK(counts.compiled + counts.refused >= counts.kernels - 8);
  CHECK(counts.places >= 300);
}

TEST_CASE("machine code and the evaluator arrive at probes at the same times") {
  Counts counts;
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(RLDB_SOURCE_DIR) / "docs/examples")) {
    if (entry.path().extension() != ".py") continue;
    Kernels k(entry.path());
    for (const Kernels::One& one : k.kernels) check_probes(k, one, counts);
  }
  CHECK(counts.probes >= 6);
}

namespace {

constexpr const char* kProduct = R"(
@I.ir_module
class Module:
    @T.prim_func
    def product(A: T.Buffer((3, 4), "float32"), B: T.Buffer((4, 2), "int32"), C: T.Buffer((3, 2), "float32")):
        for i, j, k in T.grid(3, 2, 4):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * T.Cast("float32", B[vk, vj])
)";

// Of the caller's, not of the kernel.
const Value& other_tensor() {
  static const Value made = testing::f32({3, 4}, {0.5, -1, 2, 2, 0.25, 0.5, -0.1, 3});
  return made;
}

// Whether the text holds, or has no value.
bool language_holds(const eval::TirMachine& m, std::string_view text) {
  auto value = expression::evaluate_text(text, [&](std::string_view name) -> runtime::Result<Value> {
    Value v;
    if (Debugger::Impl::value_in_kernel(m, name, v)) return v;
    if (name == "limit") return Value::of_int(2);
    if (name == "$other") return other_tensor();
    return runtime::fail(runtime::ErrorKind::UnknownFunction, "no such name");
  });
  auto holds = value.ok() ? expression::truth(*value) : runtime::Result<bool>(true);
  return !holds.ok() || *holds;
}

// The moments of an unconditional search at which it does.
std::vector<std::uint64_t> told_by_the_language(KernelStepper& k, const KernelSearch& search, std::string_view text) {
  std::vector<std::uint64_t> moments;
  std::vector<Arrivals> met;
  for (bool first = true; k.forward(search, first, {}, met) == KernelStepper::Found::Yes; first = false)
    if (language_holds(k.machine(), text)) moments.push_back(k.machine().steps());
  return moments;
}

// Compares a compiled condition with the language; returns how often it holds.
class Conditions {
 public:
  Conditions(std::string_view program, std::string_view kernel, std::vector<Value> args)
      : session_(Kernels::options(), &output_), kernel_(kernel), args_(std::move(args)) {
    source::Diagnostics found;
    REQUIRE(session_.load_text("program.py", std::string(program), found));
    f_ = ir::as<ir::PrimFunc>(session_.module()->find(kernel_));
    REQUIRE(f_);
    text_.emplace(session_, kernel_, f_);
    for (const KernelText::Row& row : text_->statements())
      if (ir::isa<ir::BufferStore>(row.stmt)) probe_.at = row.stmt;  // the last one
    near_.near = kWalkAll;
    far_.near = 0;
  }

  ConditionCode compile(std::string_view said) {
    auto read = expression::parse(said);
    REQUIRE(read.ok());
    ConditionScope scope = scope_of(*text_, probe_);
    scope.number = [](std::string_view name) {
      return name == "limit" ? std::optional(Value::of_int(2)) : std::nullopt;
    };
    scope.tensor = [](std::string_view name) {
      return name == "$other" ? std::optional(other_tensor()) : std::nullopt;
    };
    return compile_condition(session_.context(), *read, scope);
  }

  std::size_t check(std::string_view said) {
    INFO(std::string(said));
    Probe conditional = probe_;
    conditional.condition = compile(said);
    CHECK(conditional.condition);
    return conditional.condition ? compare(said, conditional) : 0;
  }
  // The same for code that asks the language at each arrival.
  std::size_t check_asked(std::string_view said) {
    INFO(std::string(said));
    Probe asking = probe_;
    asking.asks = true;
    const std::size_t found = compare(said, asking);
    CHECK(far_.find(f_, kernel_, search_for(asking).probes));
    return found;
  }
  // Pieces of code that are kept.
  std::size_t code_count() const { return far_.code_count(); }

 private:
  std::size_t compare(std::string_view said, const Probe& conditional) {
    auto slow = KernelStepper::enter(near_, kernel_, f_, copies(args_), {});
    auto fast = KernelStepper::enter(far_, kernel_, f_, copies(args_), {});
    REQUIRE((slow && fast));
    const std::vector<std::uint64_t> want = told_by_the_language(*slow, search_for(probe_), said);
    std::vector<std::uint64_t> have;
    std::vector<Arrivals> met;
    KernelSearch search = search_for(conditional);
    search.condition = [&](std::size_t, const eval::TirMachine& m) { return language_holds(m, said); };
    for (bool first = true; fast->forward(search, first, {}, met) == KernelStepper::Found::Yes; first = false)
      have.push_back(fast->machine().steps());
    CHECK_MESSAGE(have == want, fmt::format("{}: {} vs {}", said, fmt::join(have, " "), fmt::join(want, " ")));
    const auto last = fast->last_arrival(search, {}, met);
    CHECK(last == (want.empty() ? std::nullopt : std::optional(want.back())));
    return want.size();
  }

  testing::Capture output_;
  session::Session session_;
  std::string kernel_;
  std::vector<Value> args_;
  const ir::PrimFunc* f_ = nullptr;
  std::optional<KernelText> text_;
  Probe probe_;
  KernelCode near_{session_}, far_{session_};
};

std::vector<Value> product_args() {
  auto b = runtime::Tensor::empty({4, 2}, runtime::DType::Int(32)).value();
  for (int i = 0; i < 8; ++i) runtime::store_int(b->data() + 4 * i, runtime::DType::Int(32), i - 3);
  return {testing::f32({3, 4}, {0.5, -1, std::numeric_limits<double>::quiet_NaN(), 2, 0.1}), Value(b),
          testing::f32({3, 2}, {9})};
}

}  // namespace

TEST_CASE("conditions as machine code hold where the language says") {
  Conditions conditions(kProduct, "product", product_args());
  std::size_t reached = 0;
  for (const char* said : {"vi == 1 and vk == 1",
                           "C[vi, vj] > 0.4",
                           "C[vi, vj] != C[vi, vj]",
                           "isnan(C[vi, vj])",
                           "not vi < 1 or vk == 0",
                           "A[vi, -1] >= 0.1",
                           "C[vi + 1, vj] > 0",
                           "0 < vi < 2 and vj % 2 == 1",
                           "B[vk, vj] < -1",
                           "B[vk, vj] == vk - 3",
                           "A[vi, vk] == 0.1",
                           "vi == limit",
                           "(vk + 1) // 2 == 1 and A[vi, vk]",
                           "vi == 2 and A[vi + 1, 0] > 0",
                           "-1.5 < A[vi, vk] <= 0.5",
                           "A[vi, vk] + 1 > 1.4",
                           "A[vi, vk] * A[vi, vk] < 0.02",
                           "A[vi, vk] / 3 == C[vi, vj]",
                           "abs(A[vi, vk]) > 0.7",
                           "sqrt(A[vi, vk]) > 0.7",
                           "-A[vi, vk] == 1",
                           "isfinite(C[vi, vj])",
                           "isinf(1 / A[vi, vk])",
                           "B[vk, vj] > 0.5",
                           "B[vk, vj] * 3 + 1 == -8",
                           "B[vk, vj] / 2 == -1.5",
                           "-B[vk, vj] > 2",
                           "abs(B[vk, vj]) == 2",
                           "B[vk, vj] % 2 == 1",
                           "vi / 2 == 0.5",
                           "vi * 0.5 >= 1 and vk == 0",
                           "1 / vi > 0.6 and vk == 1",
                           "maximum(A[vi, vk], C[vi, vj]) > 1",
                           "minimum(vi, vk) == 2",
                           "floor(A[vi, vk]) == -1",
                           "A[vi, vk] - B[vk, vj] > 2",
                           "C[vi, vj] == 1 / 3",
                           "1 / (vi * 0.5) < 0",
                           "vi // vk == 1",
                           "vk % (vi - 1) == 0",
                           "(vi & 1) == 1 and (vk ^ 3) > 1",
                           "~vi == -2",
                           "exp(A[vi, vk]) > 1.5",
                           "log(A[vi, vk]) < 0",
                           "log2(abs(A[vi, vk])) == 1",
                           "log10(A[vi, vk]) <= -1",
                           "sin(A[vi, vk]) + cos(vk) > 0.5",
                           "tanh(B[vk, vj]) < -0.99",
                           "sqrt(vi + 2) == 2",
                           "vi ** 2 == 4",
                           "B[vk, vj] ** 3 == -8",
                           "A[vi, vk] ** 2 < 0.02",
                           "sign(A[vi, vk]) == -1",
                           "round(A[vi, vk]) == 0",
                           "clip(A[vi, vk], 0, 1) == 1",
                           "where(vi > 1, A[vi, vk], C[vi, vj]) > 0.4",
                           "isclose(A[vi, vk], 0.1)"}) {
    reached += conditions.check(said);
  }
  CHECK(reached > 20);
}

TEST_CASE("reductions in conditions hold where the language says") {
  Conditions conditions(kProduct, "product", product_args());
  std::size_t reached = 0;
  for (const char* said : {"C.max() > 0.4",
                           "C[vi, :].max() > 0.4",
                           "max(B[vk]) == 2",
                           "B[:, vj].min() < 0 and vk == 1",
                           "B[::-1, vj].argmax() == 0",
                           "argmin(B[vk:, 1]) == 0",
                           "(C > 0.4).any()",
                           "(B[:vk, vj] > -3).all()",
                           "B[:vk, vj].max() < 1",
                           "isnan(A[vi]).any()",
                           "A[vi].has_nan or C.has_inf",
                           "C[:, vj].sum() > 0.4",
                           "B.sum() == 4 and vk == 0",
                           "B[vk].prod() == 2",
                           "C.mean() < 0.1",
                           "B[:, vj].std() > 2.2",
                           "B[1:3].var() == 1.25",
                           "norm(B[vk]) > 3",
                           "count_nonzero(B[vk, :]) == 1",
                           "abs(B - vi).max() == 5",
                           "(exp(B / 8.0) * B).sum() > 6",
                           "(A[vi, :2] + B[vk, :]).max() > 2.4",
                           "(A[vi, 0] < A[vi]).sum() == 1",
                           "allclose(B[vk], B[vk, 0], 0, 1)",
                           "allclose(A[0, :2], A[1, :2], 0, 0.5)",
                           "vi == 2 and A[vi + 1].max() > 0",
                           "vi == 1 and C[vi, vj:vj].max() > 0",
                           "A[..., 0].sum() > 0.5",
                           "A[-1, 1:].max() == 0 and vi == 0 and vk < 2",
                           "(C[vi] - C[vi].max()).sum() < 0",
                           "A.shape[1] == 4 and vj == A.shape[-1] - 3",
                           "maximum(B[:, 0], B[:, 1]).sum() == 8 and vj == 1",
                           "where(B > 0, B, 0).sum() == 10 and vk == 3",
                           "(B[vk, :] & 1).any()",
                           "B[vk].sum(0) == -1",
                           "abs(A[vi, vk] - $other[vi, vk]) > 0.2",
                           "(A[vi] == $other[vi]).any() and $other[vi + 1, 0] > 0",
                           "abs(A - $other).max() > 1",
                           "isnan($other - A).sum() == 1 and $other[vi].max() == 3"}) {
    reached += conditions.check(said);
  }
  CHECK(reached > 100);
  // Sums of many elements are made in parts.
  const auto many = testing::f32({1, 5000}, {1e8, 1, -1e8});
  for (std::int64_t i = 3; i < 5000; ++i)
    runtime::store_double(many.as_tensor().data() + 4 * i, runtime::DType::Float(32), 1.0 / double(i));
  Conditions sums(R"(
@I.ir_module
class Module:
    @T.prim_func
    def copy(A: T.Buffer((1, 5000), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            B[i] = A[0, i]
)",
                  "copy", {many, testing::f32({4}, {0})});
  std::size_t held = 0;
  for (const char* said : {"A.sum() == 9.6", "A[0, i:i + 1025].sum() > 3", "A[0, 3:].std() < 0.005",
                           "A[0, 3:].mean() < 0.0016", "A[0, i:].sum() < 8"})
    held += sums.check(said);
  CHECK(held > 4);
}

namespace {

// Expressions over the names of `product`.
class RandomConditions {
 public:
  struct Words {
    std::vector<std::string> indices, scalars, arrays, rows;  // rows: of one shape, or of one element
  };
  RandomConditions(std::uint64_t seed, Words words) : words_(std::move(words)), random_(seed) {}

  std::string condition(int depth) {
    switch (any(depth > 0 ? 7 : 2)) {
      case 0:
        return fmt::format("{} {} {}", scalar(depth), comparison(), scalar(depth));
      case 1:
        return fmt::format("({} {} {}).{}()", array(depth), comparison(), scalar(0), any(2) ? "any" : "all");
      case 2:
        return fmt::format("({}) and ({})", condition(depth - 1), condition(depth - 1));
      case 3:
        return fmt::format("({}) or ({})", condition(depth - 1), condition(depth - 1));
      case 4:
        return fmt::format("not ({})", condition(depth - 1));
      case 5:
        return fmt::format("{} {} {} {} {}", scalar(0), comparison(), scalar(0), comparison(), scalar(0));
      default:
        return fmt::format("{}({})", pick({"isnan", "isinf", "isfinite"}), scalar(depth));
    }
  }

 private:
  std::size_t any(std::size_t n) { return random_() % n; }
  std::string pick(std::vector<std::string> of) { return of[any(of.size())]; }
  std::string comparison() { return pick({"<", "<=", "==", "!=", ">", ">="}); }
  // `{}` in a word is an index.
  std::string word(const std::vector<std::string>& of) {
    std::string text = pick(of);
    for (auto at = text.find("{}"); at != std::string::npos; at = text.find("{}"))
      text.replace(at, 2, pick(words_.indices));
    return text;
  }

  std::string scalar(int depth) {
    if (depth == 0 || any(3) == 0) return word(words_.scalars);
    const std::string a = scalar(depth - 1), b = scalar(depth - 1);
    switch (any(7)) {
      case 6:
        return fmt::format("where({} {} {}, {}, {})", scalar(0), comparison(), scalar(0), a, b);
      case 0:
        return fmt::format("({} {} {})", a, pick({"+", "-", "*", "/", "//", "%", "&", "|", "^"}), b);
      case 1:
        return fmt::format("{}({})",
                           pick({"abs", "sqrt", "exp", "log", "floor", "ceil", "round", "sign", "sin", "tanh"}), a);
      case 2:
        return fmt::format("{}({}, {})", pick({"maximum", "minimum"}), a, b);
      case 3:
        return fmt::format("(-{}) ** {}", a, any(4));
      default:
        return fmt::format(
            "{}.{}()", array(depth - 1),
            pick({"max", "min", "sum", "mean", "std", "var", "prod", "argmax", "argmin", "count_nonzero"}));
    }
  }

  std::string array(int depth) {
    if (depth == 0 || any(2) == 0) return word(words_.arrays);
    switch (any(5)) {
      case 0:
        return fmt::format("({} {} {})", array(depth - 1), pick({"+", "-", "*", "/", "%"}), scalar(0));
      case 1:
        return fmt::format("{}({})", pick({"abs", "exp", "isnan", "sign", "sqrt"}), array(depth - 1));
      case 2:
        return fmt::format("where({} > {}, {}, {})", word(words_.rows), scalar(0), word(words_.rows), scalar(0));
      case 3:
        return fmt::format("(where({} {} {}, {}, {}) {} {})", word(words_.rows), comparison(), scalar(0), number(),
                           number(), pick({"+", "*", "-"}), word(words_.rows));
      default:
        return fmt::format("({} {} {})", word(words_.rows), pick({"+", "*", "-"}), word(words_.rows));
    }
  }

  std::string number() { return pick({"0", "1", "100", "-7", "300", "0.1", "0.2", "True", "False"}); }

  Words words_;
  std::mt19937_64 random_;
};

// Of all that have a compiled form.
struct RandomChecks {
  std::size_t compiled = 0, reached = 0;
  RandomChecks(Conditions& conditions, RandomConditions random, int count) {
    for (int i = 0; i < count; ++i) {
      const std::string said = random.condition(2);
      if (!conditions.compile(said)) continue;
      ++compiled;
      reached += conditions.check(said);
    }
  }
};

constexpr const char* kSmallTypes = R"(
@I.ir_module
class Module:
    @T.prim_func
    def small(A: T.Buffer((2, 3), "int8"), B: T.Buffer((2, 3), "uint8"), H: T.Buffer((2, 3), "float16"), G: T.Buffer((2, 3), "bfloat16"), M: T.Buffer((2, 3), "bool"), O: T.Buffer((2, 3), "float32")):
        for i, j in T.grid(2, 3):
            with T.block("O"):
                vi, vj = T.axis.remap("SS", [i, j])
                O[vi, vj] = T.Cast("float32", A[vi, vj]) + T.Cast("float32", H[vi, vj])
)";

std::vector<Value> small_args() {
  using runtime::DType;
  std::vector<Value> args;
  for (const DType t : {DType::Int(8), DType::UInt(8), DType::Float(16), DType::BFloat16(), DType::Bool()}) {
    const auto made = runtime::Tensor::empty({2, 3}, t).value();
    const double wide[] = {100, -3, 7, -100, 0, 1}, part[] = {0.1, -2.5, 300, 0.2, 0, 65504};
    for (std::size_t i = 0; i < 6; ++i) {
      std::byte* at = made->data() + i * t.bytes();
      if (t.is_bool())
        runtime::store_int(at, t, std::int64_t(i % 2));
      else if (t.is_float())
        runtime::store_double(at, t, part[i]);
      else
        runtime::store_int(at, t, std::int64_t(t.is_uint() ? std::abs(wide[i]) * 2 : wide[i]));
    }
    args.emplace_back(made);
  }
  args.push_back(testing::f32({2, 3}, {0}));
  return args;
}

}  // namespace

TEST_CASE("conditions on elements of small dtypes hold where the language says") {
  Conditions conditions(kSmallTypes, "small", small_args());
  std::size_t reached = 0;
  for (const char* said : {"(where(A > 0, 100, 0) * A).sum() > 500", "where(M[vi, vj], 0.1, 0.2) == H[0, 0]",
                           "where(vi > 0, 100, 1) + A[0, 0] == 200", "(where(M, 0.1, 0.2) == H).any()",
                           "(where(B > 5, 300, 1) - B).min() == 1", "where(M[vi, vj], 100, 0.5) * H[vi, vj] < 0",
                           "where(A > 0, True, False).sum() == 3", "(where(M, 1, 2) // 2 == M).all() or vj == 1"})
    reached += conditions.check(said);
  CHECK(reached > 8);
}

TEST_CASE("random conditions on elements of small dtypes hold where the language says") {
  Conditions conditions(kSmallTypes, "small", small_args());
  const RandomConditions::Words words{
      {"vi", "vj", "0", "1", "-1", "vj - 1", "A[vi, vj]"},
      {"vi", "vj", "limit", "2", "0.5", "100", "-7", "0.1", "A[vi, vj]", "B[vi, vj]", "H[vi, vj]", "G[vi, vj]",
       "M[vi, vj]", "A[{}, {}]", "H[{}, {}]", "where(M[vi, vj], 100, 0)", "where(vi == vj, 0.1, 2)"},
      {"A", "B", "H", "G", "M", "A[vi]", "B[:, vj]", "H[vi]", "G[::-1]", "M[vi]", "A[:, {}]"},
      {"A", "B", "H", "G", "A[vi]", "B[vi]", "H[vi]", "G[vi]", "M"}};
  const RandomChecks found(conditions, RandomConditions(2, words), 250);
  CHECK(found.compiled > 100);
  CHECK(found.reached > 200);
}

TEST_CASE("random conditions hold where the language says") {
  Conditions conditions(kProduct, "product", product_args());
  const RandomConditions::Words words{{"vi", "vj", "vk", "0", "1", "-1", "vi - 1", "vk + 1", "B[vk, vj]"},
                                      {"vi", "vj", "vk", "limit", "2", "0.5", "1", "-3", "0", "A[vi, vk]", "B[vk, vj]",
                                       "C[vi, vj]", "$other[vi, vk]", "A[{}, {}]", "B[{}, {}]"},
                                      {"A", "B", "C", "A[vi]", "B[:, vj]", "B[vk]", "C[vi]", "A[:, ::2]", "B[vk:]",
                                       "B[:vk, 0]", "B[::-1]", "A[..., vk]", "C[:vi, :]", "B[{}]"},
                                      {"A[vi]", "B[:, 0]", "A[0]", "B[:, vj]"}};
  const RandomChecks found(conditions, RandomConditions(1, words), 250);
  CHECK(found.compiled > 120);
  CHECK(found.reached > 1000);
}

TEST_CASE("conditions without a compiled form are left to the language, which the code asks") {
  Conditions conditions(kProduct, "product", product_args());
  std::size_t reached = 0;
  for (const char* said :
       {"A[vi] == 0", "nobody > 1", "sort(B[:, 0])[0] < 0", "quantile(C, 0.5) > 1", "B[[0, 1]].max() > 0",
        "B.max(axis=0)[1] > 1", "C[C > 0].sum() > 1", "sort(C[:, vj])[-1] > 0.4", "sort(A[vi])[vk] == 2"}) {
    CHECK_FALSE(conditions.compile(said));
    reached += conditions.check_asked(said);
  }
  CHECK(reached > 20);
}

TEST_CASE("random conditions that the code asks for hold where the language says") {
  Conditions conditions(kProduct, "product", product_args());
  const RandomConditions::Words words{{"vi", "vj", "vk", "0", "1"},
                                      {"vi", "vj", "vk", "1", "0", "A[vi, vk]", "B[vk, vj]", "C[vi, vj]", "A[{}, {}]"},
                                      {"A[vi]", "C", "B[:, vj]"},
                                      {"A[vi]", "B[:, 0]"}};
  RandomConditions random(3, words);
  std::size_t reached = 0;
  for (int n = 0; n < 60; ++n) reached += conditions.check_asked(random.condition(2));
  CHECK(reached > 300);
}

TEST_CASE("the code that is kept for conditions has a limit, and is made again behind it") {
  Conditions conditions(kProduct, "product", product_args());
  std::size_t most = 0;
  for (int n = 0; n < 66; ++n) {
    CHECK(conditions.check(fmt::format("vi == {} or vk == {}", n % 3, n + 9)) > 0);
    most = std::max(most, conditions.code_count());
  }
  CHECK(most > 32);
  CHECK(most <= 64);
}

TEST_CASE("conditions over values that change are kept in a limited number, and hold for the present value") {
  testing::Capture output;
  session::Session session(Kernels::options(), &output);
  Debugger debugger(session);
  source::Diagnostics d;
  REQUIRE(session.load_text("program.py", R"(
@I.ir_module
class Module:
    @T.prim_func
    def copy(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
        for i in range(64):
            B[i] = A[i]

    @R.function
    def main(x: R.Tensor((64,), "float32")) -> R.Tensor((64,), "float32"):
        cls = Module
        y = R.call_tir(cls.copy, (x,), out_sinfo=R.Tensor((64,), "float32"))
        return y
)",
                            d));
  const Breakpoint* b = debugger.add_breakpoint("copy:i", false, d);
  REQUIRE_MESSAGE(b, testing::text_of(d));
  REQUIRE(debugger.set_condition(b->number, "i == at", d));
  session.set_value("at", Value::of_int(63));
  REQUIRE(debugger.start("main", std::vector<Value>{testing::f32({64}, {0})}, true, d).kind == StopKind::Entry);
  const std::uint64_t begin = debugger.last_stop().time;
  for (int n = 0; n < 40; ++n) {
    session.set_value("at", Value::of_int(n));
    REQUIRE(debugger.resume().kind == StopKind::Breakpoint);
    REQUIRE(debugger.last_stop().in_kernel);
    CHECK(testing::show(debugger.evaluate("i", 0, d).value()) == fmt::format("{}", n));
    CHECK(impl_of(debugger).run->kernel_code().conditions.size() <= 8);
    REQUIRE(debugger.go_to(begin).time == begin);
  }
  CHECK(impl_of(debugger).run->kernel_code().conditions.size() == 8);
}

}  // namespace rldb::debug
