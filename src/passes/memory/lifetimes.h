// Lifetimes of the memory that a function allocates, from one walk over its bindings.
//
// The possible contents of a variable are a node of a graph: a tensor or storage, or several of them (tuples, results
// of branches). A use is recorded at the node; after the walk nodes propagate their uses to their parts, latest first.
// So a tuple of a thousand tensors that is used a thousand times costs a thousand steps. User: memory_report.cc.
#pragma once

#include <unordered_map>

#include "rldb/ir/context.h"
#include "rldb/passes/memory_report.h"

namespace rldb::passes {

// One allocation found in the function.
struct FoundMemory {
  enum class Form { Storage, TensorInStorage, OwnTensor } form;
  const ir::Binding* binding;
  const ir::Call* call;
  std::size_t storage = 0;         // TensorInStorage: node of its storage, or npos
  const ir::Var* alias = nullptr;  // the first alias that the program defines
  std::size_t begin = 0;
  std::size_t end = 0;
  Escape escape = Escape::None;
  std::string escapes_to;
};

class Lifetimes {
 public:
  static constexpr std::size_t npos = std::size_t(-1);

  Lifetimes(const ir::Module* module, const ir::Function* f);
  const std::vector<FoundMemory>& found() const { return found_; }
  const std::vector<const ir::Var*>& bindings() const { return bindings_; }

 private:
  // The possible contents of a value.
  struct Node {
    std::vector<std::size_t> parts;  // earlier nodes
    std::size_t memory = npos;       // index into found_
    bool tuple = false;              // the parts are fields, one each (npos: holds nothing)
    std::size_t block = 0;
    std::size_t end = 0;
    Escape escape = Escape::None;
    std::string escapes_to;
    bool elsewhere = false;
  };

  void visit_seq(const ir::SeqExpr* s);
  void visit_binding(const ir::Binding* b);
  std::size_t visit_value(const ir::Binding* b, const ir::Expr* value);
  std::size_t visit_call(const ir::Binding* b, const ir::Call* call);
  std::size_t visit_packed(std::string_view symbol, ir::Span<const ir::Expr*> args);
  std::size_t visit_if(const ir::If* branch);
  std::size_t allocation(FoundMemory::Form form, const ir::Binding* b, const ir::Call* call);
  std::size_t node_of(const ir::Expr* leaf);
  std::size_t joined(std::vector<std::size_t> parts, bool tuple);
  void use(const ir::Expr* e, Escape how = Escape::None, std::string_view to = {});
  void kill(const ir::Var* v);
  void settle();

  const ir::Module* module_;
  std::vector<FoundMemory> found_;
  std::vector<Node> nodes_;
  std::vector<const ir::Var*> bindings_;
  std::unordered_map<const ir::Var*, std::size_t> vars_;
  std::size_t block_ = 0;
  std::size_t blocks_ = 0;
};

}  // namespace rldb::passes
