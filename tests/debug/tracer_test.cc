// Elements of random programs: where they come from and what they reach, against a slow exact tracer.
#include <random>

#include "debug/way_back.h"
#include "rldb/debug/influence.h"
#include "rldb/repro/generate.h"

using namespace rldb;
using namespace rldb::debug;
using namespace rldb::debug::testing;

namespace {

struct Program {
  std::vector<Value> args;
  std::string text;
};

std::optional<Program> program_of(Fixture& f, std::uint64_t seed) {
  const auto made = repro::generate(f.session, seed, {.bindings = 6, .operators = {}});
  source::Diagnostics d;
  if (!made || !f.session.load_text("program.py", made->text, d)) return std::nullopt;
  Program program{{}, made->text};
  for (const auto& [name, value] : repro::inputs_of(f.session, *made)) program.args.push_back(value);
  return program;
}

// `12: 3`: elements by the time of the call.
std::string text_of(const std::map<std::uint64_t, std::int64_t>& counts) {
  std::string text;
  for (const auto& [time, count] : counts) text += fmt::format("{}: {}\n", time, count);
  return text;
}

}  // namespace

TEST_CASE("500 elements of random programs come from the elements that a tracer finds") {
  std::size_t asked = 0, with_roots = 0;
  for (std::uint64_t seed = 1; seed <= 400 && asked < 500; ++seed) {
    Fixture f;
    const auto program = program_of(f, seed);
    if (!program) continue;
    INFO(program->text);
    // The tracer's own run: to the moment before it returns, where the registers still hold everything.
    const auto traced = run_of(f, program->args), asked_run = run_of(f, program->args);
    to_its_end(*asked_run);
    if (asked_run->time() == 0 || asked_run->go_to(asked_run->time() - 1) != Run::Seek::Done) continue;
    if (asked_run->machine().frames().size() != 1) continue;
    Tracer tracer;
    tracer.stop_before(asked_run->time());
    if (!tracer.trace(*traced)) continue;
    std::mt19937 random{unsigned(seed)};
    const std::vector<ValuePath> places = tensors_of(asked_run->machine());
    Back back(*asked_run);
    for (int i = 0; i < 12 && !places.empty(); ++i) {
      const ValuePath& place = places[random() % places.size()];
      const runtime::Tensor& t = value_at(asked_run->machine(), place).as_tensor();
      if (t.dtype().bits % 8 != 0) continue;
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
  CHECK(asked >= 500);
  CHECK(with_roots > 250);
}

TEST_CASE("elements of random programs reach as many elements as a tracer finds") {
  std::size_t asked = 0, reaching = 0;
  for (std::uint64_t seed = 1; seed <= 200 && asked < 150; ++seed) {
    Fixture f;
    const auto program = program_of(f, seed);
    if (!program) continue;
    INFO(program->text);
    const auto traced = run_of(f, program->args);
    Tracer tracer;
    if (!tracer.trace(*traced)) continue;
    if (f.start(program->args, false).kind != StopKind::Finished) continue;
    const auto& names = f.debugger.build()->executable->functions;
    const auto main = std::find_if(names.begin(), names.end(), [](const auto& e) { return e.name == "main"; });
    std::mt19937 random{unsigned(seed)};
    for (std::size_t a = 0; a < program->args.size() && a < 4; ++a) {
      if (!program->args[a].is(runtime::ValueKind::Tensor)) continue;
      const runtime::Tensor& t = program->args[a].as_tensor();
      if (t.element_count() == 0 || t.dtype().bits % 8 != 0) continue;
      const std::int64_t position = std::int64_t(random() % std::uint64_t(t.element_count()));
      std::string index;
      std::int64_t rest = position;
      for (std::size_t d = t.shape().size(); d-- > 0; rest /= t.shape()[d])
        index = fmt::format("{}{}{}", rest % t.shape()[d], index.empty() ? "" : ", ", index);
      if (index.empty()) continue;
      source::Diagnostics d;
      const auto influence = influence_of(f.debugger, fmt::format("{}[{}]", main->param_names[a], index), 0, d);
      REQUIRE_MESSAGE(influence, text_of(d));
      std::map<std::uint64_t, std::int64_t> counts;
      for (const InfluenceStep& s : influence->steps)
        if (s.remark.empty()) counts[s.time] += s.elements;
      CAPTURE(seed);
      CAPTURE(influence->name);
      CHECK(text_of(counts) == text_of(tracer.reached({a, position})));
      ++asked;
      reaching += !counts.empty();
    }
  }
  CHECK(asked >= 100);
  CHECK(reaching > 40);
}
