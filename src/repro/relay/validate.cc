// Validation of Relay passes: two versions on the same inputs.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "rldb/relay/ir/printer.h"
#include "rldb/relay/ops/infer.h"
#include "rldb/relay/vm/object.h"
#include "rldb/repro/relay_passes.h"
#include "rldb/runtime/tensor_file.h"
#include "rldb/session/relay_code.h"
#include "rldb/support/cancel.h"

namespace rldb::repro {

using runtime::Result;
using runtime::Value;

namespace {

// Small, prime, a vector's width, and zero.
constexpr std::int64_t kRelayDims[] = {1, 2, 7, 16, 0};

bool has_open_dims(const relay::Type* t) {
  if (const auto* tuple = relay::as<relay::TupleType>(t))
    return std::any_of(tuple->fields.begin(), tuple->fields.end(), has_open_dims);
  const auto* tensor = relay::as<relay::TensorType>(t);
  return tensor && std::any_of(tensor->shape.begin(), tensor->shape.end(),
                               [](const relay::Dim& d) { return d.kind != relay::DimKind::Known; });
}

Result<Value> made_up(const relay::Type* type, const session::Options& options, std::uint64_t seed) {
  if (const auto* tuple = relay::as<relay::TupleType>(type)) {
    std::vector<Value> fields;
    for (const relay::Type* f : tuple->fields) {
      RLDB_TRY(Value v, made_up(f, options, seed + fields.size() + 1));
      fields.push_back(std::move(v));
    }
    return Value::of_tuple(std::move(fields));
  }
  const auto* tensor = relay::as<relay::TensorType>(type);
  if (!tensor)
    return runtime::fail(runtime::ErrorKind::ArgumentCount,
                         fmt::format("no value can be generated for a parameter of type `{}`",
                                     type ? relay::print_type(type) : "unknown"));
  std::vector<std::int64_t> shape;
  for (const relay::Dim& d : tensor->shape)
    shape.push_back(d.kind == relay::DimKind::Known ? d.value : options.default_dim);
  return runtime::random_tensor(std::move(shape), tensor->dtype, seed);
}

// The result of a run, or why there is none.
struct RelayOutcome {
  std::optional<Value> value;
  std::string error;
};

RelayOutcome run_relay(const session::RelayCode* program, std::string_view function, std::span<const Value> args) {
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

class RelayValidator {
 public:
  RelayValidator(relay::Context& ctx, const relay::Module* before, const relay::Module* after,
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
  std::unique_ptr<session::RelayCode> compiled(const relay::Module* m, std::string_view name, std::string& why) {
    source::Diagnostics found;
    auto program = session::RelayCode::compile(ctx_, m, options_, nullptr, found, name);
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
    for (const std::int64_t dim : std::span(kRelayDims).first(open ? std::size(kRelayDims) : 1)) {
      compare(name, before, *old, *now, dim, ran, reason);
      if (!out_.difference.empty()) return;
    }
    if (ran)
      out_.compared.emplace_back(name);
    else
      not_run(name, reason);
  }

  void compare(std::string_view name, const relay::Function* f, const session::RelayCode& old,
               const session::RelayCode& now, std::int64_t dim, bool& ran, std::string& reason) {
    session::Options options = options_;
    options.default_dim = dim;
    std::vector<Value> args;
    for (std::size_t i = 0; i < f->params.size(); ++i) {
      auto made = made_up(type_of(f->params[i]), options, options.seed + i);
      if (!made.ok()) {
        reason = made.error().message;
        return;
      }
      args.push_back(std::move(made).value());
    }
    const RelayOutcome a = run_relay(&old, name, args), b = run_relay(&now, name, args);
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

}  // namespace

Validation validate_relay(relay::Context& ctx, const relay::Module* before, const relay::Module* after,
                          const session::Options& options) {
  return RelayValidator(ctx, before, after, options).run();
}

}  // namespace rldb::repro
