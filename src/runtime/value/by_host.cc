#include "rldb/runtime/by_host.h"

#include <fmt/format.h>

#include <algorithm>

#include "rldb/runtime/copy.h"

namespace rldb::runtime {

static void add_tensors(const Value& value, int depth, std::vector<Value>& out) {
  constexpr int kMostDepth = 1000;
  if (value.is(ValueKind::Tensor)) out.push_back(value);
  if (!value.is(ValueKind::Tuple) || depth > kMostDepth) return;
  for (const Value& f : value.as_tuple().fields) add_tensors(f, depth + 1, out);
}

Result<Value> by_host(std::string_view what, std::span<const Value> args,
                      const std::function<Result<Value>(std::span<const Value>)>& function) {
  std::vector<Value> tensors;
  for (const Value& v : args) add_tensors(v, 0, tensors);
  if (std::all_of(tensors.begin(), tensors.end(), [](const Value& t) { return t.as_tensor().device().is_host(); }))
    return function(args);
  const Device device = tensors[0].as_tensor().device();
  for (const Value& t : tensors)
    if (!(t.as_tensor().device() == device))
      return fail(ErrorKind::TypeMismatch, fmt::format("`{}`: one tensor is on {}, another on {}", what,
                                                       to_string(device), to_string(t.as_tensor().device())));
  std::vector<Value> here;
  for (const Value& v : args) {
    RLDB_TRY(Value copied, on_device(v, Device{}));
    here.push_back(std::move(copied));
  }
  RLDB_TRY(const Value made, function(here));
  return on_device(made, device);
}

}  // namespace rldb::runtime
