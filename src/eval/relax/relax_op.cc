// Operators that no legalisation gives a body: shapes as values, explicit memory, printing.
#include "eval/relax/relax_op.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "eval/relax/relax_bodies.h"
#include "rldb/bytecode/builtin/run.h"
#include "rldb/bytecode/builtin/value.h"
#include "rldb/ir/op/memory.h"
#include "rldb/ir/op_id.h"
#include "rldb/ir/op_name.h"
#include "rldb/runtime/by_host.h"
#include "rldb/support/check.h"

namespace rldb::eval {

using runtime::DType;
using runtime::ErrorKind;
using runtime::fail;
using runtime::PackedArgs;
using runtime::Result;
using runtime::Tensor;
using runtime::Value;
using runtime::ValueKind;

namespace {

Result<const Tensor*> tensor_arg(PackedArgs args, std::size_t i, std::string_view who) {
  if (i < args.size() && args[i].is(ValueKind::Tensor)) return &args[i].as_tensor();
  return fail(ErrorKind::TypeMismatch, fmt::format("{} needs a tensor as argument {}", who, i));
}

}  // namespace

bool flag_arg(PackedArgs args, std::size_t i) {
  if (i >= args.size()) return false;
  if (args[i].is(ValueKind::Tensor)) return args[i].as_tensor().element_count() > 0 && args[i].as_tensor().at(0) != 0;
  return (args[i].is(ValueKind::Int) || args[i].is(ValueKind::Bool)) && args[i].as_int() != 0;
}

Result<Value> int64_tensor(const std::vector<std::int64_t>& values, std::vector<std::int64_t> shape) {
  RLDB_TRY(runtime::Ref<Tensor> t, Tensor::empty(std::move(shape), runtime::DType::Int(64)));
  if (!values.empty()) std::memcpy(t->data(), values.data(), values.size() * sizeof(std::int64_t));
  return Value(std::move(t));
}

namespace {

Result<Value> shape_of(PackedArgs args) {
  RLDB_TRY(const Tensor* t, tensor_arg(args, 0, "shape_of"));
  return Value::of_shape(t->shape());
}

Result<Value> tensor_to_shape(PackedArgs args) {
  RLDB_TRY(const Tensor* t, tensor_arg(args, 0, "tensor_to_shape"));
  if (t->ndim() != 1 || !t->dtype().is_integral())
    return fail(ErrorKind::TypeMismatch, "tensor_to_shape needs a vector of integers");
  std::vector<std::int64_t> dims;
  for (std::int64_t i = 0; i < t->element_count(); ++i)
    dims.push_back(runtime::load_as_int(t->peek() + std::size_t(i) * t->dtype().bytes(), t->dtype()));
  return Value::of_shape(std::move(dims));
}

Result<Value> shape_to_tensor(PackedArgs args) {
  if (args.empty() || !args[0].is(ValueKind::Shape))
    return fail(ErrorKind::TypeMismatch, "shape_to_tensor needs a shape");
  return int64_tensor(args[0].as_shape(), {std::int64_t(args[0].as_shape().size())});
}

Result<Value> nonzero(PackedArgs args) {
  RLDB_TRY(const Tensor* t, tensor_arg(args, 0, "nonzero"));
  const auto rank = std::size_t(std::max(t->ndim(), 1));
  std::vector<std::vector<std::int64_t>> columns(rank);
  for (std::int64_t flat = 0; flat < t->element_count(); ++flat) {
    if (t->at(flat) == 0) continue;
    std::int64_t rest = flat;
    for (std::size_t d = rank; d-- > 0;) {
      const std::int64_t size = t->ndim() == 0 ? 1 : t->shape()[d];
      columns[d].push_back(rest % size);
      rest /= size;
    }
  }
  std::vector<std::int64_t> flat;
  for (const auto& c : columns) flat.insert(flat.end(), c.begin(), c.end());
  return int64_tensor(flat, {std::int64_t(rank), std::int64_t(columns[0].size())});
}

std::string plain(const Value& v) { return v.is(ValueKind::String) ? v.as_string() : runtime::format_value(v); }

// Python's str.format, as R.print and R.assert_op use it: `{}`, `{2}`, and doubled braces for braces.
Result<std::string> fill(std::string_view format, PackedArgs values) {
  const auto bad = [&](std::string why) {
    return fail(ErrorKind::TypeMismatch, fmt::format("{} in the format string \"{}\"", why, format));
  };
  std::string text;
  std::size_t next = 0;
  for (std::size_t i = 0; i < format.size(); ++i) {
    const char c = format[i];
    const bool doubled = i + 1 < format.size() && format[i + 1] == c;
    if (c != '{' && c != '}') {
      text += c;
    } else if (doubled) {
      text += c;
      ++i;
    } else if (c == '}') {
      return bad("single `}`");
    } else {
      const std::size_t close = format.find('}', i);
      if (close == std::string_view::npos) return bad("`{` without `}`");
      const std::string_view field = format.substr(i + 1, close - i - 1);
      std::size_t which = next;
      if (field.empty()) {
        ++next;
      } else if (const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), which);
                 error != std::errc() || end != field.data() + field.size()) {
        return bad(fmt::format("field `{{{}}}`; only {{}} and {{0}} are known", field));
      }
      if (which >= values.size()) return bad(fmt::format("value {} of {}", which, values.size()));
      text += plain(values[which]);
      i = close;
    }
  }
  return text;
}

