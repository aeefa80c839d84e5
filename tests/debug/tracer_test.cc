// Elements of random programs: where they come from and what they reach, against a slow exact tracer.
#include "debug/tracer.h"

#include <doctest/doctest.h>

#include <queue>
#include <random>

#include "debug/helpers.h"
#include "debug/provenance/writers.h"
#include "rldb/debug/influence.h"
#include "rldb/repro/generate.h"

using namespace rldb;
using namespace rldb::debug;
using namespace rldb::debug::testing;

namespace {

std::shared_ptr<Run> run_of(Fixture& f, const std::vector<Value>& args) {
  source::Diagnostics d;
  auto build = f.session.runnable(d);
  REQUIRE_MESSAGE(build, text_of(d));
  auto machine = f.session.start(*build, "main", args, d);
  REQUIRE_MESSAGE(machine, text_of(d));
  return std::make_shared<Run>(std::make_shared<const CodeMap>(build, f.session), *std::move(machine), f.session,
                               "main", args);
}

// By the history of writes: the elements of arguments at the ends of all ways back from some bytes.
class Back {
 public:
  explicit Back(const Run& run) : run_(run), writers_(run, run.time()) {}

  Tracer::Roots roots(const ValuePath& path, const runtime::Tensor& t, std::int64_t position) {
    auto range = writers_.history().now(path, t);
    REQUIRE(range);
    const std::int64_t width = std::int64_t(t.dtype().bytes());
    found_.clear();
    seen_.clear();
    ask({range->interval, range->memory, range->begin + position * width, range->begin + (position + 1) * width},
        run_.time());
    while (!open_.empty()) {
      const Question q = open_.top();
      open_.pop();
      answer(q);
    }
    return found_;
  }

 private:
  struct Question {
    std::uint64_t time;
    MemoryRange range;
    bool operator<(const Question& o) const { return time < o.time; }
  };
  void ask(const MemoryRange& r, std::uint64_t time) {
    if (seen_.emplace(r.interval, r.memory, r.begin, time).second) open_.push({time, r});
  }
  void answer(const Question& q) {
    MemoryRange range = q.range;
    const Writers::Found found = writers_.last(range, q.time);
    if (found.end == WriteHistory::End::Chosen) {
      // Memory that was cleared, constants, the shape heap: no element of an argument.
      if (!found.writer.is_kernel) return;
      REQUIRE_MESSAGE(found.writer.followed, found.writer.callee);
      for (const CallSource& s : found.writer.sources)
        for (const Touch& t : found.writer.call.args) {
          if (t.arg != s.arg || t.part != s.part) continue;
          const Value v = Writers::argument(run_, found.writer.before->machine, found.writer.call, t);
          const std::int64_t width = std::int64_t(v.as_tensor().dtype().bytes());
          ask({range.interval, t.memory, t.begin + s.position * width, t.begin + (s.position + 1) * width},
              found.writer.call.time);
        }
      return;
    }
    if (found.end == WriteHistory::End::Created) return;  // never written
    REQUIRE(found.end == WriteHistory::End::Start);
    const auto path = writers_.history().path_at_begin(range.interval, range.memory);
    if (!path || path->frame != 0 || std::size_t(path->reg) >= run_.arguments()->size()) return;  // a constant
    const runtime::Tensor& t = (*run_.arguments())[std::size_t(path->reg)].as_tensor();
    found_.insert(
        {std::size_t(path->reg), (range.begin - std::int64_t(t.byte_offset())) / std::int64_t(t.dtype().bytes())});
  }

  const Run& run_;
  Writers writers_;
  Tracer::Roots found_;
  std::set<std::tuple<std::size_t, const void*, std::int64_t, std::uint64_t>> seen_;
  std::priority_queue<Question> open_;
};

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

// Before the end, with a tensor in each of these registers of the only frame.
std::vector<ValuePath> tensors_of(const vm::Machine& m) {
  std::vector<ValuePath> places;
  for (std::size_t r = 0; r < m.registers(0).size(); ++r)
    if (m.registers(0)[r].is(runtime::ValueKind::Tensor) && m.registers(0)[r].as_tensor().element_count() > 0)
      places.push_back({0, bytecode::RegName(r), {}});
  return places;
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
    while (asked_run->machine().running()) (void)asked_run->advance(nullptr, asked_run->time() + 1);
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
