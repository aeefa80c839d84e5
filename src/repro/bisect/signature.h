// Passing arguments of one program to another version of it: parameters packed into tuples, unpacked, reordered, or
// computed beforehand (a lifted transformation of the parameters). Room-private.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "rldb/session/session.h"

namespace rldb::repro {

// A function with the values on which it is run.
struct Arguments {
  const ir::Module* module = nullptr;  // of the function
  const ir::Function* function = nullptr;
  std::vector<runtime::Value> values;
};

// The values for `to`, as it is called in `module`; nullopt with the reason in `why` if they cannot be determined.
std::optional<std::vector<runtime::Value>> adapt_arguments(session::Session& session, const Arguments& from,
                                                           const ir::Module* module, std::string_view name,
                                                           const ir::Function* to, std::string& why);

// The same where the values cannot be determined: then they are passed as they are, and the run says what is wrong.
std::vector<runtime::Value> arguments_for(session::Session& session, const Arguments& from, const ir::Module* module,
                                          std::string_view name);

// The module has a function that computes the values this one takes in place of its parameters (LiftTransformParams).
bool lifts_parameters(const ir::Module* module, std::string_view name);

// The part of a kernel that its callers rely on, as text: the types of its parameters and of its result, not purity: a
// kernel that stores nothing any more is called as before.
std::string call_signature(const ir::Expr* f);

// Takes as many tensors, however they are bundled.
bool takes_as_many_values(const ir::Function* a, const ir::Function* b);

// For a function that takes the tensors to which its results are written, after the others: adds room for each of them.
// nullopt: `to` is not such a function.
std::optional<std::vector<runtime::Value>> with_outputs(const std::vector<runtime::Value>& args,
                                                        const runtime::Value& result, const ir::Function* to);

}  // namespace rldb::repro
