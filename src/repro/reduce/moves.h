// Smaller programs derived from one. Each move gives a module that may be ill-formed: the caller verifies it first.
// Room-private.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "rldb/ir/context.h"
#include "rldb/ir/walk.h"
#include "rldb/passes/pass.h"

namespace rldb::repro {

struct Candidate {
  std::string move;                         // its effect, for the progress line
  std::function<const ir::Module*()> make;  // null: it does not apply
};

// One variable in place of another, in types too.
class Unify : public ir::Rewriter {
 public:
  Unify(ir::Context& ctx, const ir::Var* from, const ir::Var* to) : Rewriter(ctx) { remap(from, to); }
};

// All of them work on the Relax function `name`, and drop anything that becomes unused.
// The body ends at an earlier value, the first half first.
std::vector<Candidate> cuts(ir::Context& ctx, const ir::Module* module, const std::string& name);
// Runs of `size` bindings are replaced by parameters.
std::vector<Candidate> bindings_to_parameters(ir::Context& ctx, const ir::Module* module, const std::string& name,
                                              std::size_t size);
// One binding is replaced by an operand of its type.
std::vector<Candidate> bindings_to_operands(ir::Context& ctx, const ir::Module* module, const std::string& name);
// Runs of `size` bindings of branches and local functions are replaced by what they read, or single ones by a
// parameter.
std::vector<Candidate> inner_bindings(ir::Context& ctx, const ir::Module* module, const std::string& name,
                                      std::size_t size);
// In the longest branch or local function.
std::size_t count_inner_bindings(const ir::Module* module, const std::string& name);
// An unread value becomes the result, or a parameter or nothing does.
std::vector<Candidate> other_results(ir::Context& ctx, const ir::Module* module, const std::string& name);
// Drops runs of `size` bindings that nobody reads, impure ones too.
std::vector<Candidate> fewer_unread(ir::Context& ctx, const ir::Module* module, const std::string& name,
                                    std::size_t size);
// Calls of functions of the module are replaced by values of their types.
std::vector<Candidate> fewer_calls(ir::Context& ctx, const ir::Module* module, const std::string& name);
// Keeps one of several results, or replaces one by an operand.
std::vector<Candidate> simpler_values(ir::Context& ctx, const ir::Module* module, const std::string& name);
// Private functions inlined, unread parameters dropped.
std::vector<Candidate> simpler_signatures(ir::Context& ctx, const ir::Module* module, const std::string& name);
// One branch of an `if`.
std::vector<Candidate> decided_branches(ir::Context& ctx, const ir::Module* module, const std::string& name);
// One parameter in place of another of its type.
std::vector<Candidate> fewer_parameters(ir::Context& ctx, const ir::Module* module, const std::string& name);
// Attributes of functions and kernels.
std::vector<Candidate> fewer_attributes(ir::Context& ctx, const ir::Module* module);
// Statements, loops and expressions of kernels. Their outputs are still written.
std::vector<Candidate> simpler_kernels(ir::Context& ctx, const ir::Module* module);
// Drops one of the functions.
std::vector<Candidate> fewer_functions(ir::Context& ctx, const ir::Module* module);
// One symbolic dim of the signature in place of another.
std::vector<Candidate> fewer_symbols(ir::Context& ctx, const ir::Module* module, const std::string& name);
// A parameter in place of a constant tensor.
std::vector<Candidate> fewer_constants(ir::Context& ctx, const ir::Module* module, const std::string& name);
// Attributes of calls that differ from their defaults.
std::vector<Candidate> usual_options(ir::Context& ctx, const ir::Module* module, const std::string& name);
std::size_t count_unusual_options(ir::Context& ctx, const ir::Function* f);
std::size_t count_symbols(const ir::Function* f);
// A call of an operator reads one of its operands, or an earlier variable, in place of another of the same type.
std::vector<Candidate> same_operands(ir::Context& ctx, const ir::Module* module, const std::string& name);
// No dataflow blocks.
std::vector<Candidate> plain_blocks(ir::Context& ctx, const ir::Module* module);
// Constant dims, one number at a time, made small everywhere.
std::vector<std::int64_t> static_dims(const ir::Module* module);

// Without the bindings of these variables, which are replaced as mapped; the parameters are added.
const ir::Module* replace(ir::Context& ctx, const ir::Module* module, const std::string& name, const ir::VarMap& by,
                          const std::vector<const ir::Var*>& new_params);
// It is a tensor, or a tuple of tensors.
bool holds_values(const ir::Type* t);
// The function with the type of its current body as its result type.
const ir::Function* returning_its_body(ir::Context& ctx, const ir::Function* f);
// The module with another function of that name.
const ir::Module* with_function(ir::Context& ctx, const ir::Module* module, const std::string& name,
                                const ir::Function* f);
// Null: it fails.
const ir::Module* run_pass(ir::Context& ctx, const ir::Module* module, passes::PassId id);
// Bindings at the top of the function's body.
std::size_t count_bindings(const ir::Module* module, const std::string& name);
// Without the functions, bindings and parameters of `name` that were read before the move and are not any more. The
// rest stays, as the symptom may depend on it.
const ir::Module* tidy(ir::Context& ctx, const ir::Module* before, const ir::Module* module, const std::string& name);
// Without all that are not read.
const ir::Module* without_all_unread(ir::Context& ctx, const ir::Module* module, const std::string& name);
// Drops unread parameters, unless they are the only source of a required symbolic dim. `before`: those that it does not
// read either are kept; null: none are.
const ir::Function* without_unread_parameters(ir::Context& ctx, const ir::Function* before, const ir::Function* f);
// In order, those of branches included.
std::vector<const ir::Binding*> unread_bindings(const ir::Function* f);
// A function of the module calls it, perhaps itself.
bool is_called(const ir::Module* module, const std::string& name);

}  // namespace rldb::repro
