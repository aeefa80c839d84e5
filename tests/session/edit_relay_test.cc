// Edits of a Relay program's text through its session.
#include <doctest/doctest.h>

#include <random>

#include "rldb/ir/equal.h"
#include "rldb/ir/printer.h"
#include "rldb/relay/ir/equal.h"
#include "rldb/relay/ir/printer.h"
#include "rldb/session/relay_text.h"
#include "rldb/session/session.h"

using namespace rldb;
using session::Session;

namespace {

struct NoRelayOutput : runtime::Output {
  void write(std::string_view) override {}
};

constexpr std::string_view kRelayText = R"(#[version = "0.0.5"]
def @twice(%v: Tensor[(4), float32]) -> Tensor[(4), float32] {
  let %d = add(%v, %v);
  multiply(%d, %v)
}

def @main(%x: Tensor[(4), float32], %c: Tensor[(), bool]) {
  %0 = tanh(%x);
  let %y = @twice(%0);
  let %z = multiply(%y, %0);
  if (%c) {
    subtract(%z, %x)
  } else {
    %z
  }
}
)";

struct EditedRelay {
  NoRelayOutput output;
  Session session;
  source::Diagnostics diagnostics;

  explicit EditedRelay(session::Machine machine = session::Machine::Relay) : session(options(machine), &output) {
    REQUIRE(session.load_text("test.relay", std::string(kRelayText), diagnostics));
  }
  static session::Options options(session::Machine machine) {
    session::Options o;
    o.keep_document = true;
    o.machine = machine;
    return o;
  }
  const session::RelayText& program() { return *session::relay_text(session.program()); }
  const relay::Module* module() { return program().module(); }
};

std::string relay_with(std::string_view from, std::string_view to) {
  std::string out(kRelayText);
  const auto at = out.find(from);
  REQUIRE(at != std::string::npos);
  return out.replace(at, from.size(), to);
}

std::string relay_rendered(const source::Diagnostics& found, const Session& session) {
  std::string text;
  for (const source::Diagnostic& d : found.all()) text += source::render(d, session.sources());
  return text;
}

std::string changed_at_random(std::string_view text, std::mt19937& random) {
  static constexpr std::string_view kPieces[] = {
      "%x",         "add(%y, %y)", "(",  ")",       ";", "{", "}", "\n", "let %k = tanh(%x);\n", "%1 = tanh(%0);\n",
      "@twice(%x)", "//",          "\"", "float16", "5", ""};
  const auto below = [&](std::size_t n) { return n == 0 ? 0 : random() % n; };
  std::string out(text);
  if (below(3) == 0) {  // a line is removed, or doubled
    const std::size_t at = out.find('\n', below(out.size()));
    if (at == std::string::npos) return out;
    const std::size_t end = std::min(out.find('\n', at + 1), out.size());
    const std::string line = out.substr(at, end - at);
    return below(2) == 0 ? out.erase(at, line.size()) : out.insert(at, line);
  }
  const std::size_t at = below(out.size());
  return out.replace(at, below(6), kPieces[below(std::size(kPieces))]);
}

}  // namespace

TEST_CASE("an edit of Relay text reads what it touches") {
  EditedRelay e;
  const relay::Function* twice = e.module()->find("twice");
  session::TextChange change;
  REQUIRE(e.session.edit_text(relay_with("multiply(%y", "add(%y"), e.diagnostics, &change));
  CHECK(!change.whole);
  CHECK(change.functions == 1);
  CHECK(change.statements == 1);
  CHECK(change.changed == std::vector<std::string>{"main"});
  CHECK(e.module()->find("twice") == twice);
  CHECK(e.program().source().typing.of(twice) != nullptr);
  // Two places are one edit of the text.
  std::string both = relay_with("tanh(%x)", "exp(%x)");
  both.replace(both.find("add(%v, %v)"), 11, "tanh(%v)");
  REQUIRE(e.session.edit_text(both, e.diagnostics, &change));
  CHECK(!change.whole);
  CHECK(change.functions == 2);
  CHECK(change.statements == 3);
  CHECK(change.changed == std::vector<std::string>{"main", "twice"});
}

TEST_CASE("Relay text with errors changes nothing, whoever finds them") {
  EditedRelay e;
  const relay::Module* before = e.module();
  const source::Span place = e.program().source().ctx.span(before->find("main"));
  for (const auto& [from, to] : {std::pair<std::string_view, std::string_view>{"%y, %0)", "%y, %0"},
                                 {"multiply(%y", "multiply(%nowhere"},
                                 {"def @twice", "\n\ndef @two"},
                                 {"%v: Tensor[(4)", "%v: Tensor[(5)"}}) {
    source::Diagnostics found;
    CHECK(!e.session.edit_text(relay_with(from, to), found));
    CHECK(found.has_errors());
    CHECK(e.module() == before);
    const source::Span now = e.program().source().ctx.span(before->find("main"));
    CHECK(now.begin == place.begin);
    CHECK(now.end == place.end);
    CHECK(e.session.sources().get(place.file).text() == kRelayText);
  }
}

