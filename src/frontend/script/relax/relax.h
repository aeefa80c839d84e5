// Relax functions: headers, statements, calls.
#pragma once

#include "frontend/script/value/calls.h"

namespace rldb::frontend::script {

// The options of a function's decorator.
struct FunctionOptions {
  bool is_private = false;
  bool pure = true;
  bool pure_given = false;
  bool check_well_formed = true;
  std::optional<bool> s_tir;
};
FunctionOptions read_function_options(Reader& r, Node function);
// Reports each option of a decorator that TVM's does not take: Python refuses the call.
void refuse_unknown_options(Reader& r, Node decorated);
// Where a key of func_attr({...}) is written; the function's name if it is not in the text literally.
Node attribute_key(Node function, std::string_view key);

// A signature that has been read, with the state its body continues in.
struct Signature {
  std::unique_ptr<FunctionState> state = std::make_unique<FunctionState>();
  FunctionOptions options;
  std::vector<const ir::Var*> params;
  const ir::Type* ret = nullptr;  // null: not annotated
  bool may_refine = false;        // no caller has seen `ret` yet: a more precise type of the body replaces it
};
// relax/function.cc
void read_signature(Reader& r, Node function, FunctionState* outer, Signature& out);
// The body, typed; null when it has no result. `self` is a local function's own variable.
const ir::Function* read_body(Reader& r, Node function, Signature& signature, bool is_global);
// A nested @R.function.
Val read_local_function(Reader& r, Node function, bool dataflow_var);

// relax/body_reader.h: statements into r.fn->body. Returns the value of `return`, or null.
struct BlockResult {
  const ir::Expr* value = nullptr;
  bool returned = false;
};
BlockResult read_relax_statements(Reader& r, Node block);
// One statement of an entry at the prompt.
void read_prompt_statement(Reader& r, Node statement);

// relax/emit.cc: making calls and bindings.
Val emit_call(Reader& r, ir::Result<ir::CallSpec> spec, Node at);
Val emit_call(Reader& r, ir::Result<const ir::Call*> call, Node at);
// The type of a R.to_vdevice(...) call with the module's own device in it; null for any other call.
const ir::Type* device_copy_type(Reader& r, const ir::Expr* e, Node at);
const ir::Expr* emit_temporary(Reader& r, const ir::Expr* value, Node at);
Val call_function(Reader& r, const ir::Expr* callee, const CallNode& call);
// x.astype("float16"), x.permute_dims(...): methods of values and buffers.
Val call_method(Reader& r, const Val& method, const CallNode& call);
// T.int64() and the like: a symbolic variable's declaration. Its dtype, or nullopt.
std::optional<ir::DType> symbol_declaration(Reader& r, Node value);
// The variable that `name = T.int64()` names, now in scope.
const ir::Var* define_symbol(Reader& r, Node name, ir::DType dtype);

}  // namespace rldb::frontend::script
