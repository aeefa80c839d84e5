// Elements of programs against what is found without looking inside: an element that differs when an element of an
// argument is changed comes from it.
#include <cstdlib>
#include <cstring>
#include <random>

#include "debug/way_back.h"
#include "rldb/repro/generate.h"
#include "rldb/runtime/copy.h"

using namespace rldb;
using namespace rldb::debug;
using namespace rldb::debug::testing;

namespace {

// The moment before a run returns.
std::shared_ptr<Run> before_the_end(Fixture& f, const std::vector<Value>& args) {
  const auto run = run_of(f, args);
  while (run->machine().running() && !run->fault())
    if (run->advance(nullptr, Run::kForever).stopped()) return nullptr;
  if (run->fault() || run->time() == 0 || run->go_to(run->time() - 1) != Run::Seek::Done) return nullptr;
  return run->machine().frames().size() == 1 ? run : nullptr;
}

std::vector<Value> copies_of(const std::vector<Value>& args) {
  const auto all = runtime::deep_copy(Value::of_tuple(args));
  REQUIRE(all.ok());
  return all->as_tuple().fields;
}

// Other values for an element: numbers anywhere, integers among those that the tensor has, since they may be indices.
void change(const runtime::Tensor& t, std::int64_t position, int trial) {
  const runtime::DType d = t.dtype();
  std::byte* at = t.data() + std::size_t(position) * d.bytes();
  if (d.is_float()) {
    const double old = runtime::load_as_double(at, d);
    runtime::store_double(at, d, trial == 0 ? old + 1 : trial == 1 ? -3 * old - 0.5 : trial == 2 ? 50 : -50);
    return;
  }
  if (d == runtime::DType::Bool()) {
    runtime::store_int(at, d, 1 - runtime::load_as_int(at, d));
    return;
  }
  const std::int64_t other = (position + 1 + trial * 3) % t.element_count(), old = runtime::load_as_int(at, d);
  std::int64_t now = runtime::load_as_int(t.data() + std::size_t(other) * d.bytes(), d);
  if (now == old) now = trial == 0 && old > 0 ? old - 1 : old + trial;
  runtime::store_int(at, d, now);
}

struct Asked {
  std::size_t elements = 0, changes = 0, roots = 0, silent = 0, unknown = 0;
};

std::string element_name(const Run& run, const Tracer::Root& r) {
  const auto& functions = run.code().executable().functions;
  const auto main = std::find_if(functions.begin(), functions.end(), [](const auto& e) { return e.name == "main"; });
  return fmt::format("{}[{}]", main->param_names[r.first], r.second);
}

// `most`: elements of arguments that are changed, elements that are asked about.
Asked compare_with_changes(Fixture& f, const std::vector<Value>& args, unsigned seed, std::size_t most) {
  Asked asked;
  const auto run = before_the_end(f, copies_of(args));
  if (!run) return asked;
  std::mt19937 random{seed};
  struct Element {
    ValuePath place;
    std::int64_t position;
    std::string bytes;
    Tracer::Roots differs_with = {};
  };
  std::vector<Element> elements;
  std::vector<ValuePath> places = tensors_of(run->machine());
  std::erase_if(places, [&](const ValuePath& p) {
    return std::size_t(p.reg) < args.size() || value_at(run->machine(), p).as_tensor().dtype().bits % 8 != 0;
  });
  if (places.empty()) return asked;
  const auto bytes_of = [](const runtime::Tensor& t, std::int64_t position) {
    return std::string(reinterpret_cast<const char*>(t.peek()) + std::size_t(position) * t.dtype().bytes(),
                       t.dtype().bytes());
  };
  for (std::size_t i = 0; i < most; ++i) {
    const ValuePath place = places[random() % places.size()];
    const runtime::Tensor& t = value_at(run->machine(), place).as_tensor();
    const std::int64_t position = std::int64_t(random() % std::uint64_t(t.element_count()));
    elements.push_back({place, position, bytes_of(t, position)});
  }
  std::vector<Tracer::Root> all;
  // Numbers without dims may decide which calls are made, which is no question about the element's bytes.
  for (std::size_t a = 0; a < args.size(); ++a)
    if (args[a].is(runtime::ValueKind::Tensor) && args[a].as_tensor().dtype().bits % 8 == 0 &&
        !(args[a].as_tensor().shape().empty() && args[a].as_tensor().dtype() == DType::Bool()))
      for (std::int64_t p = 0; p < args[a].as_tensor().element_count(); ++p) all.emplace_back(a, p);
  std::shuffle(all.begin(), all.end(), random);
  if (all.size() > most) all.resize(most);
  for (const Tracer::Root& r : all)
    for (int trial = 0; trial < 4; ++trial) {
      std::vector<Value> changed = copies_of(args);
      change(changed[r.first].as_tensor(), r.second, trial);
      const auto other = before_the_end(f, changed);
      if (!other) continue;
      for (Element& e : elements) {
        const Value v = value_at(other->machine(), e.place);
        if (!v.is(runtime::ValueKind::Tensor) || e.position >= v.as_tensor().element_count()) continue;
        if (v.as_tensor().dtype().bytes() != e.bytes.size()) continue;
        if (bytes_of(v.as_tensor(), e.position) != e.bytes) e.differs_with.insert(r);
      }
    }
  Back back(*run, true);
  for (const Element& e : elements) {
    const runtime::Tensor& t = value_at(run->machine(), e.place).as_tensor();
    const Tracer::Roots roots = back.roots(e.place, t, e.position);
    if (!back.known()) {
      ++asked.unknown;
      continue;
    }
    CAPTURE(e.place.reg);
    CAPTURE(e.position);
    for (const Tracer::Root& r : e.differs_with)
      CHECK_MESSAGE(roots.contains(r), "differs with " << element_name(*run, r));
    for (const Tracer::Root& r : all) {
      const bool silent = roots.contains(r) && !e.differs_with.contains(r);
      asked.silent += silent;
      if (silent && std::getenv("RLDB_PERTURB_SHOW"))
        MESSAGE("register " << e.place.reg.value() << " element " << e.position << ": no difference with "
                            << element_name(*run, r));
    }
    ++asked.elements;
    asked.changes += e.differs_with.size();
    asked.roots += roots.size();
  }
  return asked;
}

std::optional<std::vector<Value>> generated(Fixture& f, std::uint64_t seed, std::string& text) {
  const auto made = repro::generate(f.session, seed, {.bindings = 6, .operators = {}});
  source::Diagnostics d;
  if (!made || !f.session.load_text("program.py", made->text, d)) return std::nullopt;
  text = made->text;
  std::vector<Value> args;
  for (const auto& [name, value] : repro::inputs_of(f.session, *made)) args.push_back(value);
  return args;
}

}  // namespace

TEST_CASE("elements of random programs differ only with elements that they come from") {
  std::uint64_t first = 1, last = 30;
  if (const char* range = std::getenv("RLDB_PERTURB_SEEDS")) {
    char* end = nullptr;
    first = std::strtoull(range, &end, 10);
    last = *end == ':' ? std::strtoull(end + 1, nullptr, 10) : first;
  }
  Asked sum;
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    Fixture f;
    std::string text;
    const auto args = generated(f, seed, text);
    if (!args) continue;
    INFO(text);
    CAPTURE(seed);
    const Asked a = compare_with_changes(f, *args, unsigned(seed), 12);
    sum.elements += a.elements, sum.changes += a.changes, sum.silent += a.silent, sum.unknown += a.unknown;
  }
  MESSAGE(sum.elements << " elements " << sum.changes << " changes " << sum.silent << " silent " << sum.unknown
                       << " unknown");
  CHECK(sum.elements > 100);
  CHECK(sum.changes > 100);
}
