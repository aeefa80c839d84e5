#include "rldb/repro/validate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "rldb/support/cancel.h"

namespace rldb::repro {

namespace {

using runtime::Value;

// Small, prime, a vector's width, one more, and nothing.
constexpr std::int64_t kDims[] = {1, 2, 7, 16, 17, 0};
// Some seconds of the evaluator.
constexpr std::uint64_t kStatements = 20'000'000;

// The session with another module for as long as it lives, and its dims free to set.
class Borrowed {
 public:
  explicit Borrowed(session::Session& session)
      : session_(session), history_(session.history()), options_(session.options()) {
    session.options().eval_statements = kStatements;
  }
  ~Borrowed() {
    session_.history() = std::move(history_);
    session_.options() = std::move(options_);
  }
  Borrowed(const Borrowed&) = delete;
  Borrowed& operator=(const Borrowed&) = delete;

  std::optional<std::vector<Value>> arguments(const ir::Module* module, std::string_view function) {
    session_.history().start(module);
    source::Diagnostics ignored;
    auto made = session_.arguments(function, {}, ignored);
    if (!made) return std::nullopt;
    std::vector<Value> values;
    for (session::Argument& a : *made) values.push_back(a.value);
    return values;
  }

  session::RunResult run(const ir::Module* module, std::string_view function, const std::vector<Value>& args,
                         std::string& error) {
    session_.history().start(module);
    source::Diagnostics found;
    session::RunResult result = session_.run(function, args, found);
    support::poll_cause();
    for (const source::Diagnostic& d : found.all())
      if (d.severity == source::Severity::Error && error.empty()) error = d.message;
    return result;
  }

  // The engines to compare on: the evaluator, and the machine.
  std::vector<session::Engine> engines() const {
    using session::Engine;
    return {Engine::Eval, options_.engine == Engine::Eval ? Engine::Vm : options_.engine};
  }
  void set_engine(session::Engine engine) { session_.options().engine = engine; }
  void set_dim(std::int64_t dim) { session_.options().default_dim = dim; }
  const runtime::Tolerance& tolerance() const { return session_.options().tolerance; }

