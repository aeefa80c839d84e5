// AsideCompiler: machine code for PrimFuncs outside the program, beside a session.
//
// They are compiled as written (no schedule), with every access checked, whatever the session's options are,
// and do not appear in its lists. User: debug (kernels that stop themselves).
#pragma once

#include <memory>
#include <string_view>

#include "rldb/session/session.h"

namespace rldb::session {

class AsideCompiler {
 public:
  explicit AsideCompiler(Session& session);
  ~AsideCompiler();
  // Null: diagnosed.
  std::shared_ptr<runtime::Kernel> compile(const ir::PrimFunc* f, std::string_view name, Diagnostics& out);

 private:
  Session& session_;
  std::unique_ptr<codegen::Jit> jit_;  // made at first use
};

}  // namespace rldb::session