// The text of a format and its values, or of the values alone when there is no format.
Result<std::string> message(PackedArgs args, std::size_t at, std::string_view separator) {
  const bool has_format = at < args.size() && args[at].is(ValueKind::String);
  const PackedArgs values = args.subspan(std::min(args.size(), at + (has_format ? 1 : 0)));
  if (has_format && !args[at].as_string().empty()) return fill(args[at].as_string(), values);
  std::string text;
  for (std::size_t i = 0; i < values.size(); ++i) text += fmt::format("{}{}", i > 0 ? separator : "", plain(values[i]));
  return text;
}

// print(format, values...)
Result<Value> print(PackedArgs args, runtime::Output* output) {
  RLDB_TRY(const std::string text, message(args, 0, " "));
  (output ? *output : runtime::stdout_output()).write(text + "\n");
  return Value::null();
}

// assert_op(condition, format, values...)
Result<Value> assert_op(PackedArgs args) {
  if (args.empty()) return fail(ErrorKind::ArgumentCount, "assert_op needs a condition");
  const bool scalar_tensor =
      args[0].is(ValueKind::Tensor) && args[0].as_tensor().ndim() == 0 && args[0].as_tensor().dtype().is_bool();
  if (!scalar_tensor && !args[0].is(ValueKind::Bool) && !args[0].is(ValueKind::Int))
    return fail(ErrorKind::TypeMismatch,
                fmt::format("assert_op needs a bool or a 0-d bool tensor, not {}", runtime::describe(args[0])));
  if (flag_arg(args, 0)) return Value::null();
  RLDB_TRY(const std::string text, message(args, 1, ", "));
  return fail(ErrorKind::AssertFailed, text.empty() ? "Assertion Failed" : "Assertion Failed: " + text);
}

// view(data, shape, dtype, byte offset): the same bytes, reinterpreted; the last three may be missing.
Result<Value> view(const std::vector<Value>& args) {
  RLDB_TRY(const Tensor* t, tensor_arg(args, 0, "view"));
  std::vector<std::int64_t> shape = t->shape();
  DType dtype = t->dtype();
  std::int64_t offset = 0;
  if (args.size() > 1 && args[1].is(ValueKind::Shape)) shape = args[1].as_shape();
  if (args.size() > 1 && args[1].is(ValueKind::Tuple) && !args[1].as_tuple().fields.empty())
    return fail(ErrorKind::TypeMismatch, fmt::format("view needs a shape, not {}", runtime::describe(args[1])));
  if (args.size() > 2 && args[2].is(ValueKind::DType) && !args[2].as_dtype().is_void()) dtype = args[2].as_dtype();
  if (args.size() > 3 && args[3].is(ValueKind::Int)) offset = args[3].as_int();
  if (offset < 0 || std::size_t(offset) > t->byte_size())
    return fail(ErrorKind::ShapeMismatch, fmt::format("a view at byte {} of {}", offset, runtime::describe(args[0])));
  const std::size_t begin = t->byte_offset() + std::size_t(offset);
  RLDB_TRY(runtime::Ref<Tensor> made, Tensor::view(t->storage(), begin, std::move(shape), dtype));
  if (made->byte_size() > t->byte_size() - std::size_t(offset))
    return fail(ErrorKind::ShapeMismatch,
                fmt::format("{} does not fit into {} at byte {}", runtime::describe(Value(made)),
                            runtime::describe(args[0]), offset));
  return Value(std::move(made));
}

