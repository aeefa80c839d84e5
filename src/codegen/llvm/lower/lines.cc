// Debug information of a kernel: its function, and those of loops that are shared out, whose statements have the lines
// of the TensorIR's text.
#include "codegen/llvm/lower/lines.h"

#include <llvm/BinaryFormat/Dwarf.h>

namespace rldb::codegen {

void Lowering::begin_lines(const ir::PrimFunc* f, const std::string& name) {
  if (!options_.lines) return;
  const SourceLines& text = *options_.lines;
  module_->addModuleFlag(llvm::Module::Warning, "Debug Info Version", llvm::DEBUG_METADATA_VERSION);
  module_->addModuleFlag(llvm::Module::Warning, "Dwarf Version", 4);
  debug_ = std::make_unique<llvm::DIBuilder>(*module_);
  llvm::DIFile* file = debug_->createFile(text.file, text.folder);
  // Debuggers know the language's values, of which there are none here.
  debug_->createCompileUnit(llvm::dwarf::DW_LANG_C, file, "rldb", true, "", 0);
  lines_of_function(body_, f, name);
}

void Lowering::lines_of_function(llvm::Function* function, const ir::Node* node, llvm::StringRef name) {
  if (!debug_) return;
  llvm::DIFile* file = debug_->createFile(options_.lines->file, options_.lines->folder);
  const auto it = options_.lines->lines.find(node);
  const unsigned line = it == options_.lines->lines.end() ? 1 : unsigned(it->second);
  subprogram_ =
      debug_->createFunction(file, name, "", file, line, debug_->createSubroutineType(debug_->getOrCreateTypeArray({})),
                             line, llvm::DINode::FlagPrototyped, llvm::DISubprogram::SPFlagDefinition);
  function->setSubprogram(subprogram_);
  b_.SetCurrentDebugLocation(llvm::DILocation::get(c_, line, 0, subprogram_));
}

void Lowering::end_lines() {
  if (debug_) debug_->finalize();
}

}  // namespace rldb::codegen
