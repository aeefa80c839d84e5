// Verifier: the well-formedness rules of the IR (TVM: WellFormed in src/relax/analysis), by number:
//   1 every expression has a type                     10 arguments, fields, conditions are leaves (ANF)
//   2 global variables exist, names are unique        11 no if in dataflow blocks
//   3 public name equals global_symbol                12 no impure call in dataflow blocks or pure functions
//   4 a variable is parameter of one function only    13 force_pure requires is_pure
//   5 variables are defined before use (types too)    14 no inline PrimFunc
//   6 each is defined once                            15 shape values are int64
//   7 dataflow variables stay in their block          16 no declared type contradicts the value's
//   8 variables of a branch are invisible outside     17 operator normal forms and validators hold
//   9 sequences only as function and branch bodies    18 a symbolic variable belongs to one function
//  19 (TensorIR) no undefined variable or buffer      20 (TensorIR) no nested redefinition
//  21 (TensorIR) block values and domains are sane    22 (TensorIR) loads and stores have as many indices as dims
// Collects everything; messages start with `[rule N]` and carry the spans of the nodes. Tests cite the numbers.
#pragma once

#include <functional>
#include <vector>

#include "rldb/ir/context.h"

namespace rldb::ir {

// Calls that break rule 12.
struct ImpureCalls {
  std::size_t count = 0;
  source::Span first;
};

struct VerifyOptions {
  bool check_types = true;  // rule 16 re-infers calls
  // For a text with errors: functions may be missing (their errors are not reported at their callers), and those
  // that `skip` selects are not checked.
  bool incomplete = false;
  std::function<bool(const Expr* function)> skip;
  // Of such a text: functions whose parameters are not all known, and functions that use values without a definition.
  std::function<bool(const Expr*function)> lacks_parameters, lacks_definitions;
  // By node id: bindings that passed before, with the same values under the same variables around them. They
  // are assumed to pass still, and those that pass now are added. Null: nothing is known.
  std::vector<bool>* good_bindings = nullptr;
  // Told of each symbolic variable that a function defines, but for those in types of bindings that passed before.
  // Rule 18 is about two functions: `verify_function` alone does not find it.
  std::function<void(std::string_view function, const Var* symbol)> defines_symbol;
  // Not null: breaches of rule 12 are counted here and not reported (lowering makes impure calls on purpose).
  ImpureCalls* impure_calls = nullptr;
};

// Returns true when nothing was added.
bool verify(Context& ctx, const Module* m, source::Diagnostics& out, const VerifyOptions& options = {});
bool verify_function(Context& ctx, const Module* m, std::string_view name, source::Diagnostics& out,
                     const VerifyOptions& options = {});

// Whether rule 12 holds for a function: a pure Relax function whose purity is not forced.
bool demands_purity(const Expr* function);

}  // namespace rldb::ir