// The axis of a shape or a stride.
Result<std::size_t> inspected_axis(const OpCall& c, const Tensor& t) {
  const std::string_view op = op::short_name(c.op);
  if (c.args.size() < 2 || !c.args[1].is(ValueKind::Int))
    return fail(ErrorKind::TypeMismatch, fmt::format("{} needs an axis", op));
  const std::int64_t axis = c.args[1].as_int();
  if (axis < 0 || axis >= t.ndim())
    return fail(ErrorKind::OutOfBounds, fmt::format("{}: axis {} of a tensor of rank {}", op, axis, t.ndim()));
  return std::size_t(axis);
}

// A number in a tensor's header.
Result<Value> field(const OpCall& c, std::int64_t (*of)(const Tensor& t)) {
  RLDB_TRY(const Tensor* t, tensor_arg(c.args, 0, op::short_name(c.op)));
  return Value::of_int(of(*t));
}

// Memory that a lowered program allocates explicitly. Operators differ in the operands' order, not in their kinds.
Result<DType> dtype_operand(const std::vector<Value>& args, std::string_view op) {
  for (const Value& v : args)
    if (v.is(ValueKind::DType)) return v.as_dtype();
  return fail(ErrorKind::TypeMismatch, fmt::format("`{}` needs a dtype", op));
}

// The only operand that is a number is the index of the device.
runtime::Device device_operand(const OpCall& c) {
  for (const Value& v : c.args)
    if (v.is(ValueKind::Int)) return runtime::device_at(c.devices, v.as_int());
  return runtime::device_at(c.devices, 0);
}

Result<Value> alloc_tensor(const OpCall& c) {
  RLDB_TRY(const DType dtype, dtype_operand(c.args, c.op));
  if (!c.args[0].is(ValueKind::Shape)) return fail(ErrorKind::TypeMismatch, fmt::format("`{}` needs a shape", c.op));
  RLDB_TRY(runtime::Ref<Tensor> made, Tensor::empty(c.args[0].as_shape(), dtype, device_operand(c)));
  return Value(std::move(made));
}

Result<Value> alloc_storage(const OpCall& c) {
  RLDB_TRY(DType dtype, dtype_operand(c.args, c.op));
  if (!c.args[0].is(ValueKind::Shape)) return fail(ErrorKind::TypeMismatch, fmt::format("`{}` needs a shape", c.op));
  // A planned storage has its size in bytes, and the dtype of its first tensor says nothing about it: a storage that is
  // too small is the planner's fault and shows in the planned module, not only in the next lowering.
  if (c.op == op::MemoryAllocStorage) dtype = DType::UInt(8);
  RLDB_TRY(runtime::Ref<runtime::Storage> made,
           runtime::Storage::of_shape(c.args[0].as_shape(), dtype, device_operand(c)));
  return Value(std::move(made));
}

Result<Value> tensor_in_storage(const OpCall& c) {
  RLDB_TRY(const DType dtype, dtype_operand(c.args, c.op));
  const std::vector<Value>& args = c.args;
  if (args.size() < 4 || !args[0].is(ValueKind::Storage) || !args[1].is(ValueKind::Int) ||
      !args[2].is(ValueKind::Shape))
    return fail(ErrorKind::TypeMismatch, fmt::format("`{}` needs a storage, an offset and a shape", c.op));
  RLDB_TRY(runtime::Ref<Tensor> made,
           Tensor::view(args[0].storage_ref(), std::size_t(args[1].as_int()), args[2].as_shape(), dtype));
  return Value(std::move(made));
}

Result<Value> reshape(PackedArgs args) {
  RLDB_TRY(const Tensor* t, tensor_arg(args, 0, "reshape"));
  if (args.size() < 2 || !args[1].is(ValueKind::Shape)) return fail(ErrorKind::TypeMismatch, "reshape needs a shape");
  RLDB_TRY(runtime::Ref<Tensor> view, Tensor::view(t->storage(), t->byte_offset(), args[1].as_shape(), t->dtype()));
  if (view->element_count() != t->element_count())
    return fail(ErrorKind::ShapeMismatch,
                fmt::format("cannot reshape {} to {}", runtime::describe(args[0]), runtime::describe(args[1])));
  return Value(std::move(view));
}

}  // namespace

