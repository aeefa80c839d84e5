// Helpers of the passes besides rldb/passes/helpers.h and rldb/tir_passes/helpers.h: attributes, results of functions,
// small builders over bodies.
//
// Nodes get the type that the lowering knows (Context::call_typed), so a pass needs no operator row to succeed.
// `origin` arguments record provenance: the new node came from that one. For use inside src/passes only.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "rldb/passes/helpers.h"
#include "rldb/support/bracketed.h"
#include "rldb/tir_passes/helpers.h"

namespace rldb::passes {

// ---- texts of options ----
using support::KeyValue;
using support::split_dict;
using support::split_items;
using support::unquote;

// ---- modules and functions ----
const ir::Function* with_attr(ir::Context& ctx, const ir::Function* f, std::string_view name, const ir::Attr* value);
// The declared result type is replaced by the body's when the body's is more precise in terms of the signature, as TVM
// does whenever it makes a function.
const ir::Function* refine_result(ir::Context& ctx, const ir::Function* f);
// The declared result type becomes the body's wherever the signature can express it, unless the body's is merely less
// precise; this includes where the two contradict each other.
const ir::Function* derive_result(ir::Context& ctx, const ir::Function* f);
// The type without the variables that are neither among these parameters nor dims in their types.
const ir::Type* erase_unbound(ir::Context& ctx, const ir::Type* t, const std::vector<const ir::Var*>& params);
// A sequence in normal form: empty blocks dropped, neighbours of one kind merged.
const ir::SeqExpr* make_seq(ir::Context& ctx, const std::vector<const ir::BindingBlock*>& blocks, const ir::Expr* body,
                            const ir::Node* origin);

// CanonicalizeBindings of one function: other passes start from it (canonicalize_bindings.cc).
const ir::Function* canonicalize(ir::Context& ctx, const ir::Function* f);
// The function with its dataflow blocks and variables made plain (to_non_dataflow.cc).
const ir::Function* without_dataflow(ir::Context& ctx, const ir::Function* f);
// EliminateCommonSubexpr of one function (eliminate_common_subexpr.cc).
const ir::Function* merge_equal_bindings(ir::Context& ctx, const ir::Function* f);
// Drops unused bindings that have no effect (dead_code_elimination.cc).
const ir::Function* remove_dead_bindings(ir::Context& ctx, const ir::Function* f);
// BundleModelParams of one function: its parameters from `inputs` on (params/bundle_model_params.cc).
const ir::Function* bundle_params(ir::Context& ctx, const ir::Function* f, std::size_t inputs, std::string_view name);
inline constexpr std::string_view kModelParams = "model_params";  // the name of the tuple
// The number of parameters known only when the function is called: `num_input`; all of them where it is absent.
std::size_t input_count(const ir::Function* f);

// A function type, or a tuple that holds one.
bool mentions_function(const ir::Type* t);

// ---- expressions ----
const ir::Call* op_call(ir::Context& ctx, std::string_view op, std::initializer_list<const ir::Expr*> args,
                        const ir::Type* type, std::initializer_list<const ir::Type*> ty_args = {});
// A call of a packed function by name.
const ir::Call* packed_call(ir::Context& ctx, std::string_view symbol, std::span<const ir::Expr* const> args,
                            const ir::Type* type, std::initializer_list<const ir::Type*> ty_args);
const ir::Call* packed_call(ir::Context& ctx, std::string_view symbol, std::initializer_list<const ir::Expr*> args,
                            const ir::Type* type, std::initializer_list<const ir::Type*> ty_args);
// The variable whose register a call sets to null; null when `value` is not such a call.
const ir::Var* killed_by(const ir::Expr* value);
// The variables that a function kills itself. An alias of one does not count: it outlives the kill.
std::unordered_set<const ir::Var*> killed_variables(const ir::Function* f);
// The values of a shape argument: of an R.shape(...), or from the type of a variable; nullopt when not known.
std::optional<ir::Span<const ir::Expr*>> shape_values(const ir::Expr* shape);
bool all_int_literals(ir::Span<const ir::Expr*> values);
// DLPack's device number by kind of target.
std::int64_t device_type_of(std::string_view target_kind);
// Symbolic variables bound by a value of this type: dims and scalars that are a plain variable.
void bound_symbols(const ir::Type* t, std::unordered_set<const ir::Var*>& out);

}  // namespace rldb::passes
