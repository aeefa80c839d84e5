// The table of operators: reads the rows of op.def once, on first use.
#include <algorithm>
#include <array>
#include <unordered_map>

#include "ops/rows.h"
#include "rldb/ir/op_id.h"
#include "rldb/ir/op_name.h"
#include "rldb/ir/op_rule.h"
#include "rldb/ops/op_info.h"
#include "rldb/ops/register.h"
#include "rldb/source/diagnostic.h"
#include "rldb/support/text.h"

namespace rldb::ops {

using support::trim;
namespace {

struct Row {
  std::string_view name;
  std::string_view signature;
  Family family;
  InferFn infer;
  LegalizeFn legalize;
  Purity purity;
  MixedPolicy mixed;
  std::string_view doc;
};

// Null for a row without a body.
LegalizeFn body_of(LegalizeFn f) { return f == legal::none ? nullptr : f; }

// Of the class, unless the operator has its own.
MixedPolicy mixed_policy(op::Id id) {
  static constexpr MixedPolicy kOfClass[] = {
#define RLDB_OP_CLASS(id, infer, shard, layout, gradient, legalise, mixed, in_place, pattern, doc) MixedPolicy::mixed,
#include "rldb/ir/op/class.def"
  };
#define RLDB_OP_MIXED(Op, policy) \
  if (id == op::Id::Op) return MixedPolicy::policy;
#include "rldb/ir/op/rule.def"
  return kOfClass[std::size_t(op::kClasses[std::size_t(id)])];
}

// The rows of op.def, followed by the registered ones.
std::vector<Row>& rows() {
  static std::vector<Row> table = [] {
    std::vector<Row> out;
    Family family = Family::None;
#define RLDB_OP_FAMILY(next) family = Family::next;
#define RLDB_OP(id, name, signature, op_class, infer_fn, legal_fn, eval_fn, purity, traits, doc)        \
  out.push_back({RLDB_OP_FULL_NAME(name), signature, family, infer::infer_fn, body_of(legal::legal_fn), \
                 Purity::purity, mixed_policy(op::Id::id), doc});
#include "rldb/ir/op/op.def"
    return out;
  }();
  return table;
}

// At commas outside brackets and quotes.
std::vector<std::string_view> split_list(std::string_view s) {
  std::vector<std::string_view> out;
  int depth = 0;
  bool quoted = false;
  std::size_t start = 0;
  for (std::size_t i = 0; i <= s.size(); ++i) {
    if (i == s.size() || (s[i] == ',' && depth == 0 && !quoted)) {
      if (auto item = trim(s.substr(start, i - start)); !item.empty()) out.push_back(item);
      start = i + 1;
      continue;
    }
    if (s[i] == '"') quoted = !quoted;
    if (quoted) continue;
    if (s[i] == '[') ++depth;
    if (s[i] == ']') --depth;
  }
  return out;
}

struct KindName {
  std::string_view text;
  int value;
};
constexpr std::array kArgKinds{
    KindName{"tensor", int(ArgKind::Tensor)},  KindName{"tensors", int(ArgKind::Tensors)},
    KindName{"shape", int(ArgKind::Shape)},    KindName{"prim", int(ArgKind::Prim)},
    KindName{"prims", int(ArgKind::Prims)},    KindName{"string", int(ArgKind::String)},
    KindName{"dtypeval", int(ArgKind::DType)}, KindName{"any", int(ArgKind::Any)},
};
constexpr std::array kAttrTypes{
    KindName{"bool", int(AttrType::Bool)},     KindName{"int", int(AttrType::Int)},
    KindName{"float", int(AttrType::Float)},   KindName{"str", int(AttrType::String)},
    KindName{"dtype", int(AttrType::DType)},   KindName{"ints", int(AttrType::Ints)},
    KindName{"ints1", int(AttrType::Ints1)},   KindName{"ints2", int(AttrType::Ints2)},
    KindName{"ints3", int(AttrType::Ints3)},   KindName{"pads1", int(AttrType::Pads1)},
    KindName{"dims1", int(AttrType::Dims1)},   KindName{"dims2", int(AttrType::Dims2)},
    KindName{"dims3", int(AttrType::Dims3)},   KindName{"pads2", int(AttrType::Pads2)},
    KindName{"pads3", int(AttrType::Pads3)},   KindName{"floats", int(AttrType::Floats)},
    KindName{"scalar", int(AttrType::Scalar)}, KindName{"scalars", int(AttrType::Scalars)},
    KindName{"attr", int(AttrType::Any)},
};

template <class Table>
int lookup(const Table& table, std::string_view text) {
  for (const KindName& k : table)
    if (k.text == text) return k.value;
  return -1;
}

void add_param(OpInfo& info, std::string_view item, bool keyword_only) {
  std::string_view default_text;
  bool has_default = false;
  if (auto eq = item.find('='); eq != item.npos) {
    default_text = trim(item.substr(eq + 1));
    has_default = true;
    item = trim(item.substr(0, eq));
  }
  std::string_view kind = "tensor";
  if (auto colon = item.find(':'); colon != item.npos) {
    kind = trim(item.substr(colon + 1));
    item = trim(item.substr(0, colon));
  }
  bool nullable = kind.ends_with('?');
  if (nullable) kind.remove_suffix(1);
  bool variadic = item.starts_with('*');
  if (variadic) item.remove_prefix(1);
  if (int arg = lookup(kArgKinds, kind); arg >= 0) {
    info.params.push_back({item, false, keyword_only, int(info.args.size())});
    info.args.push_back({item, ArgKind(arg), nullable || has_default || variadic, variadic, default_text});
    return;
  }
  int attr = lookup(kAttrTypes, kind);
  RLDB_CHECK(attr >= 0, "op.def: unknown kind " + std::string(kind) + " in " + std::string(info.name));
  info.params.push_back({item, true, keyword_only, int(info.attrs.size())});
  info.attrs.push_back({item, AttrType(attr), nullable, !has_default, default_text});
}

// `order`: names of all attributes in the order in which they are printed.
void reorder_attrs(OpInfo& info, std::string_view order) {
  std::vector<AttrInfo> sorted;
  for (std::string_view name : split_list(order))
    for (const AttrInfo& a : info.attrs)
      if (a.name == name) sorted.push_back(a);
  RLDB_CHECK(sorted.size() == info.attrs.size(), "op.def: attribute order of " + std::string(info.name));
  info.attrs = std::move(sorted);
  for (ParamInfo& p : info.params)
    if (p.is_attr)
      for (std::size_t i = 0; i < info.attrs.size(); ++i)
        if (info.attrs[i].name == p.name) p.index = int(i);
}

OpInfo parse_row(const Row& row) {
  OpInfo info;
  info.name = row.name;
  info.signature = row.signature;
  info.family = row.family;
  info.doc = row.doc;
  info.infer = row.infer;
  info.legalize = row.legalize;
  info.purity = row.purity;
  info.mixed = row.mixed;
  auto bar = row.signature.find('|');
  bool keyword_only = false;
  for (std::string_view item : split_list(row.signature.substr(0, bar))) {
    if (item == "*")
      keyword_only = true;
    else
      add_param(info, item, keyword_only);
  }
  if (bar != row.signature.npos) reorder_attrs(info, row.signature.substr(bar + 1));
  return info;
}

struct Registry {
  std::vector<OpInfo> infos;
  std::unordered_map<std::string_view, const OpInfo*> by_name;
  std::vector<const OpInfo*> by_id;  // of the rows of op/op.def
};

bool registry_in_use = false;

const Registry& registry() {
  static const Registry r = [] {
    registry_in_use = true;
    Registry out;
    for (const Row& row : rows()) out.infos.push_back(parse_row(row));
    std::sort(out.infos.begin(), out.infos.end(), [](const OpInfo& a, const OpInfo& b) { return a.name < b.name; });
    // Moving the vector keeps its elements where they are.
    for (const OpInfo& info : out.infos) {
      out.by_name.emplace(info.name, &info);
      out.by_name.emplace(info.short_name(), &info);
    }
    for (const op::Row& row : op::rows()) out.by_id.push_back(out.by_name.at(row.name));
    return out;
  }();
  return r;
}

}  // namespace

void register_operator(const OperatorRow& row) {
  const std::string name(row.name);
  RLDB_CHECK(!registry_in_use, "operator `" + name + "` is registered after the table of operators was read");
  RLDB_CHECK(op::is_relax(row.name) && row.infer, "operator `" + name + "` needs a full name and a type inference");
  for (const Row& r : rows()) RLDB_CHECK(r.name != row.name, "operator `" + name + "` exists already");
  const Row made{row.name, row.signature, Family::None, row.infer, row.legalize, row.purity, row.mixed, row.doc};
  parse_row(made);
  rows().push_back(made);
}

int OpInfo::arg_index(std::string_view arg) const {
  for (std::size_t i = 0; i < args.size(); ++i)
    if (args[i].name == arg) return int(i);
  return -1;
}

const OpInfo* find(std::string_view name) {
  const auto& map = registry().by_name;
  auto it = map.find(name);
  return it == map.end() ? nullptr : it->second;
}

const OpInfo* find(const ir::Expr* callee) {
  const auto* op = ir::as<ir::Op>(callee);
  if (!op) return nullptr;
  return op->row ? registry().by_id[std::size_t(op->row->id)] : find(op->name);
}

const std::vector<OpInfo>& all() { return registry().infos; }

std::string_view nearest_name(std::string_view name) {
  std::vector<std::string_view> names;
  for (const OpInfo& info : all()) names.push_back(info.short_name());
  return source::nearest(op::short_name(name), names);
}

bool is_call_of(const ir::Expr* e, std::string_view name) {
  const auto* call = ir::as<ir::Call>(e);
  if (!call) return false;
  const auto* op = ir::as<ir::Op>(call->callee);
  return op && op->name == name;
}

}  // namespace rldb::ops
