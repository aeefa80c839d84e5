// The part of a program that computes one tensor of its recorded run, as a program of its own. Room-private.
#pragma once

#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "rldb/ir/context.h"
#include "rldb/repro/compare.h"

namespace rldb::repro {

// The tensors that parts of programs take as parameters; those with the same bits are one.
class GivenTensors {
 public:
  explicit GivenTensors(ir::Context& ctx) : ctx_(ctx) {}

  const ir::Var* find(const runtime::Value& v) const;  // null: there is none with this value
  const ir::Var* add(const std::string& name, const runtime::Value& v);
  const std::vector<std::pair<const ir::Var*, runtime::Value>>& all() const { return all_; }

 private:
  ir::Context& ctx_;
  std::vector<std::pair<const ir::Var*, runtime::Value>> all_;
  std::set<std::string> names_;
};

class Slice {
 public:
  // `trace`: of a run of `program`, whose function has no symbolic dims (with_numbers).
  Slice(ir::Context& ctx, const Program& program, const Trace& trace, GivenTensors& given);

  // The computation of a tensor. `deep`: also what computes the tensors that it reads, up to those that are given
  // already. False: `why`.
  bool take(std::size_t event, bool deep, std::string& why);
  // Makes that tensor the result. False: `why`.
  bool ends_at(std::size_t event, std::string& why);
  // With all that is given as parameters.
  const ir::Module* finished() const;

 private:
  const ir::Binding* own_binding(const ir::Binding* b) const;
  const ir::Var* given_to(const ir::Var* v) const;
  bool is_passed_on(const ir::Var* v);
  const ir::Expr* value_of(const ir::Binding* b) const;

  ir::Context& ctx_;
  const Program& program_;
  const Trace& trace_;
  GivenTensors& given_;
  const ir::Function* f_ = nullptr;
  const ir::SeqExpr* result_ = nullptr;
  std::unordered_map<const ir::Var*, const ir::Binding*> made_by_;
  std::map<std::string_view, const ir::Binding*> by_variable_;  // null: several have this name
  std::unordered_set<const ir::Binding*> bindings_;
  std::set<std::size_t> taken_;
  std::map<std::string, const ir::Var*, std::less<>> by_name_;
};

// The symbolic dims of the function as the numbers that they are for these arguments. `why`: it could not be done.
Program with_numbers(session::Session& session, Program p, std::string& why);

}  // namespace rldb::repro
