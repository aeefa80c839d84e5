// Code generators: how RunCodegen compiles functions with the attribute Codegen (RFC 0089 section 5).
//
// A generator is called once for each function and returns an external module: data that the module of the program
// carries, that is saved with an executable, and that whoever runs the program turns into a packed function
// (session/external.h). docs/plugins.md shows one. Users: RunCodegen, and programs that build on rldb.
#pragma once

#include "rldb/passes/pass.h"

namespace rldb::passes {

namespace codegen_name {
#define RLDB_CODEGEN(id, name, function, doc) inline constexpr std::string_view id = name;
#include "rldb/passes/codegen.def"
}  // namespace codegen_name

struct CodegenInput {
  PassEnv& env;
  std::string_view codegen;  // the generator's name
  // The packed function that the program calls from now on: the arguments, then the tensors for the results.
  std::string_view symbol;
  // Composite functions are local functions of its body. It has no constants: they became its last parameters.
  const ir::Function* function;
  const PassOptions& options;  // of RunCodegen's target_options, for this generator
};

// A dict; its key "kind" is the generator's name (external_module.h).
using CodegenFn = ir::Result<const ir::Attr*> (*)(const CodegenInput& input);

struct CodegenInfo {
  std::string_view name;  // "cutlass" of a composite function "cutlass.conv2d"
  CodegenFn run;
  std::string_view doc;
};
const std::vector<CodegenInfo>& all_codegens();
const CodegenInfo* find_codegen(std::string_view name);
// The texts are not copied, so they must live as long as the program. A name that is taken fails a CHECK. Not
// thread-safe.
const CodegenInfo& register_codegen(CodegenInfo codegen);

}  // namespace rldb::passes