namespace body {

Result<Value> none(const OpCall&) { RLDB_UNREACHABLE("an operator without a meaning of its own"); }
// On one device the result is the first argument.
Result<Value> identity(const OpCall& c) {
  if (c.args.empty()) return fail(ErrorKind::ArgumentCount, fmt::format("`{}` needs an argument", c.op));
  return c.args[0];
}
Result<Value> inspect_ndim(const OpCall& c) {
  return field(c, [](const Tensor& t) { return std::int64_t(t.ndim()); });
}
Result<Value> inspect_dtype_code(const OpCall& c) {
  return field(c, [](const Tensor& t) { return std::int64_t(t.dtype().code); });
}
Result<Value> inspect_dtype_bits(const OpCall& c) {
  return field(c, [](const Tensor& t) { return std::int64_t(t.dtype().bits); });
}
Result<Value> inspect_dtype_lanes(const OpCall& c) {
  return field(c, [](const Tensor& t) { return std::int64_t(t.dtype().lanes); });
}
Result<Value> inspect_byte_offset(const OpCall& c) {
  return field(c, [](const Tensor& t) { return std::int64_t(t.byte_offset()); });
}
Result<Value> inspect_elem_offset(const OpCall& c) {
  return field(c, [](const Tensor& t) { return std::int64_t(t.byte_offset() / t.dtype().bytes()); });
}
Result<Value> inspect_shape(const OpCall& c) {
  RLDB_TRY(const Tensor* t, tensor_arg(c.args, 0, op::short_name(c.op)));
  RLDB_TRY(const std::size_t axis, inspected_axis(c, *t));
  return Value::of_int(t->shape()[axis]);
}
Result<Value> inspect_stride(const OpCall& c) {
  RLDB_TRY(const Tensor* t, tensor_arg(c.args, 0, op::short_name(c.op)));
  RLDB_TRY(const std::size_t axis, inspected_axis(c, *t));
  std::int64_t stride = 1;
  for (std::size_t d = axis + 1; d < t->shape().size(); ++d) stride *= t->shape()[d];
  return Value::of_int(stride);
}
Result<Value> assert_op(const OpCall& c) { return eval::assert_op(c.args); }
Result<Value> alloc_tensor(const OpCall& c) { return eval::alloc_tensor(c); }
Result<Value> alloc_storage(const OpCall& c) { return eval::alloc_storage(c); }
Result<Value> tensor_in_storage(const OpCall& c) { return eval::tensor_in_storage(c); }
Result<Value> view(const OpCall& c) { return eval::view(c.args); }
Result<Value> nonzero(const OpCall& c) { return runtime::by_host(c.op, c.args, eval::nonzero); }
Result<Value> null_value(const OpCall&) { return Value::null(); }
Result<Value> print(const OpCall& c) { return eval::print(c.args, c.output); }
Result<Value> reshape(const OpCall& c) { return eval::reshape(c.args); }
Result<Value> shape_of(const OpCall& c) { return eval::shape_of(c.args); }
Result<Value> shape_to_tensor(const OpCall& c) { return eval::shape_to_tensor(c.args); }
Result<Value> tensor_to_shape(const OpCall& c) { return eval::tensor_to_shape(c.args); }
Result<Value> unique(const OpCall& c) { return runtime::by_host(c.op, c.args, eval::unique); }

}  // namespace body

OpFn find_relax_op(op::Id id) {
  static constexpr OpFn kBodies[] = {
#define RLDB_OP(id, name, signature, op_class, infer_fn, legal_fn, eval_fn, purity, traits, doc) body::eval_fn,
#include "rldb/ir/op/op.def"
  };
  const OpFn found = kBodies[std::size_t(id)];
  return found == body::none ? nullptr : found;
}

std::optional<Result<Value>> call_runtime_function(std::string_view name, PackedArgs args, runtime::Output* output) {
  if (name == builtin::RunUnique) return runtime::by_host(name, args, unique);
  if (name == builtin::RunNonzero) return runtime::by_host(name, args, nonzero);
  if (name == builtin::RunShapeToTensor) return shape_to_tensor(args);
  if (name == builtin::RunPrint) return print(args, output);
  if (name == builtin::RunAssert) return assert_op(args);
  if (name == builtin::ShapeOf) return shape_of(args);
  if (name == builtin::TensorToShape) return tensor_to_shape(args);
  return std::nullopt;
}

}  // namespace rldb::eval
