// The library around its functions: tables, exported symbols, object code.
#include "codegen/llvm/aot/program.h"

#include <fmt/format.h>
#include <llvm/BinaryFormat/Dwarf.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>

#include <filesystem>

#include "codegen/llvm/engine/emitted.h"
#include "codegen/llvm/engine/machine.h"
#include "codegen/llvm/lower/lowering.h"
#include "rldb/bytecode/library_program.h"
#include "rldb/support/hash.h"
#include "rldb/support/memory.h"

namespace rldb::codegen {

namespace {

constexpr std::uint64_t kMostConstants = std::uint64_t(1) << 30;  // bytes; code reaches 2 GiB from where it is

}  // namespace

ProgramModule::ProgramModule(llvm::LLVMContext& context, const AotProgram& p)
    : program(p),
      exe(*p.executable),
      c(context),
      module(std::make_unique<llvm::Module>(p.name, context)),
      b(context),
      debug(*module),
      ptr(b.getPtrTy()),
      i32(b.getInt32Ty()),
      i64(b.getInt64Ty()) {
  any = llvm::StructType::create({i32, i32, i64}, "any");
  watched =
      new llvm::GlobalVariable(*module, i64, false, llvm::GlobalValue::ExternalLinkage, nullptr, "rldb_aot_watched");
  watched->setVisibility(llvm::GlobalValue::HiddenVisibility);
  module->addModuleFlag(llvm::Module::Warning, "Debug Info Version", llvm::DEBUG_METADATA_VERSION);
  module->addModuleFlag(llvm::Module::Warning, "Dwarf Version", 4);
}

llvm::DIFile* ProgramModule::file(std::string_view path) {
  const auto it = files_.find(path);
  if (it != files_.end()) return it->second;
  const std::filesystem::path whole = std::filesystem::absolute(std::string(path));
  llvm::DIFile* made = debug.createFile(whole.filename().string(), whole.parent_path().string());
  files_.emplace(std::string(path), made);
  return made;
}

llvm::Function* ProgramModule::runtime(std::string_view name, llvm::Type* result, std::vector<llvm::Type*> params) {
  auto callee = module->getOrInsertFunction(llvm::StringRef(name), llvm::FunctionType::get(result, params, false));
  auto* f = llvm::cast<llvm::Function>(callee.getCallee());
  f->setVisibility(llvm::GlobalValue::HiddenVisibility);
  f->setDoesNotThrow();
  return f;
}

llvm::Function* ProgramModule::call_like(std::string_view name) { return runtime(name, i32, {ptr, ptr, i32, ptr}); }

llvm::GlobalVariable* ProgramModule::bytes(std::string_view name, const std::string& data) {
  llvm::Constant* contents = llvm::ConstantDataArray::getRaw(llvm::StringRef(data), data.size(), b.getInt8Ty());
  auto* made = new llvm::GlobalVariable(*module, contents->getType(), true, llvm::GlobalValue::InternalLinkage,
                                        contents, symbol(name));
  made->setAlignment(llvm::Align(64));
  return made;
}

void ProgramModule::declare_functions() {
  llvm::FunctionType* type = llvm::FunctionType::get(i32, {ptr, ptr, i32, ptr}, false);
  for (std::size_t i = 0; i < exe.functions.size(); ++i) {
    llvm::Function* f = nullptr;
    if (program.targets[i].kind == AotTarget::Kind::Bytecode) {
      f = llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, exe.functions[i].name, *module);
      f->setDoesNotThrow();
    }
    functions.push_back(f);
  }
}

// struct Library of src/aot/runtime/aot.h.
void ProgramModule::make_library(const Facts& facts) {
  const auto table = [&](std::string_view name, const std::vector<llvm::Constant*>& rows) {
    llvm::ArrayType* type = llvm::ArrayType::get(ptr, rows.size());
    return new llvm::GlobalVariable(*module, type, true, llvm::GlobalValue::InternalLinkage,
                                    llvm::ConstantArray::get(type, rows), symbol(name));
  };
  std::vector<llvm::Constant*> kernels, codes;
  for (const AotKernel& k : program.kernels) kernels.push_back(runtime(k.symbol, i32, {ptr, ptr, ptr}));
  for (std::size_t i = 0; i < functions.size(); ++i) {
    llvm::Constant* code = functions[i];
    if (program.targets[i].kind == AotTarget::Kind::Builtin) code = call_like(program.targets[i].symbol);
    codes.push_back(code ? code : llvm::ConstantPointerNull::get(b.getPtrTy()));
  }
  llvm::Constant* mark = llvm::ConstantDataArray::getRaw(llvm::StringRef(bytecode::kLibraryMark),
                                                         bytecode::kLibraryMark.size(), b.getInt8Ty());
  llvm::GlobalVariable* described = bytes("program", program.description);
  described->setSection(llvm::StringRef(bytecode::kProgramSection));
  llvm::StructType* type =
      llvm::StructType::create({mark->getType(), ptr, i64, ptr, ptr, ptr, ptr, ptr, i64, i64, ptr}, "library");
  library = new llvm::GlobalVariable(
      *module, type, false, llvm::GlobalValue::InternalLinkage,
      llvm::ConstantStruct::get(
          type, {mark, bytes("facts", facts.tables), b.getInt64(facts.tables.size()),
                 bytes("constants", facts.constants), table("kernels", kernels), table("functions", codes),
                 llvm::ConstantPointerNull::get(b.getPtrTy()), described, b.getInt64(program.description.size()),
                 b.getInt64(support::fnv1a(program.description)), watched}),
      symbol("library"));
  library->setAlignment(llvm::Align(bytecode::kLibraryMark.size()));
  if (!program.standalone) return;
  new llvm::GlobalVariable(*module, ptr, true, llvm::GlobalValue::ExternalLinkage, library, "rldb_aot_standalone");
}

