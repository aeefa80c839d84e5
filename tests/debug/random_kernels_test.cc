// Random kernels: where elements come from, what `watch` sees, against what an execution step by step sees.
#include "debug/random_kernels.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <random>

#include "debug/provenance/why_memory.h"
#include "debug/way_back.h"
#include "rldb/support/cancel.h"

namespace rldb::debug {

using namespace testing;

namespace {

std::vector<Value> random_args(std::uint64_t seed, std::int64_t n = 6) {
  std::mt19937 random{unsigned(seed)};
  const auto floats = [&] {
    std::vector<double> v;
    for (std::int64_t k = 0; k < n; ++k) v.push_back(double(int(random() % 19)) - 9);
    return f32({n}, v);
  };
  auto i = runtime::Tensor::empty({n}, runtime::DType::Int(64)).value();
  for (std::int64_t k = 0; k < n; ++k)
    runtime::store_int(i->data() + 8 * k, runtime::DType::Int(64), std::int64_t(random() % 6));
  auto s = runtime::Tensor::empty({}, runtime::DType::Int(64)).value();
  Value x = floats(), z = floats();
  runtime::store_int(s->data(), runtime::DType::Int(64), std::int64_t(random() % 4));
  return {x, z, Value(i), Value(s)};
}

struct Compared {
  std::size_t elements = 0, with_roots = 0;
};

// Elements of one program, at the moment before it returns.
Compared compare_with_tracer(std::uint64_t seed, const RandomKernels::Options& options) {
  const std::string text = RandomKernels(seed, options).program();
  INFO(text);
  CAPTURE(seed);
  Fixture f(text);
  const std::vector<Value> args = random_args(seed, options.symbolic ? std::int64_t(1 + seed % 7) : 6);
  const auto traced = run_of(f, args), asked_run = run_of(f, args);
  to_its_end(*asked_run);
  REQUIRE(asked_run->go_to(asked_run->time() - 1) == Run::Seek::Done);
  Tracer tracer;
  tracer.stop_before(asked_run->time());
  REQUIRE(tracer.trace(*traced));
  std::mt19937 random{unsigned(seed)};
  const std::vector<ValuePath> places = tensors_of(asked_run->machine());
  asked_run->set_skim_from(seed % 2 ? 1 : Run::kNoSkim);
  Back back(*asked_run);
  Compared asked;
  for (int n = 0; n < 8; ++n) {
    const ValuePath& place = places[random() % places.size()];
    const runtime::Tensor& t = value_at(asked_run->machine(), place).as_tensor();
    const std::int64_t position = std::int64_t(random() % std::uint64_t(t.element_count()));
    const runtime::Tensor& same = value_at(traced->machine(), place).as_tensor();
    const auto& expected = tracer.of(same.storage().get(),
                                     std::int64_t(same.byte_offset()) + position * std::int64_t(same.dtype().bytes()));
    CAPTURE(position);
    CAPTURE(place.reg);
    CHECK(back.roots(place, t, position) == expected);
    ++asked.elements;
    asked.with_roots += !expected.empty();
  }
  return asked;
}

// RLDB_TRACER_SEEDS=1000:3000 asks about those programs instead.
std::pair<std::uint64_t, std::uint64_t> seeds(std::uint64_t first, std::uint64_t last) {
  if (const char* range = std::getenv("RLDB_TRACER_SEEDS")) {
    char* end = nullptr;
    first = std::strtoull(range, &end, 10);
    last = *end == ':' ? std::strtoull(end + 1, nullptr, 10) : first;
  }
  return {first, last};
}

}  // namespace

TEST_CASE("300 elements of random kernels come from the elements that a tracer finds") {
  Compared all;
  const auto [first, last] = seeds(1, 60);
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    const Compared asked = compare_with_tracer(seed, {});
    all.elements += asked.elements, all.with_roots += asked.with_roots;
  }
  CHECK(all.elements >= 5 * (last - first + 1));
  CHECK(all.with_roots > all.elements / 2);
}