TEST_CASE("a restored session has the Relay text before the edit, and passes are applied again") {
  EditedRelay e;
  REQUIRE(e.session.program()->run_passes("ToANormalForm", e.diagnostics));
  Session::Snapshot before = e.session.snapshot();
  const relay::Module* module = e.module();
  session::TextChange change;
  REQUIRE(
      e.session.edit_text(relay_with("  let %z = multiply(%y, %0);\n", "  let %z = %y;\n"), e.diagnostics, &change));
  CHECK(change.passes == std::vector<std::string>{"ToANormalForm"});
  CHECK(e.session.program()->position() == 1);
  CHECK(change.moved_line(10) == 10);
  e.session.restore(std::move(before));
  CHECK(e.module() == module);
  CHECK(e.session.sources().get(e.program().source().file).text() == kRelayText);
  REQUIRE(e.session.edit_text(relay_with("multiply(%y", "add(%y"), e.diagnostics, &change));
  CHECK(change.changed == std::vector<std::string>{"main"});
}

namespace {

// The place of each function, and of each binding of `main`.
std::string places_of(const Session& session) {
  std::string text;
  const auto add = [&](const ir::Node* node) {
    const source::Span span = session.context().span_of(node);
    text += std::to_string(span.begin) + "-" + std::to_string(span.end) + " ";
  };
  for (const ir::ModuleEntry& e : session.module()->entries) add(e.function);
  if (const auto* main = ir::as<ir::Function>(session.module()->find("main")))
    for (const ir::BindingBlock* block : main->body->blocks)
      for (const ir::Binding* b : block->bindings) add(b);
  return text;
}

}  // namespace

TEST_CASE("Relay text that is translated to Relax is edited, too") {
  EditedRelay e(session::Machine::Relax);
  REQUIRE(e.session.program()->run_passes("LegalizeOps", e.diagnostics));
  const ir::Module* module = e.session.module();
  const std::string places = places_of(e.session);
  Session::Snapshot before = e.session.snapshot();
  session::TextChange change;
  REQUIRE(e.session.edit_text(relay_with("  let %z = multiply(%y, %0);", "\n  let %z = add(%y, %0);"), e.diagnostics,
                              &change));
  CHECK(!change.whole);
  CHECK(change.functions == 1);
  CHECK(change.moved_line(11) == 12);
  CHECK(change.passes == std::vector<std::string>{"LegalizeOps"});
  e.session.restore(std::move(before));
  CHECK(e.session.module() == module);
  CHECK(places_of(e.session) == places);
  source::Diagnostics found;
  CHECK(!e.session.edit_text(relay_with("multiply(%y", "multiply(%nowhere"), found));
  CHECK(found.has_errors());
  CHECK(e.session.module() == module);
  CHECK(places_of(e.session) == places);
}

namespace {

// The same for an edited and a fresh program.
std::string program_text(const Session& session, session::Machine machine) {
  if (machine == session::Machine::Relax) return ir::print(session.module()) + places_of(session);
  return relay::print(session::relay_text(session.program())->module());
}

}  // namespace

TEST_CASE("edits of Relay text at random give the program and the diagnostics of a fresh reading, translated or not") {
  for (const session::Machine machine : {session::Machine::Relay, session::Machine::Relax}) {
    for (std::uint32_t seed = 1; seed <= 20; ++seed) {
      EditedRelay e(machine);
      std::mt19937 random(seed);
      std::string text(kRelayText);
      for (int i = 0; i < 25; ++i) {
        const std::string next = changed_at_random(text, random);
        source::Diagnostics found, expected;
        const bool ok = e.session.edit_text(next, found);
        NoRelayOutput output;
        session::Options options = EditedRelay::options(machine);
        options.keep_document = false;
        Session fresh(options, &output);
        const bool fresh_ok = fresh.load_text("test.relay", next, expected);
        CAPTURE(seed);
        CAPTURE(next);
        REQUIRE(ok == fresh_ok);
        REQUIRE(relay_rendered(found, e.session) == relay_rendered(expected, fresh));
        if (!ok) continue;
        text = next;
        if (machine == session::Machine::Relay) {
          const relay::Module* again = session::relay_text(fresh.program())->module();
          REQUIRE(!relay::first_difference(e.module(), again));
        }
        REQUIRE(program_text(e.session, machine) == program_text(fresh, machine));
      }
    }
  }
}
