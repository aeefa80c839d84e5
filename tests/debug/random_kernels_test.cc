// Random kernels: where elements come from, what `watch` sees, against what an execution step by step sees.
#include "debug/random_kernels.h"

#include <algorithm>
#include <cstring>
#include <random>

#include "debug/provenance/why_memory.h"
#include "debug/way_back.h"

namespace rldb::debug {

using namespace testing;

namespace {

std::vector<Value> random_args(std::uint64_t seed) {
  std::mt19937 random{unsigned(seed)};
  const auto floats = [&] {
    std::vector<double> v;
    for (int k = 0; k < 6; ++k) v.push_back(double(int(random() % 19)) - 9);
    return f32({6}, v);
  };
  auto i = runtime::Tensor::empty({6}, runtime::DType::Int(64)).value();
  for (int k = 0; k < 6; ++k)
    runtime::store_int(i->data() + 8 * k, runtime::DType::Int(64), std::int64_t(random() % 6));
  Value x = floats(), z = floats();
  return {x, z, Value(i)};
}

}  // namespace

TEST_CASE("300 elements of random kernels come from the elements that a tracer finds") {
  std::size_t asked = 0, with_roots = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const std::string text = RandomKernels(seed).program();
    INFO(text);
    Fixture f(text);
    const std::vector<Value> args = random_args(seed);
    const auto traced = run_of(f, args), asked_run = run_of(f, args);
    while (asked_run->machine().running()) (void)asked_run->advance(nullptr, asked_run->time() + 1);
    REQUIRE(asked_run->go_to(asked_run->time() - 1) == Run::Seek::Done);
    Tracer tracer;
    tracer.stop_before(asked_run->time());
    REQUIRE(tracer.trace(*traced));
    std::mt19937 random{unsigned(seed)};
    const std::vector<ValuePath> places = tensors_of(asked_run->machine());
    asked_run->set_skim_from(seed % 2 ? 1 : Run::kNoSkim);
    Back back(*asked_run);
    for (int n = 0; n < 8; ++n) {
      const ValuePath& place = places[random() % places.size()];
      const runtime::Tensor& t = value_at(asked_run->machine(), place).as_tensor();
      const std::int64_t position = std::int64_t(random() % std::uint64_t(t.element_count()));
      const runtime::Tensor& same = value_at(traced->machine(), place).as_tensor();
      const auto& expected = tracer.of(
          same.storage().get(), std::int64_t(same.byte_offset()) + position * std::int64_t(same.dtype().bytes()));
      CAPTURE(seed);
      CAPTURE(position);
      CAPTURE(place.reg);
      CHECK(back.roots(place, t, position) == expected);
      ++asked;
      with_roots += !expected.empty();
    }
  }
  CHECK(asked >= 300);
  CHECK(with_roots > 250);
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

}  // namespace rldb::debug