TEST_CASE(
    "400 elements behind operators that sort and scatter, threads and searches come from those that a tracer finds") {
  const auto [first, last] = seeds(1, 50);
  Compared all;
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    const std::uint64_t some = seed % 4;
    const Compared asked = compare_with_tracer(
        seed, {.control = some == 1, .tuples = some == 2, .sorts = some != 3, .threads = some != 0});
    all.elements += asked.elements, all.with_roots += asked.with_roots;
  }
  CHECK(all.elements >= 8 * (last - first + 1));
  CHECK(all.with_roots > all.elements / 2);
}

TEST_CASE("500 elements behind symbolic dims, branches, recursion and tuples come from those that a tracer finds") {
  const auto [first, last] = seeds(1, 70);
  Compared all;
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    // At least one of them.
    const std::uint64_t some = 1 + seed % 7;
    const Compared asked =
        compare_with_tracer(seed, {.symbolic = (some & 1) != 0, .control = (some & 2) != 0, .tuples = (some & 4) != 0});
    all.elements += asked.elements, all.with_roots += asked.with_roots;
  }
  CHECK(all.elements >= 8 * (last - first + 1));
  CHECK(all.with_roots > all.elements / 2);
}

namespace {

// The times after which an element of memory differs from what it was an instruction before, from a time on.
struct Steps {
  std::vector<std::uint64_t> changes;
  std::uint64_t end = 0;
};

Steps steps_of(Run& run, std::uint64_t from, const ValuePath& path, const runtime::Tensor& like, std::int64_t element) {
  while (run.time() < from) (void)run.advance(nullptr, run.time() + 1);
  const Value held = value_at(run.machine(), path);
  const auto memory = held.is(runtime::ValueKind::Storage) ? held.storage_ref() : held.as_tensor().storage();
  const std::size_t at = like.byte_offset() + std::size_t(element) * like.dtype().bytes();
  const auto bits = [&] {
    std::uint32_t b = 0;
    std::memcpy(&b, memory->data() + at, sizeof b);
    return b;
  };
  Steps steps;
  for (std::uint32_t before = bits(); run.machine().running();) {
    (void)run.advance(nullptr, run.time() + 1);
    const std::uint32_t after = bits();
    if (after != before) steps.changes.push_back(run.time());
    before = after;
  }
  steps.end = run.time();
  return steps;
}

}  // namespace

TEST_CASE("watch sees the changes of random elements, forward and backward") {
  std::size_t seen = 0, programs = 0;
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    const std::string text = RandomKernels(seed).program();
    INFO(text);
    Fixture f(text);
    const std::vector<Value> args = random_args(seed);
    std::mt19937 random{unsigned(seed)};
    const std::int64_t element = std::int64_t(random() % 6);
    const std::string name = fmt::format("v{}", random() % 3);
    f.at(fmt::format("main:v{}", name[1] - '0' + 1).c_str());
    if (f.start(args, false).kind != StopKind::Breakpoint) continue;
    source::Diagnostics d;
    const auto value = f.debugger.evaluate(name, 0, d);
    const auto path = value ? path_to(*f.debugger.machine(), 0, value->as_tensor().storage().get()) : std::nullopt;
    if (!path || !path->fields.empty()) continue;
    const std::uint64_t now = f.debugger.last_stop().time;
    const auto stepped = run_of(f, args);
    const Steps want = steps_of(*stepped, now, *path, value->as_tensor(), element);
    const std::string watched = fmt::format("{}[{}]", name, element);
    const Breakpoint* b = f.debugger.add_watchpoint(watched, 0, false, d);
    REQUIRE_MESSAGE(b, text_of(d));
    const int number = b->number;
    std::vector<std::uint64_t> have;
    const auto is_change = [&](const StopReport& r) {
      return r.kind == StopKind::Breakpoint && r.breakpoints == std::vector<int>{number} &&
             r.details[0].find("ended with its frame") == std::string::npos;
    };
    for (StopReport r = f.debugger.resume(); r.kind == StopKind::Breakpoint; r = f.debugger.resume())
      if (is_change(r)) have.push_back(r.time);
    CAPTURE(seed);
    CAPTURE(watched);
    CHECK(have == want.changes);
    std::vector<std::uint64_t> back;
    for (StopReport r = f.debugger.reverse_resume();
         r.kind == StopKind::Breakpoint && back.size() < want.changes.size(); r = f.debugger.reverse_resume())
      if (is_change(r)) back.insert(back.begin(), r.time + 1);
    CHECK(back == want.changes);
    seen += want.changes.size();
    ++programs;
  }
  CHECK(programs > 40);
  CHECK(seen > 40);
}

