// Kernels: compiled or interpreted PrimFuncs, as the machine calls them (destination-passing style, RFC 0089 4.2.1).
//
// KernelSignature is what a call must satisfy: it is made once from a PrimFunc (codegen or eval), and `bind_arguments`
// checks a call against it and computes the values of the symbolic variables. The code itself is reached through
// KernelCode, which gets bare pointers and variable values and can no longer fail on shapes.
// KernelTable is filled by the session (JIT, eval, or object code of an executable); the machine only calls.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rldb/runtime/value.h"

namespace rldb::runtime {

// An integer expression over symbolic variables, in postfix: dims such as `n * 2`.
struct DimOp {
  enum class Code : std::uint8_t {
#define RLDB_DIM_OP(Code, operands) Code,
#include "rldb/runtime/dim_op.def"
  };
  Code code;
  std::int64_t value = 0;  // Const: the constant; Var: index into KernelSignature::variables
};
std::size_t operand_count(DimOp::Code code);
struct DimExpr {
  std::vector<DimOp> code;
  std::string text;  // as written, for messages
  // The variable's index when the expression is a bare variable, else -1.
  int bare_variable() const { return code.size() == 1 && code[0].code == DimOp::Code::Var ? int(code[0].value) : -1; }
};
// Division by zero is an error (OutOfBounds kind is never used here; TypeMismatch with text).
Result<std::int64_t> evaluate(const DimExpr& e, std::span<const std::int64_t> variables);

struct KernelParam {
  std::string name;
  bool is_tensor = true;
  DType dtype;                 // element type of the tensor, or the scalar's type
  std::vector<DimExpr> shape;  // tensors only
  int variable = -1;           // scalars: the variable they define (integers), else -1
  bool opaque = false;         // a bare T.handle: passed through unchecked (its data pointer)
  // A tensor that is written, but perhaps not at each element: where memory is reused, it has to be cleared first.
  bool may_leave_unwritten = false;
};

struct KernelSignature {
  std::string name;
  std::vector<KernelParam> params;
  std::vector<std::string> variables;  // symbolic integer variables, by index
  std::vector<DType> variable_dtypes;  // same length
  DType result = DType::Void();        // of the scalar that the kernel returns (T.ret); void: none
};

// One word per parameter in order: tensors pass their data pointer, integer and bool scalars their value (sign- or
// zero-extended), floats the bits of a double. Then `variables` of the signature, by index.
union KernelWord {
  void* pointer;
  std::int64_t integer;
  double floating;
};

// The report of a checked kernel that stops: filled by the code, turned into an Error by the caller. A kernel that
// returns a scalar and ends well leaves its word in values[0]: an integer, or the bits of a double.
struct KernelFault {
  std::int64_t code = 0;        // 0: none; index + 1 into KernelCode::fault_texts otherwise
  std::int64_t values[8] = {};  // indices and loop variables, for the `{}` places of the text
  std::int64_t noted = 0;       // nonzero: it wrote one of the numbers that it was to look for
};
// The value behind that word, null when the signature has no result.
Value result_of(const KernelSignature& signature, const KernelFault& done);

// The bare entry. Returns nonzero when `fault` was filled.
using KernelEntry = std::int32_t (*)(const KernelWord* params, const std::int64_t* variables, KernelFault* fault);

// Numbers that catchpoints look for in the outputs of kernels.
enum class NumericEvent : std::uint8_t { NaN, Inf, Denormal };
using NumericEvents = std::uint8_t;  // a set of them
constexpr NumericEvents bit(NumericEvent e) { return NumericEvents(1u << unsigned(e)); }
// The least normal number of a floating-point format; anything closer to zero is denormal.
double smallest_normal(DType t);

class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual const KernelSignature& signature() const = 0;
  // Does now what the first run would otherwise do (compiling); a run reports errors from here.
  virtual void prepare() {}
  // Runs with arguments that bind_arguments has accepted. Returns the kernel's scalar result, null if it has none.
  virtual Result<Value> run(PackedArgs args, std::span<const std::int64_t> variables) = 0;
  // From now on, runs look for these numbers among those that they write, if the kernel can do so at (nearly) no cost.
  virtual void look_for(NumericEvents) {}
  // False: the last run wrote none of them. True: perhaps it did. nullopt: the kernel did not look.
  virtual std::optional<bool> may_have_written() const { return std::nullopt; }
};

// Checks count, kinds, ranks, dtypes, dims; fills `variables` (resized to the signature). The Error names the
// argument, the dimension, the symbol, its value and what bound it.
Result<support::Unit> bind_arguments(const KernelSignature& signature, PackedArgs args,
                                     std::vector<std::int64_t>& variables);
// bind_arguments + run. Called by the machine.
Result<Value> call_kernel(Kernel& kernel, PackedArgs args);

class KernelTable {
 public:
  void set(std::string name, std::shared_ptr<Kernel> kernel);
  Kernel* find(std::string_view name) const;
  void clear() { kernels_.clear(); }
  std::vector<std::string_view> names() const;

 private:
  std::map<std::string, std::shared_ptr<Kernel>, std::less<>> kernels_;
};

}  // namespace rldb::runtime
