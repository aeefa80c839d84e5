#include "rldb/repro/validate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "rldb/support/cancel.h"

namespace rldb::repro {

namespace {

using runtime::Value;

constexpr std::int64_t kDims[] = {1, 2, 7};

// The session with another module for as long as it lives, and its dims free to set.
class Borrowed {
 public:
  explicit Borrowed(session::Session& session)
      : session_(session), history_(session.history()), default_dim_(session.options().default_dim) {}
  ~Borrowed() {
    session_.history() = std::move(history_);
    session_.options().default_dim = default_dim_;
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

  void set_dim(std::int64_t dim) { session_.options().default_dim = dim; }
  const runtime::Tolerance& tolerance() const { return session_.options().tolerance; }

 private:
  session::Session& session_;
  passes::History history_;
  std::int64_t default_dim_;
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

// All dims on one side first: a module is built once.
Verdict compare_function(Borrowed& session, const ir::Module* before, const ir::Module* after, std::string_view name) {
  std::vector<Case> cases;
  for (const std::int64_t dim : kDims) {
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
    const Verdict verdict = compare_function(borrowed, before, after, entry.name);
    if (!verdict.difference.empty()) {
      out.difference = fmt::format("`{}` {}", entry.name, verdict.difference);
      return out;
    }
    if (verdict.not_run.empty())
      out.compared.emplace_back(entry.name);
    else
      out.not_run.push_back(fmt::format("{} ({})", entry.name, verdict.not_run));
  }
  return out;
}

std::string to_string(const Validation& v) {
  if (!v.difference.empty()) return v.difference;
  std::string text = v.compared.empty() ? "nothing was compared" : "same values";
  if (!v.not_run.empty()) text += fmt::format("; not run: {}", fmt::join(v.not_run, ", "));
  return text;
}

}  // namespace rldb::repro
