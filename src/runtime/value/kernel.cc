// The checks of a kernel's caller: dims against the signature, dim expressions, dtypes, aliasing.
#include "rldb/runtime/kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <optional>
#include <utility>

#include "rldb/support/integer.h"
#include "rldb/support/text.h"

namespace rldb::runtime {

double smallest_normal(DType t) {
  if (t.is_float() && t.bits == 64) return std::numeric_limits<double>::min();
  if (t.is_float() && t.bits == 16) return 0x1p-14;
  return double(std::numeric_limits<float>::min());  // bfloat16 has float's exponents
}

namespace {

using Code = DimOp::Code;

support::Failure<Error> bad_expr(const DimExpr& e, std::string_view why) {
  return fail(ErrorKind::TypeMismatch, fmt::format("cannot compute `{}`: {}", e.text, why));
}

using support::floor_div;

enum class Trouble { None, DivisionByZero, Overflow };

// One binary operation; `out` is set when the result is None.
Trouble apply(Code code, std::int64_t a, std::int64_t b, std::int64_t& out) {
  bool overflow = false;
  switch (code) {
    case Code::Add:
      overflow = __builtin_add_overflow(a, b, &out);
      break;
    case Code::Sub:
      overflow = __builtin_sub_overflow(a, b, &out);
      break;
    case Code::Mul:
      overflow = __builtin_mul_overflow(a, b, &out);
      break;
    case Code::FloorDiv:
    case Code::FloorMod:
    case Code::TruncDiv:
    case Code::TruncMod:
      if (b == 0) return Trouble::DivisionByZero;
      if (b == -1) {  // the one quotient that overflows; remainders are 0
        const bool division = code == Code::FloorDiv || code == Code::TruncDiv;
        out = 0;
        overflow = division && __builtin_sub_overflow(std::int64_t(0), a, &out);
        break;
      }
      if (code == Code::FloorDiv) out = floor_div(a, b);
      if (code == Code::FloorMod) out = a - floor_div(a, b) * b;
      if (code == Code::TruncDiv) out = a / b;
      if (code == Code::TruncMod) out = a % b;
      break;
    case Code::Min:
      out = std::min(a, b);
      break;
    case Code::Max:
      out = std::max(a, b);
      break;
    case Code::Eq:
      out = a == b;
      break;
    case Code::Ne:
      out = a != b;
      break;
    case Code::Lt:
      out = a < b;
      break;
    case Code::Le:
      out = a <= b;
      break;
    case Code::Gt:
      out = a > b;
      break;
    case Code::Ge:
      out = a >= b;
      break;
    case Code::And:
      out = a != 0 && b != 0;
      break;
    case Code::Or:
      out = a != 0 || b != 0;
      break;
    case Code::Const:
    case Code::Var:
    case Code::Not:
    case Code::Select:
      break;  // not binary
  }
  return overflow ? Trouble::Overflow : Trouble::None;
}

// A value stack that stays off the heap for all realistic expressions.
class Stack {
 public:
  void push(std::int64_t v) {
    if (size_ < kInline) {
      inline_[size_] = v;
    } else {
      spilled_.push_back(v);
    }
    ++size_;
  }
  std::int64_t pop() {
    --size_;
    if (size_ < kInline) return inline_[size_];
    const std::int64_t v = spilled_.back();
    spilled_.pop_back();
    return v;
  }
  std::size_t size() const { return size_; }

 private:
  static constexpr std::size_t kInline = 16;
  std::array<std::int64_t, kInline> inline_{};
  std::vector<std::int64_t> spilled_;
  std::size_t size_ = 0;
};

// --- binding --------------------------------------------------------------------------------------

#define RLDB_COLD [[gnu::cold, gnu::noinline]]

// Binds a call's arguments to a signature. This is on the path of every kernel call: the success path
// only compares words and returns bools; an Error is created, and everything that its message needs (the
// binder of a variable) is determined again, only when there is something to report.
class Binder {
 public:
  Binder(const KernelSignature& signature, PackedArgs args, std::vector<std::int64_t>& variables)
      : signature_(signature), args_(args), variables_(variables) {}

  Result<support::Unit> run() {
    if (bind()) return support::Unit{};
    return support::Failure(std::move(*error_));
  }

 private:
  bool bind() {
    if (args_.size() != signature_.params.size()) return wrong_count();
    // Not cleared: no value is read before it is bound.
    variables_.resize(signature_.variables.size());
    if (variables_.size() > 64) many_bound_.assign(variables_.size(), false);
    bool compound = false;
    for (std::size_t i = 0; i < args_.size(); ++i) {
      if (!bind_simple(i, compound)) return false;
    }
    for (std::size_t v = 0; v < variables_.size(); ++v) {
      if (!is_bound(v)) return unbound(v);
    }
    if (compound) {
      for (std::size_t i = 0; i < args_.size(); ++i) {
        if (!check_compound(i)) return false;
      }
    }
    return true;
  }