TEST_CASE("a name that is watched after its register was freed has the changes of one that was watched before") {
  std::size_t seen = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const std::string text = RandomKernels(seed).program();
    INFO(text);
    // Backward from the end: the same moments, whenever `v0` was watched.
    std::vector<std::string> told;
    for (const bool early : {true, false}) {
      Fixture f(text);
      f.at("main:v1");
      if (f.start(random_args(seed), false).kind != StopKind::Breakpoint) continue;
      const auto watch = [&] {
        source::Diagnostics d;
        REQUIRE_MESSAGE(f.debugger.add_watchpoint("v0", 0, false, d), text_of(d));
      };
      if (early) watch();
      f.at("main:out");
      while (f.where() != "main:out" && f.debugger.last_stop().kind == StopKind::Breakpoint) (void)f.debugger.resume();
      if (!early) watch();
      std::string moments;
      for (int n = 0; n < 4 && f.debugger.reverse_resume().kind == StopKind::Breakpoint; ++n)
        if (!f.debugger.last_stop().details.empty()) moments += fmt::format("{} ", f.debugger.last_stop().time);
      told.push_back(moments);
    }
    CAPTURE(seed);
    if (told.size() == 2) CHECK(told[0] == told[1]);
    if (told.size() == 2) seen += std::size_t(std::count(told[0].begin(), told[0].end(), ' '));
  }
  CHECK(seen > 60);
}

TEST_CASE("an interrupted search of a watch has no answer, changes nothing, and can be made again") {
  const std::string text = RandomKernels(5).program();
  INFO(text);
  Fixture f(text);
  f.at("main:v1");
  REQUIRE(f.start(random_args(5), false).kind == StopKind::Breakpoint);
  f.at("main:out");
  while (f.where() != "main:out" && f.debugger.last_stop().kind == StopKind::Breakpoint) (void)f.debugger.resume();
  REQUIRE(f.where() == "main:out");
  source::Diagnostics d;
  const Breakpoint* b = f.debugger.add_watchpoint("v0", 0, false, d);
  REQUIRE_MESSAGE(b, text_of(d));
  const int number = b->number;
  const std::string before = f.state();
  // Whichever part of it takes the interrupt: the search, or looking back for a name whose register was freed.
  f.session.interrupt() = true;
  bool cancelled = false;
  StopReport r;
  try {
    r = f.debugger.reverse_resume();
  } catch (const support::Cancelled&) {
    cancelled = true;
    support::clear_cancel();
  }
  CHECK((cancelled || r.kind == StopKind::Interrupted));
  f.session.interrupt() = false;
  CHECK(f.debugger.frames().size() == 1);
  CHECK(f.state() == before);
  // As one that was never interrupted.
  std::vector<std::uint64_t> have;
  for (int n = 0; n < 6 && f.debugger.reverse_resume().kind == StopKind::Breakpoint; ++n)
    if (f.debugger.last_stop().breakpoints == std::vector<int>{number}) have.push_back(f.debugger.last_stop().time);
  Fixture other(text);
  other.at("main:v1");
  REQUIRE(other.start(random_args(5), false).kind == StopKind::Breakpoint);
  other.at("main:out");
  while (other.where() != "main:out" && other.debugger.last_stop().kind == StopKind::Breakpoint)
    (void)other.debugger.resume();
  REQUIRE(other.debugger.add_watchpoint("v0", 0, false, d));
  std::vector<std::uint64_t> want;
  for (int n = 0; n < 6 && other.debugger.reverse_resume().kind == StopKind::Breakpoint; ++n)
    if (other.debugger.last_stop().breakpoints == std::vector<int>{number})
      want.push_back(other.debugger.last_stop().time);
  CHECK(have == want);
  CHECK_FALSE(want.empty());
}

}  // namespace rldb::debug
