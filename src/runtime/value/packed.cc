#include "rldb/runtime/packed.h"

#include <fmt/format.h>

#include <cstdio>
#include <utility>

#include "rldb/support/text.h"

namespace rldb::runtime {

namespace {

class StdoutOutput : public Output {
 public:
  // Flushed: a program's output must be on the screen before the stop that follows it.
  void write(std::string_view text) override {
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
  }
};

}  // namespace

Output& stdout_output() {
  static StdoutOutput output;
  return output;
}

PackedInfo& PackedRegistry::register_function(std::string name, PackedFn fn, std::string doc, int arity) {
  if (arity >= 0) {
    // The count is checked here once, so that the functions may index their arguments.
    fn = [name, arity, inner = std::move(fn)](PackedArgs args) -> Result<Value> {
      if (args.size() != std::size_t(arity)) {
        return fail(
            ErrorKind::ArgumentCount,
            fmt::format("`{}` takes {}, got {}", name, support::counted(std::size_t(arity), "argument"), args.size()));
      }
      return inner(args);
    };
  }
  PackedInfo info;
  info.function = support::make_ref<Function>(name, std::move(fn));
  info.doc = std::move(doc);
  info.arity = arity;
  return functions_[std::move(name)] = std::move(info);
}

Result<support::Unit> check_devices(const PackedInfo& packed, PackedArgs args) {
  for (std::size_t i = 0; i < args.size() && !packed.any_device; ++i) {
    if (!args[i].is(ValueKind::Tensor) || args[i].as_tensor().device().is_host()) continue;
    return fail(ErrorKind::TypeMismatch,
                fmt::format("`{}`: argument {} is on {}, but the function computes on cpu", packed.function->name, i,
                            to_string(args[i].as_tensor().device())));
  }
  return support::Unit{};
}

const PackedInfo* PackedRegistry::find(std::string_view name) const {
  const auto it = functions_.find(name);
  return it == functions_.end() ? nullptr : &it->second;
}

std::vector<std::string_view> PackedRegistry::names() const {
  std::vector<std::string_view> names;
  for (const auto& [name, info] : functions_) names.push_back(name);
  return names;
}

}  // namespace rldb::runtime