  bool is_bound(std::size_t v) const { return many_bound_.empty() ? ((bound_ >> v) & 1) != 0 : many_bound_[v]; }
  void mark_bound(std::size_t v) {
    if (many_bound_.empty()) {
      bound_ |= std::uint64_t(1) << v;
    } else {
      many_bound_[v] = true;
    }
  }

  // First pass: kinds, ranks, dtypes, constants, and the dims and scalars that are a bare variable.
  bool bind_simple(std::size_t i, bool& compound) {
    const KernelParam& param = signature_.params[i];
    if (param.opaque) return true;
    if (!param.is_tensor) return bind_scalar(i);
    const Value& arg = args_[i];
    if (!arg.is(ValueKind::Tensor)) return wrong_kind(i, "a tensor");
    const Tensor& tensor = arg.as_tensor();
    // A kernel runs on the device of its first tensor.
    if (!first_)
      first_ = &tensor;
    else if (tensor.device() != first_->device())
      return wrong_device(i);
    if (!param.dtype.is_void() && tensor.dtype() != param.dtype) return wrong_dtype(i);
    const auto& shape = tensor.shape();
    if (shape.size() != param.shape.size()) return wrong_rank(i, shape.size());
    for (std::size_t d = 0; d < shape.size(); ++d) {
      const DimExpr& dim = param.shape[d];
      if (dim.code.size() != 1) {
        compound = true;
        continue;
      }
      const DimOp& op = dim.code.front();
      if (op.code == Code::Const) {
        if (op.value != shape[d]) return wrong_constant(i, d, op.value);
      } else if (op.code == Code::Var) {
        const auto v = static_cast<std::size_t>(op.value);
        if (v >= variables_.size()) return give_up(bad_expr(dim, "it names no variable of the signature"));
        if (!is_bound(v)) {
          variables_[v] = shape[d];
          mark_bound(v);
        } else if (variables_[v] != shape[d]) {
          return wrong_variable(i, d, v);
        }
      } else {
        return give_up(bad_expr(dim, "an operator without operands"));
      }
    }
    return true;
  }

  bool bind_scalar(std::size_t i) {
    const KernelParam& param = signature_.params[i];
    const Value& arg = args_[i];
    if (param.dtype.is_float()) {
      if (!arg.is(ValueKind::Float) && !arg.is(ValueKind::Int)) return wrong_kind(i, "a float");
      return true;
    }
    if (param.dtype.is_handle()) return true;
    if (!arg.is(ValueKind::Int) && !arg.is(ValueKind::Bool)) {
      return wrong_kind(i, param.dtype.is_bool() ? "a bool" : "an int");
    }
    const std::int64_t value = arg.as_int();
    if (!fits(value, param.dtype)) return too_large(i);
    if (param.variable < 0) return true;
    const auto v = static_cast<std::size_t>(param.variable);
    if (v >= variables_.size()) return names_nothing(i);
    if (!is_bound(v)) {
      variables_[v] = value;
      mark_bound(v);
    } else if (variables_[v] != value) {
      return wrong_value(i, v);
    }
    return true;
  }

  static bool fits(std::int64_t value, DType t) {
    if (t.is_void() || t.bits >= 64) return true;
    if (t.is_bool()) return value == 0 || value == 1;
    if (t.is_uint()) return value >= 0 && value < (std::int64_t(1) << t.bits);
    const std::int64_t half = std::int64_t(1) << (t.bits - 1);
    return value >= -half && value < half;
  }

  // Second pass: dims such as `n * 2`.
  bool check_compound(std::size_t i) {
    const KernelParam& param = signature_.params[i];
    if (!param.is_tensor || param.opaque) return true;
    const auto& shape = args_[i].as_tensor().shape();
    for (std::size_t d = 0; d < param.shape.size(); ++d) {
      const DimExpr& dim = param.shape[d];
      if (dim.code.size() == 1) continue;
      auto expected = evaluate(dim, variables_);
      if (!expected.ok()) {
        Error error = std::move(expected).error();
        error.message = fmt::format("{}: dimension {}: {}", where(i), d, error.message);
        return give_up(support::Failure(std::move(error)));
      }
      if (*expected != shape[d]) return wrong_compound(i, d, *expected);
    }
    return true;
  }

  // --- messages: each records the error and is false; out of line, as the path without one is short ---

  RLDB_COLD bool give_up(support::Failure<Error> failure) {
    error_ = std::move(failure.error);
    return false;
  }

