// Result<T, E>: a value or an error, the only way an error leaves a room (no exceptions across interfaces).
//
// `Failure(e)` converts to any Result with error type E. `RLDB_TRY(name, expr)` unpacks or returns the error.
// Reading the wrong side is a CHECK failure.
#pragma once

#include <optional>
#include <utility>
#include <variant>

#include "rldb/support/check.h"

namespace rldb::support {

template <class E>
struct Failure {
  explicit Failure(E e) : error(std::move(e)) {}
  E error;
};
template <class E>
Failure(E) -> Failure<E>;

struct Unit {};

template <class T, class E>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  template <class F>
  Result(Failure<F> failure) : state_(std::in_place_index<1>, std::move(failure.error)) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  T& value() & {
    RLDB_CHECK(ok(), "value() of a failed Result");
    return std::get<0>(state_);
  }
  const T& value() const& {
    RLDB_CHECK(ok(), "value() of a failed Result");
    return std::get<0>(state_);
  }
  T&& value() && {
    RLDB_CHECK(ok(), "value() of a failed Result");
    return std::get<0>(std::move(state_));
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  E& error() & {
    RLDB_CHECK(!ok(), "error() of a good Result");
    return std::get<1>(state_);
  }
  const E& error() const& {
    RLDB_CHECK(!ok(), "error() of a good Result");
    return std::get<1>(state_);
  }
  E&& error() && {
    RLDB_CHECK(!ok(), "error() of a good Result");
    return std::get<1>(std::move(state_));
  }

 private:
  std::variant<T, E> state_;
};

}  // namespace rldb::support

#define RLDB_CONCAT_(a, b) a##b
#define RLDB_CONCAT(a, b) RLDB_CONCAT_(a, b)
// RLDB_TRY(auto x, expr);  declares x from the value of expr, or returns the error from this function.
#define RLDB_TRY(decl, expr) RLDB_TRY_(decl, expr, RLDB_CONCAT(rldb_try_, __LINE__))
#define RLDB_TRY_(decl, expr, tmp)                                        \
  auto tmp = (expr);                                                      \
  if (!tmp.ok()) return ::rldb::support::Failure(std::move(tmp).error()); \
  decl = std::move(tmp).value()
// RLDB_TRY_VOID(expr);  for results whose value is not needed.
#define RLDB_TRY_VOID(expr)                                                                     \
  do {                                                                                          \
    auto rldb_try_void = (expr);                                                                \
    if (!rldb_try_void.ok()) return ::rldb::support::Failure(std::move(rldb_try_void).error()); \
  } while (false)