// Twice: under tvm-ffi's name, weak because libraries that are linked together may have functions of one name, and
// under
// `<library>.<function>`, which no function in C is called, for its header.
void ProgramModule::export_functions() {
  llvm::Function* enter = runtime("rldb_aot_enter", i32, {ptr, i64, ptr, i32, ptr});
  llvm::FunctionType* type = llvm::FunctionType::get(i32, {ptr, ptr, i32, ptr}, false);
  const auto export_as = [&](const std::string& name, llvm::GlobalValue::LinkageTypes linkage, std::size_t index) {
    auto* f = llvm::Function::Create(type, linkage, name, *module);
    b.SetInsertPoint(llvm::BasicBlock::Create(c, "entry", f));
    b.CreateRet(b.CreateCall(enter, {library, b.getInt64(index), f->getArg(1), f->getArg(2), f->getArg(3)}));
  };
  for (std::size_t i = 0; i < functions.size(); ++i) {
    if (!functions[i] || !program.targets[i].exported) continue;
    const std::string& name = exe.functions[i].name;
    export_as("__tvm_ffi_" + name, llvm::GlobalValue::WeakAnyLinkage, i);
    export_as(program.name + "." + name, llvm::GlobalValue::ExternalLinkage, i);
  }
}

// The other functions of the header: each passes its arguments on to the runtime's function.
void ProgramModule::export_interface() {
  const auto forward = [&](std::string_view name, std::string_view to, llvm::Type* result,
                           std::vector<llvm::Type*> params) {
    auto* f = llvm::Function::Create(llvm::FunctionType::get(result, params, false), llvm::GlobalValue::ExternalLinkage,
                                     symbol(name), *module);
    b.SetInsertPoint(llvm::BasicBlock::Create(c, "entry", f));
    std::vector<Value*> args;
    for (llvm::Argument& a : f->args()) args.push_back(&a);
    llvm::CallInst* call = b.CreateCall(runtime(to, result, params), args);
    if (result->isVoidTy())
      b.CreateRetVoid();
    else
      b.CreateRet(call);
  };
  const auto type = [&](char kind) -> llvm::Type* {
    return kind == 'v' ? b.getVoidTy() : kind == 'i' ? i32 : kind == 'l' ? i64 : ptr;
  };
  const auto row = [&](std::string_view name, std::string_view to, std::string_view types) {
    std::vector<llvm::Type*> params;
    for (const char kind : types.substr(1)) params.push_back(type(kind));
    forward(name, to, type(types[0]), params);
  };
#define RLDB_AOT_INTERFACE(name, symbol, types, result, parameters, comment) row(#name, symbol, types);
#include "rldb/codegen/llvm/aot_interface.def"
}

std::unique_ptr<llvm::Module> ProgramModule::run() {
  auto facts = facts_of(program);
  if (!facts.ok()) refuse(facts.error());
  if (facts->constants.size() > kMostConstants)
    refuse(fmt::format("{} bytes of constants; a library has at most {}", facts->constants.size(), kMostConstants));
  const std::string_view first = exe.debug.files.empty() ? std::string_view("program") : exe.debug.files[0];
  debug.createCompileUnit(llvm::dwarf::DW_LANG_C, file(first), "rldb", true, "", 0);
  declare_functions();
  make_library(*facts);
  for (std::size_t i = 0; i < functions.size(); ++i)
    if (functions[i]) write_function(*this, bytecode::FunctionIndex(std::int64_t(i)));
  b.SetCurrentDebugLocation({});
  export_functions();
  export_interface();
  debug.finalize();
  std::string problem;
  llvm::raw_string_ostream out(problem);
  if (llvm::verifyModule(*module, &out)) refuse("the generated code is not valid: " + problem);
  return std::move(module);
}

namespace {

// LLVM's structures of one program; a context goes last.
struct ProgramWork {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module;
  std::string object;
  ~ProgramWork() { module.reset(); }
};

void emit_object(ProgramWork& work, const JobState& state) {
  const auto machine = make_machine(1);
  if (!machine) refuse("LLVM has no code generator for this machine");
  aim(*work.module, *machine);
  optimise(*work.module, *machine, Passes::Few, state);
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream out(bytes);
  llvm::legacy::PassManager passes;
  if (machine->addPassesToEmitFile(passes, out, nullptr, llvm::CodeGenFileType::ObjectFile))
    refuse("LLVM cannot write code for this machine");
  passes.run(*work.module);
  work.object.assign(bytes.begin(), bytes.end());
}

}  // namespace

ir::Result<std::string> compile_program(const AotProgram& program) {
  try {
    const support::MemoryLimitExempt exempt;
    auto work = std::make_shared<ProgramWork>();
    work->module = ProgramModule(work->context, program).run();
    run_job([work](const JobState& state) { emit_object(*work, state); });
    return std::move(work->object);
  } catch (const Refused& r) {
    return support::Failure(unsupported(program.name, r.why));
  } catch (const FatalLlvm& f) {
    return support::Failure(unsupported(program.name, "LLVM stopped: " + f.reason));
  }
}

}  // namespace rldb::codegen
