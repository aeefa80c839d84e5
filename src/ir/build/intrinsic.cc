// The rows of intrinsic.def as data, found by id, by name and by spelling.
#include "rldb/ir/intrinsic.h"

#include <array>
#include <unordered_map>
#include <vector>

#include "rldb/ir/expr.h"
#include "rldb/ir/intrinsic/all.h"

namespace rldb::ir {

namespace {

std::array kRows = std::to_array<IntrinsicInfo>({
#define RLDB_INTRINSIC(id, name, arity, dtype, purity, evaluate) \
  {intrin::id, name, "tir." name, arity, IntrinsicDType::dtype, IntrinsicPurity::purity, name, 0},
#include "rldb/ir/intrinsic/intrinsic.def"
});

struct Spelling {
  std::string_view text;
  Intrinsic id;
  bool printed;
};
constexpr bool Printed = true;
constexpr bool Read = false;
constexpr Spelling kSpellings[] = {
#define RLDB_INTRINSIC(id, name, arity, dtype, purity, evaluate)
#define RLDB_INTRINSIC_SPELLING(text, id, use) {text, intrin::id, use},
#include "rldb/ir/intrinsic/intrinsic.def"
};

// By family, in the order of IntrinsicFamily: the index of its first row.
std::vector<std::size_t> first_rows() {
  std::vector<std::size_t> first;
  std::size_t rows = 0;
#define RLDB_INTRINSIC_TABLE(family) first.push_back(rows);
#define RLDB_INTRINSIC(id, name, arity, dtype, purity, evaluate) ++rows;
#include "rldb/ir/intrinsic/intrinsic.def"
  return first;
}

struct Table {
  std::unordered_map<std::string_view, const IntrinsicInfo*> by_name;
  std::vector<std::string_view> names;
};

std::size_t index_of(Intrinsic id) {
  static const std::vector<std::size_t> first = first_rows();
  return first[(std::size_t(id) >> 8) - 1] + (std::size_t(id) & 0xff);
}

const Table& table() {
  static const Table made = [] {
    Table t;
    for (IntrinsicInfo& row : kRows) {
      row.index = std::size_t(&row - kRows.data());
      t.by_name[row.name] = &row;
    }
    for (const Spelling& s : kSpellings) {
      IntrinsicInfo& row = kRows[index_of(s.id)];
      if (s.printed) row.printed = s.text;
      t.by_name[s.text] = &row;
    }
    for (const auto& [name, row] : t.by_name) t.names.push_back(name);
    return t;
  }();
  return made;
}

}  // namespace

const IntrinsicInfo& info(Intrinsic id) { return all_intrinsics()[index_of(id)]; }

std::span<const IntrinsicInfo> all_intrinsics() {
  table();
  return kRows;
}

const IntrinsicInfo* find_intrinsic(std::string_view name) {
  const auto it = table().by_name.find(name);
  return it == table().by_name.end() ? nullptr : it->second;
}

std::span<const std::string_view> intrinsic_names() { return table().names; }

bool is_tir_op(const Expr* callee) {
  const auto* op = as<Op>(callee);
  return op && op->name.starts_with(kTirPrefix);
}

const IntrinsicInfo* called_intrinsic(const Expr* e) {
  const auto* call = as<Call>(e);
  const auto* op = call ? as<Op>(call->callee) : nullptr;
  return op ? op->intrinsic : nullptr;
}

bool is_call_of(const Expr* e, Intrinsic id) {
  const IntrinsicInfo* row = called_intrinsic(e);
  return row && row->id == id && (row->arity < 0 || std::size_t(row->arity) == as<Call>(e)->args.size());
}

}  // namespace rldb::ir
