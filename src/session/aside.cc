#include "rldb/session/aside.h"

#include "rldb/codegen/llvm/jit.h"
#include "rldb/source/diagnostic_executable.h"
#include "rldb/support/cancel.h"

namespace rldb::session {

AsideCompiler::AsideCompiler(Session& session) : session_(session) {}
AsideCompiler::~AsideCompiler() = default;

std::shared_ptr<runtime::Kernel> AsideCompiler::compile(const ir::PrimFunc* f, std::string_view name,
                                                        Diagnostics& out) {
  if (!jit_) {
    codegen::JitOptions wanted;
    wanted.schedule = false;
    wanted.registry = &session_.registry();
    wanted.interrupt = &support::cancel_flag();
    auto made = codegen::Jit::create(wanted);
    if (!made.ok()) {
      out.add({}, std::move(made).error());
      return nullptr;
    }
    jit_ = std::move(made).value();
  }
  auto kernel = jit_->add(session_.context(), f, name);
  if (kernel.ok()) return std::move(kernel).value();
  out.add(session_.context().span_of(f), source::message(diag::KernelNotCompiled, name, kernel.error().text));
  return nullptr;
}

}  // namespace rldb::session