 private:
  session::Session& session_;
  passes::History history_;
  session::Options options_;
};

// Programs may write to their arguments (in-place calls): each run gets its own copies.
std::vector<Value> copies(const std::vector<Value>& values) {
  std::vector<Value> out;
  for (const Value& v : values) {
    auto copy = runtime::deep_copy(v);
    out.push_back(copy.ok() ? std::move(copy).value() : v);
  }
  return out;
}

struct Side {
  session::RunResult result;
  std::string error;
};

struct Case {
  std::int64_t dim;
  std::vector<Value> args;
  Side before;
};

// Why the function did not run on either side, or how the sides differ; both empty: it ran and they agree.
struct Verdict {
  std::string difference;
  std::string not_run;
};

Verdict compare_case(const Case& c, const Side& after, const runtime::Tolerance& tolerance) {
  const Side& before = c.before;
  if (!before.result.ok && !after.result.ok) return {{}, "fails before and after: " + before.error};
  std::string difference;
  if (!after.result.ok) {
    difference = "ran before, now: " + after.error;
  } else if (!before.result.ok) {
    difference = "failed before (" + before.error + "), now runs";
  } else {
    difference = runtime::compare(after.result.value, before.result.value, tolerance);
  }
  if (!difference.empty()) difference = fmt::format("with symbolic dims {}: {}", c.dim, difference);
  return {difference, {}};
}

// Some type of a parameter leaves a dimension to be chosen.
bool has_open_dims(const ir::Type* t) {
  if (t->has_vars) return true;
  if (const auto* tensor = ir::as<ir::TensorType>(t)) return !tensor->has_shape;
  if (const auto* shape = ir::as<ir::ShapeType>(t)) return !shape->has_values;
  const auto* tuple = ir::as<ir::TupleType>(t);
  return tuple && std::any_of(tuple->fields.begin(), tuple->fields.end(), has_open_dims);
}

std::span<const std::int64_t> dims_for(const ir::Function* f) {
  const bool open =
      std::any_of(f->params.begin(), f->params.end(), [](const ir::Var* p) { return has_open_dims(p->type); });
  return std::span(kDims).first(open ? std::size(kDims) : 1);
}

// All dims on one side first: a module is built once.
Verdict compare_function(Borrowed& session, const ir::Module* before, const ir::Module* after, std::string_view name,
                         std::span<const std::int64_t> dims) {
  std::vector<Case> cases;
  for (const std::int64_t dim : dims) {
    session.set_dim(dim);
    auto args = session.arguments(before, name);
    if (!args) return {{}, "its inputs cannot be made up"};
    Case c{dim, std::move(*args), {}};
    c.before.result = session.run(before, name, copies(c.args), c.before.error);
    cases.push_back(std::move(c));
  }
  std::string not_run;
  bool ran = false;
  for (const Case& c : cases) {
    session.set_dim(c.dim);
    Side side;
    side.result = session.run(after, name, copies(c.args), side.error);
    const Verdict verdict = compare_case(c, side, session.tolerance());
    if (!verdict.difference.empty()) return verdict;
    ran = ran || verdict.not_run.empty();
    if (not_run.empty()) not_run = verdict.not_run;
  }
  return {{}, ran ? std::string() : not_run};
}

std::string way(session::Engine engine) {
  return engine == session::Engine::Eval ? std::string("as it is, on the evaluator")
                                         : fmt::format("lowered, on engine {}", session::to_string(engine));
}

// Adds what became of one function. True: its values differ.
bool compare_ways(Borrowed& session, const ir::Module* before, const ir::Module* after, std::string_view name,
                  std::span<const std::int64_t> dims, Validation& out) {
  std::vector<std::string> missed;
  bool ran = false;
  for (const session::Engine engine : session.engines()) {
    session.set_engine(engine);
    const Verdict verdict = compare_function(session, before, after, name, dims);
    if (!verdict.difference.empty()) {
      out.difference = fmt::format("`{}` {} ({})", name, verdict.difference, way(engine));
      return true;
    }
    ran = ran || verdict.not_run.empty();
    if (!verdict.not_run.empty()) missed.push_back(fmt::format("{}: {}", way(engine), verdict.not_run));
  }
  if (!ran) {
    out.not_run.push_back(fmt::format("{} ({})", name, missed.back().substr(missed.back().find(": ") + 2)));
    return false;
  }
  out.compared.emplace_back(name);
  if (!missed.empty()) out.in_part.push_back(fmt::format("{} (not {})", name, missed.front()));
  return false;
}

}  // namespace

Validation validate_versions(session::Session& session, const ir::Module* before, const ir::Module* after) {
  Borrowed borrowed(session);
  Validation out;
  for (const ir::ModuleEntry& entry : before->entries) {
    const auto* f = ir::as<ir::Function>(entry.function);
    const auto* g = ir::as<ir::Function>(after->find(entry.name));
    if (!f || !g || f->is_private()) continue;
    if (f->params.size() != g->params.size()) {
      out.not_run.push_back(fmt::format("{} (it takes {} arguments before and {} after)", entry.name, f->params.size(),
                                        g->params.size()));
      continue;
    }
    if (compare_ways(borrowed, before, after, entry.name, dims_for(f), out)) return out;
  }
  return out;
}

std::string to_string(const Validation& v) {
  if (!v.difference.empty()) return v.difference;
  std::string text = v.compared.empty() ? "nothing was compared" : "same values";
  if (!v.in_part.empty()) text += fmt::format("; in part: {}", fmt::join(v.in_part, ", "));
  if (!v.not_run.empty()) text += fmt::format("; not run: {}", fmt::join(v.not_run, ", "));
  return text;
}

}  // namespace rldb::repro
