#include "codegen/llvm/engine/engine.h"

#include <fmt/format.h>
#include <llvm/ExecutionEngine/JITLink/JITLinkMemoryManager.h>
#include <llvm/ExecutionEngine/Orc/Core.h>
#include <llvm/ExecutionEngine/Orc/ExecutorProcessControl.h>
#include <llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h>
#include <llvm/Support/MemoryBuffer.h>

#include "codegen/llvm/engine/helpers.h"
#include "codegen/llvm/engine/job.h"

namespace rldb::codegen {

using support::Failure;

struct Engine::Impl {
  std::unique_ptr<llvm::orc::ExecutionSession> session;
  std::unique_ptr<llvm::orc::ObjectLinkingLayer> layer;
  llvm::orc::JITDylib* helpers = nullptr;
  std::atomic<bool> never{false};
  std::string reported;
  int count = 0;
};

Engine::Engine() : impl_(std::make_unique<Impl>()) {}

Engine::~Engine() {
  if (!impl_->session) return;
  if (auto error = impl_->session->endSession()) llvm::consumeError(std::move(error));
}

support::Result<std::shared_ptr<Engine>, EngineProblem> Engine::create(std::atomic<bool>* interrupt) {
  std::shared_ptr<Engine> made(new Engine());
  Impl& impl = *made->impl_;
  auto control =
      llvm::orc::SelfExecutorProcessControl::Create(nullptr, std::make_unique<llvm::orc::InPlaceTaskDispatcher>());
  if (!control) return Failure(EngineProblem{llvm::toString(control.takeError())});
  impl.session = std::make_unique<llvm::orc::ExecutionSession>(std::move(*control));
  impl.session->setErrorReporter([&impl](llvm::Error error) { impl.reported = llvm::toString(std::move(error)); });
  impl.layer = std::make_unique<llvm::orc::ObjectLinkingLayer>(*impl.session,
                                                               impl.session->getExecutorProcessControl().getMemMgr());
  impl.helpers = &impl.session->createBareJITDylib("helpers");
  llvm::orc::SymbolMap symbols;
  const auto define = [&](std::string_view name, void* address) {
    symbols[impl.session->intern(llvm::StringRef(name))] = {llvm::orc::ExecutorAddr::fromPtr(address),
                                                            llvm::JITSymbolFlags::Exported};
  };
  for (const HelperSymbol& s : helper_symbols()) define(s.name, s.address);
  static_assert(sizeof(std::atomic<bool>) == 1);
  define("rldb_interrupt", interrupt ? interrupt : &impl.never);
  if (auto error = impl.helpers->define(llvm::orc::absoluteSymbols(std::move(symbols))))
    return Failure(EngineProblem{llvm::toString(std::move(error))});
  return made;
}

support::Result<runtime::KernelEntry, EngineProblem> Engine::link(std::string_view object, std::string_view symbol) {
  try {
    return link_now(object, symbol);
  } catch (const FatalLlvm& f) {
    return Failure(EngineProblem{"LLVM stopped: " + f.reason});
  }
}

support::Result<runtime::KernelEntry, EngineProblem> Engine::link_now(std::string_view object,
                                                                      std::string_view symbol) {
  auto& dylib = impl_->session->createBareJITDylib(fmt::format("kernel{}", impl_->count++));
  dylib.addToLinkOrder(*impl_->helpers);
  impl_->reported.clear();
  auto buffer = llvm::MemoryBuffer::getMemBufferCopy(llvm::StringRef(object), dylib.getName());
  if (auto error = impl_->layer->add(dylib, std::move(buffer)))
    return Failure(EngineProblem{llvm::toString(std::move(error))});
  auto found = impl_->session->lookup({&dylib}, impl_->session->intern(llvm::StringRef(symbol)));
  if (!found) {
    std::string text = llvm::toString(found.takeError());
    if (!impl_->reported.empty()) text = impl_->reported;
    return Failure(EngineProblem{std::move(text)});
  }
  return found->getAddress().toPtr<runtime::KernelEntry>();
}

}  // namespace rldb::codegen
