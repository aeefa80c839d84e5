#include "rldb/repro/validate.h"

#include <fmt/format.h>

namespace rldb::repro {

namespace {

using runtime::Value;

constexpr std::int64_t kDims[] = {1, 2, 7};

// One version in a session of its own that shares nothing that runs: values, builds and history stay apart.
class Version {
 private:
  template <class F>
  auto with_module(F f) {
    passes::History kept = home_.history();
    home_.history().start(module_);
    auto result = f();
    home_.history() = std::move(kept);
    return result;
  }

 public:
  Version(session::Session& home, const ir::Module* module) : home_(home), module_(module) {}

  std::optional<std::vector<Value>> arguments(std::string_view function, source::Diagnostics& out) {
    return with_module([&]() -> std::optional<std::vector<Value>> {
      auto made = home_.arguments(function, {}, out);
      if (!made) return std::nullopt;
      std::vector<Value> values;
      for (session::Argument& a : *made) values.push_back(a.value);
      return values;
    });
  }

  session::RunResult run(std::string_view function, const std::vector<Value>& args, source::Diagnostics& out) {
    return with_module([&] { return home_.run(function, args, out); });
  }

 private:
  session::Session& home_;
  const ir::Module* module_;
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

std::string first_error(const source::Diagnostics& d) { return d.all().empty() ? "failed" : d.all()[0].message; }

std::string compare_function(Version& before, Version& after, session::Session& session, std::string_view name) {
  source::Diagnostics ignored;
  const auto args = before.arguments(name, ignored);
  if (!args) return {};
  source::Diagnostics left_errors, right_errors;
  const session::RunResult left = before.run(name, copies(*args), left_errors);
  const session::RunResult right = after.run(name, copies(*args), right_errors);
  if (left.ok != right.ok)
    return left.ok ? "ran before, now: " + first_error(right_errors)
                   : "failed before (" + first_error(left_errors) + "), now runs";
  if (!left.ok) return {};
  return runtime::compare(right.value, left.value, session.options().tolerance);
}

bool can_generate(Version& version, std::string_view name) {
  source::Diagnostics ignored;
  return version.arguments(name, ignored).has_value();
}

}  // namespace

std::string validate_versions(session::Session& session, const ir::Module* before, const ir::Module* after,
                              std::string* skipped) {
  Version left(session, before), right(session, after);
  const std::int64_t kept = session.options().default_dim;
  std::string difference;
  for (const ir::ModuleEntry& entry : before->entries) {
    const auto* f = ir::as<ir::Function>(entry.function);
    if (!f || f->is_private() || !ir::isa<ir::Function>(after->find(entry.name))) continue;
    if (!can_generate(left, entry.name)) {
      if (skipped) *skipped += (skipped->empty() ? "" : ", ") + std::string(entry.name);
      continue;
    }
    for (const std::int64_t dim : kDims) {
      session.options().default_dim = dim;
      const std::string found = compare_function(left, right, session, entry.name);
      if (found.empty()) continue;
      difference = fmt::format("`{}` with symbolic dims {}: {}", entry.name, dim, found);
      break;
    }
    if (!difference.empty()) break;
  }
  session.options().default_dim = kept;
  return difference;
}

}  // namespace rldb::repro