  std::string where(std::size_t i) const {
    const std::string& name = signature_.params[i].name;
    return fmt::format("`{}`: argument {}{}", signature_.name, i, name.empty() ? "" : fmt::format(" (`{}`)", name));
  }
  RLDB_COLD bool mismatch(ErrorKind kind, std::size_t i, std::string_view what) {
    return give_up(fail(kind, fmt::format("{}: {}", where(i), what)));
  }
  RLDB_COLD bool wrong_count() {
    std::string names;
    for (const KernelParam& param : signature_.params) {
      names += fmt::format("{}`{}`", names.empty() ? "" : ", ", param.name);
    }
    return give_up(fail(
        ErrorKind::ArgumentCount,
        fmt::format("`{}` takes {}{}, got {}", signature_.name, support::counted(signature_.params.size(), "argument"),
                    names.empty() ? "" : fmt::format(" ({})", names), args_.size())));
  }
  RLDB_COLD bool wrong_kind(std::size_t i, std::string_view expected) {
    return mismatch(ErrorKind::TypeMismatch, i, fmt::format("expected {}, got {}", expected, describe(args_[i])));
  }
  RLDB_COLD bool wrong_device(std::size_t i) {
    std::size_t first = 0;
    while (!args_[first].is(ValueKind::Tensor) || &args_[first].as_tensor() != first_) ++first;
    return mismatch(ErrorKind::TypeMismatch, i,
                    fmt::format("it is on {}, but argument {} is on {}", to_string(args_[i].as_tensor().device()),
                                first, to_string(first_->device())));
  }
  RLDB_COLD bool wrong_dtype(std::size_t i) {
    return mismatch(ErrorKind::TypeMismatch, i,
                    fmt::format("dtype is `{}`, expected `{}`", to_string(args_[i].as_tensor().dtype()),
                                to_string(signature_.params[i].dtype)));
  }
  RLDB_COLD bool too_large(std::size_t i) {
    return mismatch(ErrorKind::TypeMismatch, i,
                    fmt::format("{} does not fit into `{}`", args_[i].as_int(), to_string(signature_.params[i].dtype)));
  }
  RLDB_COLD bool names_nothing(std::size_t i) {
    return give_up(fail(ErrorKind::TypeMismatch,
                        fmt::format("`{}`: parameter {} names no variable of the signature", signature_.name, i)));
  }
  RLDB_COLD bool wrong_value(std::size_t i, std::size_t v) {
    return mismatch(ErrorKind::ShapeMismatch, i,
                    fmt::format("value is {}, but `{}` is {} ({})", args_[i].as_int(), signature_.variables[v],
                                variables_[v], binder_of(v)));
  }
  RLDB_COLD bool wrong_rank(std::size_t i, std::size_t rank) {
    std::string dims;
    for (const DimExpr& dim : signature_.params[i].shape) {
      dims += fmt::format("{}{}", dims.empty() ? "" : ", ", dim.text);
    }
    return mismatch(ErrorKind::TypeMismatch, i,
                    fmt::format("rank is {}, expected {}, shape ({})", rank, signature_.params[i].shape.size(), dims));
  }
  std::int64_t dim_of(std::size_t i, std::size_t d) const { return args_[i].as_tensor().shape()[d]; }
  RLDB_COLD bool wrong_constant(std::size_t i, std::size_t d, std::int64_t want) {
    return mismatch(ErrorKind::ShapeMismatch, i, fmt::format("dimension {} is {}, expected {}", d, dim_of(i, d), want));
  }
  RLDB_COLD bool wrong_variable(std::size_t i, std::size_t d, std::size_t v) {
    return mismatch(ErrorKind::ShapeMismatch, i,
                    fmt::format("dimension {} is {}, but `{}` is {} ({})", d, dim_of(i, d), signature_.variables[v],
                                variables_[v], binder_of(v)));
  }
  RLDB_COLD bool wrong_compound(std::size_t i, std::size_t d, std::int64_t want) {
    const DimExpr& dim = signature_.params[i].shape[d];
    std::string values;
    std::vector<bool> seen(variables_.size(), false);
    for (const DimOp& op : dim.code) {
      if (op.code != Code::Var || seen[std::size_t(op.value)]) continue;
      const auto v = static_cast<std::size_t>(op.value);
      seen[v] = true;
      values += fmt::format("{}`{}` is {} ({})", values.empty() ? " where " : ", ", signature_.variables[v],
                            variables_[v], binder_of(v));
    }
    return mismatch(ErrorKind::ShapeMismatch, i,
                    fmt::format("dimension {} is {}, expected `{}` = {}{}", d, dim_of(i, d), dim.text, want, values));
  }
  RLDB_COLD bool unbound(std::size_t v) {
    return give_up(
        fail(ErrorKind::TypeMismatch, fmt::format("`{}`: no argument binds `{}`: no parameter has it as a dimension by "
                                                  "itself",
                                                  signature_.name, signature_.variables[v])));
  }

