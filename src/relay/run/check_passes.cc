// Validation and bisection of Relay passes, by running versions of a program.
#include "rldb/relay/run/check_passes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "rldb/relay/ops/infer.h"
#include "rldb/relay/vm/object.h"
#include "rldb/support/cancel.h"
#include "rldb/support/rewrite_counter.h"

namespace rldb::relay_run {

using runtime::Value;

namespace {

// Small, prime, a vector's width, and zero.
constexpr std::int64_t kDims[] = {1, 2, 7, 16, 0};

bool has_open_dims(const relay::Type* t) {
  if (const auto* tuple = relay::as<relay::TupleType>(t))
    return std::any_of(tuple->fields.begin(), tuple->fields.end(), has_open_dims);
  const auto* tensor = relay::as<relay::TensorType>(t);
  return tensor && std::any_of(tensor->shape.begin(), tensor->shape.end(),
                               [](const relay::Dim& d) { return d.kind != relay::DimKind::Known; });
}

// The result of a run, or why there is none.
struct Outcome {
  std::optional<Value> value;
  std::string error;
};

Outcome run(const Program* program, std::string_view function, std::span<const Value> args) {
  if (!program) return {std::nullopt, "it cannot be compiled"};
  std::vector<Value> copies;
  for (const Value& v : args) copies.push_back(v);
  const relay_vm::Outcome o = program->run(function, copies);
  support::poll_cause();
  if (o.faulted()) return {std::nullopt, o.fault->error.message};
  return {o.value, ""};
}

// Empty: no difference.
std::string difference(const Value& now, const Value& before, const runtime::Tolerance& tolerance) {
  std::vector<std::pair<const Value*, const Value*>> open{{&now, &before}};
  while (!open.empty()) {
    support::poll();
    const auto [a, b] = open.back();
    open.pop_back();
    const auto tag = relay_vm::tag_of(*a), wanted = relay_vm::tag_of(*b);
    if (!tag || !wanted) {
      const bool tensors = a->is(runtime::ValueKind::Tensor) && b->is(runtime::ValueKind::Tensor);
      if (!tensors && a->kind() == b->kind()) continue;  // closures, whose contents are hidden
      if (std::string text = runtime::compare(*a, *b, tolerance); !text.empty()) return text;
      continue;
    }
    const auto &x = a->as_tuple().fields, &y = b->as_tuple().fields;
    if (*tag != *wanted || x.size() != y.size()) return "another constructor or number of fields";
    for (std::size_t i = 0; i < x.size(); ++i) open.emplace_back(&x[i], &y[i]);
  }
  return "";
}

class Validator {
 public:
  Validator(relay::Context& ctx, const relay::Module* before, const relay::Module* after,
            const session::Options& options)
      : ctx_(ctx), before_(before), after_(after), options_(options) {}

  Validation run() {
    source::Diagnostics ignored;  // it had types before
    relay::infer_types(ctx_, before_, typing_, ignored);
    for (const relay::Definition& d : before_->functions) {
      support::poll();
      const relay::Function* after = after_->find(d.name->name);
      const bool called = after && !relay::is_primitive(d.function) && d.function->type_params.empty() &&
                          !relay::has_attr(d.function, relay::attr_name::Closure);
      if (!called) continue;
      function(d.name->name, d.function, after);
      if (!out_.difference.empty()) break;
    }
    return std::move(out_);
  }

 private:
  std::unique_ptr<Program> compiled(const relay::Module* m, std::string_view name, std::string& why) {
    source::Diagnostics found;
    auto program = Program::compile(ctx_, m, options_, nullptr, found, name);
    if (!program && why.empty()) why = found.first_error();
    return program;
  }

  void function(std::string_view name, const relay::Function* before, const relay::Function* after) {
    std::string why, why_now;
    const auto old = compiled(before_, name, why), now = compiled(after_, name, why_now);
    if (!old) return not_run(name, why);
    if (!now) {
      out_.difference = fmt::format("`{}` could be compiled before, now: {}", name, why_now);
      return;
    }
    if (before->params.size() != after->params.size()) return not_run(name, "it takes another number of arguments now");
    const bool open = std::any_of(before->params.begin(), before->params.end(),
                                  [&](const relay::Var* p) { return has_open_dims(type_of(p)); });
    std::string reason;
    bool ran = false;
    for (const std::int64_t dim : std::span(kDims).first(open ? std::size(kDims) : 1)) {
      compare(name, before, *old, *now, dim, ran, reason);
      if (!out_.difference.empty()) return;
    }
    if (ran)
      out_.compared.emplace_back(name);
    else
      not_run(name, reason);
  }

  void compare(std::string_view name, const relay::Function* f, const Program& old, const Program& now,
               std::int64_t dim, bool& ran, std::string& reason) {
    session::Options options = options_;
    options.default_dim = dim;
    std::vector<Value> args;
    for (std::size_t i = 0; i < f->params.size(); ++i) {
      auto made = argument({}, type_of(f->params[i]), options, options.seed + i);
      if (!made.ok()) {
        reason = made.error().message;
        return;
      }
      args.push_back(std::move(made).value());
    }
    const Outcome a = relay_run::run(&old, name, args), b = relay_run::run(&now, name, args);
    // A fault removed by a pass (the failing computation was dropped) is not a different value.
    if (!a.value) {
      reason = (b.value ? "failed before, now runs: " : "fails before and after: ") + a.error;
      return;
    }
    std::string text;
    if (!b.value) text = "ran before, now: " + b.error;
    if (b.value) text = difference(*b.value, *a.value, options_.tolerance);
    ran = true;
    if (!text.empty()) out_.difference = fmt::format("`{}` with open dims {}: {}", name, dim, text);
  }

