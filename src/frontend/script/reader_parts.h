// The parts of a Reader with state of their own, each with the few operations that change it.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "frontend/cst/parser.h"
#include "frontend/script/scope.h"
#include "frontend/script/value/value.h"
#include "rldb/support/arena.h"

namespace rldb::frontend::script {

// Texts and lists of values that are kept for the lifetime of the reader.
class InnerTexts {
 public:
  std::span<const Val> keep(const std::vector<Val>& items) { return scratch_.copy(items); }
  std::string_view keep(std::string text) { return texts_.emplace_back(std::move(text)); }
  cst::Tree& keep(cst::Tree tree) { return trees_.emplace_back(std::move(tree)); }

  // Frees everything kept since a mark: a document reads its functions again and again.
  struct Mark {
    std::size_t trees = 0, texts = 0;
  };
  Mark mark() const { return {trees_.size(), texts_.size()}; }
  void back_to(Mark m) {
    while (trees_.size() > m.trees) trees_.pop_back();
    while (texts_.size() > m.texts) texts_.pop_back();
  }

 private:
  support::Arena scratch_;
  std::deque<cst::Tree> trees_;    // of strings that were read as expressions
  std::deque<std::string> texts_;  // unescaped
};

// The meaning of module names (R, T, I, relax, ...), and the age of the file, judged by its import lines.
class Imports {
 public:
  void add(std::string_view name, Space space) { spaces_[name] = space; }
  void note_tirx() { tirx_ = true; }
  void note_tir() { tir_ = true; }
  const Space* find(std::string_view name) const {
    const auto it = spaces_.find(name);
    return it == spaces_.end() ? nullptr : &it->second;
  }
  bool has_tirx() const { return tirx_; }  // `tirx as T`
  bool has_tir() const { return tir_; }    // `tir as T`: an older text
  bool operator==(const Imports&) const = default;

 private:
  std::unordered_map<std::string_view, Space> spaces_;
  bool tirx_ = false;
  bool tir_ = false;
};

// Names at file level: meta values, and `n = TypeVar("n")`. At the prompt there are outer names around them.
struct FileNames {
  Scope scope;
  std::unordered_map<std::string, Val> outer;  // those that were found (expr.cc)
  std::unordered_set<std::string_view> type_vars;
};

// Nesting of C++ calls on behalf of the text is bounded by the tree's depth times the depth of inner strings, lambdas
// and macros.
inline constexpr int kMaxInnerDepth = 20;

class Nesting {
 public:
  bool is_full() const { return depth_ >= kMaxInnerDepth; }
  class Level {
   public:
    explicit Level(Nesting& nesting) : nesting_(nesting) { ++nesting_.depth_; }
    ~Level() { --nesting_.depth_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    Nesting& nesting_;
  };

 private:
  int depth_ = 0;
};

// The annotation of the binding whose value is being read.
class Expected {
 public:
  // Only for that value itself, not for its parts; null when there is none.
  const ir::Type* at(cst::Node value) const { return type_ && index_ == value.index() ? type_ : nullptr; }

  // While it lives, the expectation is this one, or none: values read on the way belong to something else.
  class Scope {
   public:
    explicit Scope(Expected& expected) : Scope(expected, nullptr, 0) {}
    Scope(Expected& expected, const ir::Type* type, cst::Node value) : Scope(expected, type, value.index()) {}
    ~Scope() {
      expected_.type_ = type_;
      expected_.index_ = index_;
    }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Scope(Expected& expected, const ir::Type* type, std::uint32_t index)
        : expected_(expected),
          type_(std::exchange(expected.type_, type)),
          index_(std::exchange(expected.index_, index)) {}
    Expected& expected_;
    const ir::Type* const type_;  // the expectation before
    const std::uint32_t index_;
  };

 private:
  friend class Scope;
  const ir::Type* type_ = nullptr;
  std::uint32_t index_ = 0;  // of the value's node
};

// Errors reported since its construction.
class ErrorsSince {
 public:
  explicit ErrorsSince(const source::Diagnostics& out) : out_(out), before_(out.error_count()) {}
  bool any() const { return out_.error_count() != before_; }

 private:
  const source::Diagnostics& out_;
  std::size_t before_;
};

}  // namespace rldb::frontend::script