  // "bound by argument 0 (`A`), dimension 1": the first place in binding order.
  std::string binder_of(std::size_t v) const {
    for (std::size_t i = 0; i < signature_.params.size(); ++i) {
      const KernelParam& param = signature_.params[i];
      const std::string name = param.name.empty() ? "" : fmt::format(" (`{}`)", param.name);
      if (!param.is_tensor && param.variable == int(v)) {
        return fmt::format("bound by argument {}{}", i, name);
      }
      for (std::size_t d = 0; param.is_tensor && !param.opaque && d < param.shape.size(); ++d) {
        if (param.shape[d].bare_variable() == int(v)) {
          return fmt::format("bound by argument {}{}, dimension {}", i, name, d);
        }
      }
    }
    return "bound by nothing";
  }

  const KernelSignature& signature_;
  PackedArgs args_;
  std::vector<std::int64_t>& variables_;
  std::optional<Error> error_;
  std::uint64_t bound_ = 0;
  const Tensor* first_ = nullptr;  // the first argument that is a tensor
  std::vector<bool> many_bound_;   // instead of bound_ when there are more than 64 variables
};

#undef RLDB_COLD

}  // namespace

std::size_t operand_count(DimOp::Code code) {
  static constexpr std::size_t kCounts[] = {
#define RLDB_DIM_OP(Code, operands) operands,
#include "rldb/runtime/dim_op.def"
  };
  return kCounts[std::size_t(code)];
}

Result<std::int64_t> evaluate(const DimExpr& e, std::span<const std::int64_t> variables) {
  Stack stack;
  for (const DimOp& op : e.code) {
    const std::size_t operands = operand_count(op.code);
    if (stack.size() < operands) return bad_expr(e, "an operator without operands");
    if (operands == 0) {
      if (op.code == Code::Const) {
        stack.push(op.value);
        continue;
      }
      if (op.value < 0 || std::size_t(op.value) >= variables.size()) {
        return bad_expr(e, "it names no variable of the signature");
      }
      stack.push(variables[std::size_t(op.value)]);
    } else if (operands == 1) {
      stack.push(stack.pop() == 0);
    } else if (operands == 3) {
      const std::int64_t otherwise = stack.pop();
      const std::int64_t then = stack.pop();
      stack.push(stack.pop() != 0 ? then : otherwise);
    } else {
      const std::int64_t b = stack.pop();
      const std::int64_t a = stack.pop();
      std::int64_t result = 0;
      switch (apply(op.code, a, b, result)) {
        case Trouble::None:
          break;
        case Trouble::DivisionByZero:
          return bad_expr(e, fmt::format("{} is divided by zero", a));
        case Trouble::Overflow:
          return bad_expr(e, "the result does not fit into 64 bits");
      }
      stack.push(result);
    }
  }
  if (stack.size() != 1) return bad_expr(e, "it is not one expression");
  return stack.pop();
}

Result<support::Unit> bind_arguments(const KernelSignature& signature, PackedArgs args,
                                     std::vector<std::int64_t>& variables) {
  return Binder(signature, args, variables).run();
}

Value result_of(const KernelSignature& signature, const KernelFault& done) {
  const std::int64_t word = done.values[0];
  if (signature.result.is_float()) return Value::of_float(std::bit_cast<double>(word));
  if (signature.result.is_bool()) return Value::of_bool(word != 0);
  return signature.result.is_integral() ? Value::of_int(word) : Value();
}

Result<Value> call_kernel(Kernel& kernel, PackedArgs args) {
  // One allocation per thread instead of one per call; taken out while in use, so a kernel that calls
  // back (T.call_packed) finds an empty one and not ours.
  thread_local std::vector<std::int64_t> spare;
  std::vector<std::int64_t> variables = std::exchange(spare, {});
  auto bound = bind_arguments(kernel.signature(), args, variables);
  Result<Value> result = Value();
  if (bound.ok())
    result = kernel.run(args, variables);
  else
    result = support::Failure(std::move(bound).error());
  spare = std::move(variables);
  return result;
}

void KernelTable::set(std::string name, std::shared_ptr<Kernel> kernel) {
  kernels_[std::move(name)] = std::move(kernel);
}

Kernel* KernelTable::find(std::string_view name) const {
  const auto it = kernels_.find(name);
  return it == kernels_.end() ? nullptr : it->second.get();
}

std::vector<std::string_view> KernelTable::names() const {
  std::vector<std::string_view> names;
  for (const auto& [name, kernel] : kernels_) names.push_back(name);
  return names;
}

}  // namespace rldb::runtime