  void not_run(std::string_view name, std::string_view why) {
    out_.not_run.push_back(fmt::format("{} ({})", name, why));
  }
  const relay::Type* type_of(const relay::Var* p) const { return typing_.of(p) ? typing_.of(p) : p->annotation; }

  relay::Context& ctx_;
  const relay::Module* before_;
  const relay::Module* after_;
  const session::Options& options_;
  relay::Typing typing_;
  Validation out_;
};

// ---- bisection ----

class PassBisector {
 public:
  PassBisector(relay::Context& ctx, std::string_view entry, const session::Options& options)
      : ctx_(ctx), entry_(entry), options_(options), evaluator_(make_evaluator(ctx, options)) {}

  PassBisection run(const relay::Module* m, const std::vector<relay::PassInvocation>& passes) {
    out_.count = passes.size();
    first_ = m;
    const relay::Module* before = m;
    for (std::size_t i = 0; i < passes.size(); ++i) {
      support::poll();
      out_.index = i;
      out_.pass = passes[i];
      out_.before = before;
      if (const auto symptom = with_limit(-1, out_.after)) {
        out_.verdict = PassBisection::Verdict::Found;
        out_.symptom = *symptom;
        find_rewrite();
        return std::move(out_);
      }
      before = out_.after;
    }
    if (ran_ || passes.empty())
      out_.verdict = PassBisection::Verdict::None;
    else
      out_.why = why_;
    return std::move(out_);
  }

 private:
  // Applies the pass with at most that many rewrites, and returns the fault then.
  std::optional<std::string> with_limit(std::int64_t limit, const relay::Module*& after) {
    source::Diagnostics found;
    relay::PassEnv env{ctx_, found, entry_, nullptr, evaluator_.get()};
    {
      support::RewriteCounter counter(limit);
      after = relay::run_pass(out_.pass, env, out_.before);
      if (limit < 0) out_.rewrites = counter.asked();
      last_text_ = counter.last();
    }
    if (!after) return "the pass fails: " + (found.all().empty() ? std::string() : found.all().front().message);
    relay::Typing typing;
    if (!relay::infer_types(ctx_, after, typing, found))
      return "the result has no types: " + found.all().front().message;
    const Validation v = validate(ctx_, first_, after, options_);
    ran_ = ran_ || !v.compared.empty();
    if (v.compared.empty() && !v.not_run.empty()) why_ = v.not_run.front();
    if (v.difference.empty()) return std::nullopt;
    return v.difference;
  }

  // Finds the first rewrite that makes it appear.
  void find_rewrite() {
    const relay::Module* version = nullptr;
    if (out_.rewrites == 0 || with_limit(0, version)) return;  // it comes from something that is not counted
    std::int64_t good = 0, bad = out_.rewrites;
    while (bad - good > 1) {
      support::poll();
      const std::int64_t middle = good + (bad - good) / 2;
      (with_limit(middle, version) ? bad : good) = middle;
    }
    with_limit(good, out_.without);
    with_limit(bad, out_.with);
    out_.rewrite = bad;
    out_.rewrite_text = last_text_;
  }

  relay::Context& ctx_;
  std::string_view entry_;
  const session::Options& options_;
  std::shared_ptr<relay::Evaluator> evaluator_;
  const relay::Module* first_ = nullptr;
  PassBisection out_;
  std::string last_text_;
  std::string why_ = "nothing of the program could be run";
  bool ran_ = false;
};

}  // namespace

std::vector<std::string> changed_functions(const relay::Module* before, const relay::Module* after) {
  std::vector<std::string> names;
  for (const relay::Definition& d : after->functions)
    if (before->find(d.name->name) != d.function) names.emplace_back(d.name->name);
  for (const relay::Definition& d : before->functions)
    if (!after->find(d.name->name)) names.emplace_back(d.name->name);
  std::sort(names.begin(), names.end());
  return names;
}

std::string to_string(const Validation& v) {
  if (!v.difference.empty()) return "values differ: " + v.difference;
  std::string text =
      v.compared.empty() ? "nothing compared" : fmt::format("same values: {}", fmt::join(v.compared, ", "));
  if (!v.not_run.empty()) text += fmt::format("; not run: {}", fmt::join(v.not_run, ", "));
  return text;
}

Validation validate(relay::Context& ctx, const relay::Module* before, const relay::Module* after,
                    const session::Options& options) {
  return Validator(ctx, before, after, options).run();
}

std::string to_string(const PassBisection& b) {
  switch (b.verdict) {
    case PassBisection::Verdict::None:
      return fmt::format("no pass of {} changes values", b.count);
    case PassBisection::Verdict::CannotTell:
      return "cannot tell: " + b.why;
    case PassBisection::Verdict::Found:
      break;
  }
  std::string text = fmt::format("pass {} of {}: {}\n{}", b.index + 1, b.count, relay::to_string(b.pass), b.symptom);
  if (b.rewrite > 0) text += fmt::format("\nrewrite {} of {}: {}", b.rewrite, b.rewrites, b.rewrite_text);
  return text;
}

PassBisection bisect_passes(relay::Context& ctx, const relay::Module* m,
                            const std::vector<relay::PassInvocation>& passes, std::string_view entry,
                            const session::Options& options) {
  return PassBisector(ctx, entry, options).run(m, passes);
}

}  // namespace rldb::relay_run
