// The LLVM module of a program's functions. Internal to the room.
#pragma once

#include <llvm/IR/DIBuilder.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <map>
#include <memory>

#include "codegen/llvm/aot/facts.h"
#include "rldb/codegen/llvm/aot.h"

namespace rldb::codegen {

// Shared by the functions of one library.
class ProgramModule {
 public:
  ProgramModule(llvm::LLVMContext& context, const AotProgram& program);
  // Throws Refused.
  std::unique_ptr<llvm::Module> run();

  using Value = llvm::Value;
  llvm::Function* runtime(std::string_view symbol, llvm::Type* result, std::vector<llvm::Type*> params);
  llvm::Function* call_like(std::string_view symbol);  // (library, args, count, result)
  llvm::DIFile* file(std::string_view path);

  const AotProgram& program;
  const bytecode::Executable& exe;
  llvm::LLVMContext& c;
  std::unique_ptr<llvm::Module> module;
  llvm::IRBuilder<> b;
  llvm::DIBuilder debug;
  llvm::StructType* any;  // TVMFFIAny
  llvm::Type *ptr, *i32, *i64;
  llvm::GlobalVariable* library = nullptr;
  llvm::GlobalVariable* watched = nullptr;  // struct Watched of the runtime; its first word is the gate
  std::vector<llvm::Function*> functions;   // by index of the function table; null: not bytecode

 private:
  std::string symbol(std::string_view name) const { return program.name + "_" + std::string(name); }
  llvm::GlobalVariable* bytes(std::string_view name, const std::string& data);
  void make_library(const Facts& facts);
  void declare_functions();
  void export_functions();
  void export_interface();
  std::map<std::string, llvm::DIFile*, std::less<>> files_;
};

// The code of one function.
void write_function(ProgramModule& module, bytecode::FunctionIndex index);

}  // namespace rldb::codegen
