// The arguments of a function of TVM's calling convention: their checks, and the values read from their records.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "rldb/ir/arith.h"
#include "rldb/ir/context.h"
#include "tir_passes/ffi_any.h"

namespace rldb::passes {

class PackedArguments {
 public:
  PackedArguments(ir::Context& ctx, std::string_view symbol, const ir::PrimFunc* f, std::int32_t device_type,
                  std::string_view device_name);

  const ir::Var* args() const { return args_; }
  const ir::Var* count() const { return count_; }
  // The function's body with the checks around it. Scalars and the sizes of tensors are bound before the checks that
  // use them, because a later tensor may define what an earlier one mentions.
  const ir::Stmt* around(const ir::Stmt* body);
  // The call that makes the tensors' device the current one.
  const ir::Stmt* set_device() const;
  std::string refused;  // an argument that cannot be right

 private:
  using Parts = std::vector<std::string>;
  // A statement, or an attribute of all that follows.
  struct Step {
    const ir::Stmt* stmt;
    const ir::Attr* node;
    std::string_view key;
    const ir::Expr* value;
  };
  struct Definition {
    const ir::Expr* value;
    std::string path;
  };
  struct Pending {
    const ir::Expr* cond;
    std::string path;
    std::int64_t param;
    const ir::Expr* expected;
  };

  void read(std::int64_t index);
  void read_tensor(std::int64_t index);
  void check_kind(std::int64_t index, const ir::Buffer* b, const ir::Var* handle);
  void read_shape(std::int64_t index, const ir::Buffer* b, const ir::Var* shape);
  void read_strides(std::int64_t index, const ir::Buffer* b, const ir::Var* shape, const ir::Var* strides);
  void check_compact(std::int64_t index, const ir::Buffer* b, const ir::Var* strides);
  void read_offset(std::int64_t index, const ir::Buffer* b, const ir::Var* handle);
  void read_device(std::int64_t index, const ir::Buffer* b, const ir::Var* handle);
  void read_data(std::int64_t index, const ir::Buffer* b, const ir::Var* handle);
  void bind_scalar(const ir::Expr* arg, const ir::Expr* value, std::string path, std::int64_t param);
  void add_pending();

  const ir::Stmt* assertion(const ir::Expr* cond, std::string_view kind, const Parts& parts);
  void check(const ir::Expr* cond, std::string_view kind, const Parts& parts);
  void check_type(std::int64_t index, const ir::Expr* cond, std::string_view expected);
  void bind(const ir::Var* v, const ir::Expr* value);
  const ir::Expr* is(const ir::Var* type, ffi::Type t);
  const ir::Expr* one_of(const ir::Var* type, std::initializer_list<ffi::Type> list);
  const ir::Expr* value(std::int64_t index, ir::DType record, ir::DType wanted);
  const ir::Expr* decoded(std::int64_t index, const ir::Var* type, const ir::Var* param);
  const ir::Expr* pointer(std::int64_t index, const ir::Var* type, std::string_view expected);
  const ir::Expr* element(const ir::Var* array, std::int64_t index, ir::DType as);
  const ir::Var* array_of(const ir::Var* handle, ffi::Field field, std::string name);
  std::string shown(const ir::Expr* e) const;

  ir::Context& ctx_;
  const ir::PrimFunc* f_;
  std::string symbol_, signature_;
  std::int32_t device_type_;
  std::string_view device_name_;
  const ir::Var* args_;
  const ir::Var* count_;
  const ir::Var* device_id_;
  std::vector<const ir::Var*> handles_;  // one per parameter
  const ir::Node* origin_ = nullptr;
  bool tensors_ = false;
  std::vector<Step> first_;               // reads, and checks before them
  std::vector<Step> late_;                // after all reads
  std::vector<const ir::Stmt*> checks_;   // that use what was read
  std::vector<const ir::Stmt*> buffers_;  // declared last
  std::vector<Pending> pending_;          // checks of sizes that are not variables
  std::unordered_map<const ir::Var*, Definition> defined_;
  ir::Analyzer analyzer_;
};

}  // namespace rldb::passes
