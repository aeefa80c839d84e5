// An executable of the Relax VM as a session's program. Room-private.
#pragma once

#include <optional>

#include "rldb/bytecode/exported_library.h"
#include "rldb/session/session.h"

namespace rldb::session {

class Session::RelaxExecutable final : public Program {
 public:
  using Program::Program;
  // Null: diagnosed. `library`: the file is a library with machine code of that convention, whose executable this is.
  static std::unique_ptr<Program> open(Session& session, const std::string& path, std::string_view bytes,
                                       Diagnostics& out, std::optional<bytecode::CodeAbi> library = std::nullopt);
  ProgramKind kind() const override { return ProgramKind::RelaxExecutable; }
  std::unique_ptr<Program> copy() const override;
  std::vector<std::string> function_names() const override;
  std::optional<std::vector<Parameter>> parameters(std::string_view function, std::string& not_runnable) override;
  // Its kernels are read from its TensorIR the first time.
  std::shared_ptr<const Build> runnable(Diagnostics& out) override;
  std::shared_ptr<const Build> viewable(Diagnostics&) override { return view_; }
  std::optional<std::string> executable_file(Diagnostics& out, const bytecode::DebugInfo* names) override;

 private:
  const bytecode::Executable& executable() const { return *view_->executable; }
  const ir::Module* read_kernels(Diagnostics& out);
  void add_stored_kernels(runtime::KernelTable& table, Diagnostics& out);
  // Uses the machine code of the library. False: diagnosed.
  bool add_library_code(BuildWithKernels& build, Diagnostics& out);
  // Why kernels are missing, where some are.
  void explain_missing(const BuildWithKernels& build, Diagnostics& out) const;

  std::shared_ptr<const Build> view_;
  std::optional<bytecode::CodeAbi> library_;
  const ir::Module* kernels_ = nullptr;  // once it was to run
  // The last build and its inputs.
  std::shared_ptr<const Build> build_;
  Engine engine_{};
  decltype(Options::kernel_engines) kernel_engines_;
  bool trusted_ = false;
  std::uint32_t plugins_ = 0;
  const codegen::Jit* jit_ = nullptr;
};

}  // namespace rldb::session
