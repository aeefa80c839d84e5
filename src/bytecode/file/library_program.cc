#include "rldb/bytecode/library_program.h"

#include <fmt/format.h>

#include "rldb/bytecode/serialise.h"
#include "rldb/runtime/described.h"

namespace rldb::bytecode {

using runtime::Value;
using runtime::ValueKind;

namespace {

constexpr std::string_view kLeftOut = "rldb.constant.";  // a note with its text for each
constexpr std::size_t kMostBytes = 1024;                 // of a constant that is not left out

class LeftOut : public runtime::Object, public runtime::Described {
 public:
  explicit LeftOut(std::string text) : text_(std::move(text)) {}
  std::string description(std::size_t) const override { return text_; }

 private:
  const std::string text_;
};

// Small, and of a kind that a file can hold.
bool is_kept(const Value& c) {
  if (c.is(ValueKind::Tensor)) return c.as_tensor().byte_size() <= kMostBytes;
  return c.is(ValueKind::Int) || c.is(ValueKind::Float) || c.is(ValueKind::DType) || c.is(ValueKind::String) ||
         c.is(ValueKind::Shape);
}

}  // namespace

runtime::Result<std::string> library_program(const Executable& exe) {
  Executable small = exe;
  small.kernels.clear();
  small.tensor_ir.clear();
  for (std::size_t i = 0; i < small.constants.size(); ++i) {
    Value& c = small.constants[i];
    if (is_kept(c)) continue;
    small.metadata[fmt::format("{}{}", kLeftOut, i)] = runtime::describe(c);
    c = Value::of_string({});
  }
  return serialise(small);
}

runtime::Result<Executable> load_library_program(std::string_view bytes) {
  RLDB_TRY(Executable exe, load(bytes));
  for (std::size_t i = 0; i < exe.constants.size(); ++i)
    if (const auto note = exe.metadata.find(fmt::format("{}{}", kLeftOut, i)); note != exe.metadata.end())
      exe.constants[i] = Value::of_object(support::Ref<runtime::Object>(new LeftOut(note->second)));
  return exe;
}

}  // namespace rldb::bytecode
