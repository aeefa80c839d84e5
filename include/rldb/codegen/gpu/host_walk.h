// The statements around the launches of a lowered PrimFunc: which of them the host can execute (codegen/gpu/call.cc),
// and where the launches are. Base of the rooms that write the code of launches.
#pragma once

#include <string>

#include "rldb/ir/stmt.h"

namespace rldb::codegen {

// A scalar that the host computes: it reads no memory of the device.
bool is_of_host(const ir::Expr* e);

class HostWalk {
 public:
  virtual ~HostWalk() = default;
  void refuse(std::string why);  // the first reason is kept, and ends the walk

 protected:
  void walk(const ir::Stmt* s);
  virtual void launch(const ir::AttrStmt* s) = 0;
  virtual void allocation(const ir::Stmt* s) = 0;  // AllocBuffer or AllocateStmt
  virtual void declaration(const ir::DeclBuffer* s) = 0;
  virtual void host_loop(const ir::ForStmt*) {}  // before its body
  virtual void host_bind(const ir::BindStmt*) {}

  std::string refused_;
  bool unscheduled_ = false;  // the reason is a statement that does not run in threads

 private:
  void unscheduled(const ir::Stmt* s);
};

}  // namespace rldb::codegen
