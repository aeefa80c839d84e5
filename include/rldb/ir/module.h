// Module: one version of a program: a sorted map from name to function, plus attributes and global infos.
//
// Immutable and arena-allocated: a pass makes a new Module and shares every function it did not change, so two
// versions differ exactly where the function pointers differ.
#pragma once

#include <map>
#include <unordered_map>

#include "rldb/ir/stmt.h"

namespace rldb::ir {

class Context;

struct ModuleEntry {
  std::string_view name;
  const Expr* function;  // Function, PrimFunc, ExternFunc or OpaqueFunc
};

struct GlobalInfo {
  std::string_view key;  // "vdevice", "mesh", "dummy"
  Span<const Attr*> items;
};

struct Module {
  Span<ModuleEntry> entries;  // sorted by name, names unique
  Span<NamedAttr> attrs;
  Span<GlobalInfo> global_infos;
  Span<const VDevice*> vdevices;  // the items of global info "vdevice"
  std::string_view name = "Module";

  const Expr* find(std::string_view name) const;  // null when absent
};

// `module` with only those functions that `roots` need: themselves and everything that they name, transitively.
const Module* reachable_from(Context& ctx, const Module* module, std::span<const std::string_view> roots);

// Makes modules. `set` replaces a namesake.
class ModuleBuilder {
 public:
  explicit ModuleBuilder(Context& ctx) : ctx_(ctx) {}
  ModuleBuilder(Context& ctx, const Module& base);
  void set(std::string_view name, const Expr* function);
  void remove(std::string_view name);
  const Expr* find(std::string_view name) const;
  // `hint` when free, else hint1, hint2, ... (as TVM names legalised PrimFuncs: add, add1, ...).
  std::string_view unique_name(std::string_view hint) const;
  void set_attrs(Span<NamedAttr> attrs) { attrs_ = attrs; }
  void set_global_infos(Span<GlobalInfo> infos, Span<const VDevice*> vdevices) {
    infos_ = infos;
    vdevices_ = vdevices;
  }
  void set_name(std::string_view name) { name_ = name; }
  const Module* build() const;

 private:
  Context& ctx_;
  std::map<std::string_view, const Expr*> functions_;
  Span<NamedAttr> attrs_;
  Span<GlobalInfo> infos_;
  Span<const VDevice*> vdevices_;
  std::string_view name_ = "Module";
  mutable std::unordered_map<std::string_view, int> next_suffix_;  // by hint: below it every suffix is taken
};

}  // namespace rldb::ir
