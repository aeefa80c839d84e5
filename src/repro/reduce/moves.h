// Smaller programs made of one. Each move gives a module that may be ill-formed: whoever tries it verifies it first.
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
  std::string move;                         // what it does, for the progress line
  std::function<const ir::Module*()> make;  // null: it does not apply
};

// One variable in place of another, in types too.
class Unify : public ir::Rewriter {
 public:
  Unify(ir::Context& ctx, const ir::Var* from, const ir::Var* to) : Rewriter(ctx) { remap(from, to); }
};

// All of them work on the Relax function `name`, and drop what nobody needs then.
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
// Of the longest branch or local function.
std::size_t count_inner_bindings(const ir::Module* module, const std::string& name);
// One of several results is left, or one is a value that it is computed from.
std::vector<Candidate> simpler_values(ir::Context& ctx, const ir::Module* module, const std::string& name);
// Private functions inlined, parameters that nobody reads dropped.
std::vector<Candidate> simpler_signatures(ir::Context& ctx, const ir::Module* module, const std::string& name);
// One branch of an `if`.
std::vector<Candidate> decided_branches(ir::Context& ctx, const ir::Module* module, const std::string& name);
// One parameter in place of another of its type.
std::vector<Candidate> fewer_parameters(ir::Context& ctx, const ir::Module* module, const std::string& name);
// Attributes of functions and kernels.
std::vector<Candidate> fewer_attributes(ir::Context& ctx, const ir::Module* module);
// Statements, loops and expressions of kernels. What they are to write is written still.
std::vector<Candidate> simpler_kernels(ir::Context& ctx, const ir::Module* module);
// Without one of the functions.
std::vector<Candidate> fewer_functions(ir::Context& ctx, const ir::Module* module);
// One symbolic dim of the signature in place of another.
std::vector<Candidate> fewer_symbols(ir::Context& ctx, const ir::Module* module, const std::string& name);
// A parameter in place of a constant that is a tensor of elements.
std::vector<Candidate> fewer_constants(ir::Context& ctx, const ir::Module* module, const std::string& name);
// Attributes of calls that are not their defaults.
std::vector<Candidate> usual_options(ir::Context& ctx, const ir::Module* module, const std::string& name);
std::size_t count_unusual_options(ir::Context& ctx, const ir::Function* f);
std::size_t count_symbols(const ir::Function* f);
// A call of an operator reads one of its operands in place of another of the same type.
std::vector<Candidate> same_operands(ir::Context& ctx, const ir::Module* module, const std::string& name);
// No dataflow blocks.
std::vector<Candidate> plain_blocks(ir::Context& ctx, const ir::Module* module);
// Dims that are numbers, one number everywhere at a time, made small.
std::vector<std::int64_t> static_dims(const ir::Module* module);

// Without the bindings of these variables, what they are mapped to in their place; the parameters are added.
const ir::Module* replace(ir::Context& ctx, const ir::Module* module, const std::string& name, const ir::VarMap& by,
                          const std::vector<const ir::Var*>& new_params);
// It is a tensor, or a tuple of such.
bool holds_values(const ir::Type* t);
// The function, its result of the type that its body has now.
const ir::Function* returning_its_body(ir::Context& ctx, const ir::Function* f);
// The module with another function of that name.
const ir::Module* with_function(ir::Context& ctx, const ir::Module* module, const std::string& name,
                                const ir::Function* f);
// Null: it fails.
const ir::Module* run_pass(ir::Context& ctx, const ir::Module* module, passes::PassId id);
// Bindings at the top of the function's body.
std::size_t count_bindings(const ir::Module* module, const std::string& name);
// Without the functions that `name` does not need, bindings that nobody reads, and its parameters that nobody reads.
const ir::Module* tidy(ir::Context& ctx, const ir::Module* module, const std::string& name);

}  // namespace rldb::repro
