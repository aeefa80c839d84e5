// The log of calls: numbers in few bytes, other values in full, and what is discarded.
#include "rldb/vm/call_log.h"

#include <doctest/doctest.h>

#include <map>
#include <random>

#include "program_builder.h"
#include "rldb/vm/scalar_log.h"

namespace rldb::vm {
namespace {

bool same(const Value& a, const Value& b) {
  if (a.kind() != b.kind()) return false;
  if (a.is(runtime::ValueKind::Null)) return true;
  if (a.is(runtime::ValueKind::Float)) return a.as_float() == b.as_float();
  return a.as_int() == b.as_int();
}

Value any_number(std::mt19937_64& random) {
  switch (random() % 6) {
    case 0:
      return Value();
    case 1:
      return Value::of_bool(random() % 2 == 0);
    case 2:
      return Value::of_float(double(std::int64_t(random())) / 3);
    case 3:
      return Value::of_int(std::int64_t(random()));
    case 4:
      return Value::of_int(random() % 2 == 0 ? INT64_MIN : INT64_MAX);
    default:
      return Value::of_int(std::int64_t(random() % 100) - 50);
  }
}

std::shared_ptr<const Program> some_program(testing::Fixture& fixture) {
  bytecode::ExecutableBuilder b;
  testing::add_loop(b);
  return fixture.link(b.finish());
}

}  // namespace

TEST_CASE("a log of numbers gives what was put in, in any order, and forgets from a time on") {
  for (unsigned seed = 1; seed <= 6; ++seed) {
    std::mt19937_64 random(seed);
    ScalarLog log;
    std::map<std::uint64_t, Value> plain;
    std::uint64_t time = random() % 2;
    const auto check = [&](std::uint64_t t) {
      const auto found = log.find(t);
      const auto wanted = plain.find(t);
      REQUIRE(found.has_value() == (wanted != plain.end()));
      if (found) CHECK(same(*found, wanted->second));
    };
    for (int round = 0; round < 12; ++round) {
      for (int i = 0; i < 4000; ++i) {
        const Value v = any_number(random);
        log.add(time, v);
        plain[time] = v;
        time += 1 + (random() % 50 == 0 ? random() % 100'000 : random() % 4);
      }
      REQUIRE(log.count() == plain.size());
      for (int i = 0; i < 200; ++i) check(random() % (time + 10));
      // As a run is repeated: from some point on, in order.
      const std::uint64_t from = random() % time;
      int shown = 0;
      for (auto it = plain.lower_bound(from); it != plain.end() && shown < 3000; ++it, ++shown) {
        check(it->first);
        check(it->first + 1);
      }
      const std::uint64_t end = random() % 3 == 0 ? random() % (time + 1) : time - std::min(time, random() % 50);
      log.forget_from(end);
      plain.erase(plain.lower_bound(end), plain.end());
      REQUIRE(log.count() == plain.size());
      time = std::max(end, plain.empty() ? 0 : plain.rbegin()->first + 1);
    }
  }
}

TEST_CASE("a call that was made is not made again; one that was forgotten is") {
  CallLog log;
  int calls = 0;
  const runtime::Function count("count", [&](PackedArgs) -> Result<Value> { return Value::of_int(++calls); });
  testing::Fixture fixture;
  const auto program = some_program(fixture);
  const auto call = [&](std::uint64_t time, std::vector<Value> args) {
    auto made = log.call(*program, time, count, args);
    REQUIRE(made.ok());
    return made->as_int();
  };
  CHECK(call(3, {}) == 1);
  CHECK(call(5, {Value::of_int(7)}) == 2);
  CHECK(call(9, {Value::of_string("text")}) == 3);
  CHECK(call(3, {}) == 1);
  CHECK(call(9, {Value::of_string("text")}) == 3);
  CHECK(call(5, {Value::of_int(7)}) == 2);
  CHECK(calls == 3);
  CHECK(log.kept() == 3);
  // A tuple may hold state: such a call is made each time.
  CHECK(call(11, {Value::of_tuple({})}) == 4);
  CHECK(call(11, {Value::of_tuple({})}) == 5);
  CHECK(log.not_kept() == 2);
  log.forget_from(5);
  CHECK(log.kept() == 1);
  CHECK(call(3, {}) == 1);
  CHECK(call(5, {Value::of_int(7)}) == 6);
}

TEST_CASE("a full log keeps no more, and says how many it did not keep") {
  CallLog log(20'000);
  const runtime::Function f("f", [](PackedArgs) -> Result<Value> { return Value::of_float(0.1); });
  testing::Fixture fixture;
  const auto program = some_program(fixture);
  for (std::uint64_t time = 0; time < 10'000; ++time) REQUIRE(log.call(*program, time, f, {}).ok());
  CHECK(log.kept() > 1000);
  CHECK(log.kept() + log.not_kept() == 10'000);
}

}  // namespace rldb::vm
