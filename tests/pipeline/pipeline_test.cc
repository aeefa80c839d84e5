// Pipelines of a language of its own, whose modules are numbers: text, options, places of mistakes, instruments.
#include <doctest/doctest.h>

#include "rldb/pipeline/instruments.h"
#include "rldb/source/diagnostic_pipeline.h"

using namespace rldb;
using namespace rldb::pipeline;

namespace {

struct AddOptions {
  option::Int amount = 1;
  option::MaybeText why = "because";
  option::Names names;
};
template <class F>
void each_option(AddOptions& o, const F& f) {
  f("amount", o.amount, "how much");
  f("why", o.why, "the reason");
  f("names", o.names, "of nothing");
}

const PassRow kAdd{"Add", "Plus", options_of<AddOptions>(), "add a number"};
const PassRow kFail{"Fail", {}, options_of<NoOptions>(), "fail"};

// Numbers and words; everything else is Other.
class Calculator : public PassTable {
 public:
  std::vector<const PassRow*> passes() const override { return {&kAdd, &kFail}; }
  const PassRow* find(std::string_view name) const override {
    for (const PassRow* p : passes())
      if (name == p->name || (!p->short_name.empty() && name == p->short_name)) return p;
    return nullptr;
  }
  std::span<const NamedPipeline> pipelines() const override {
    static constexpr NamedPipeline kAll[] = {{"twice", "Add,Add(amount=2)", "two additions"}};
    return kAll;
  }
  WrittenValue read_value(std::string_view text) const override {
    WrittenValue v;
    v.written = text;
    v.kind = WrittenValue::Kind::Text;
    v.text = text;
    if (text == "None") v.kind = WrittenValue::Kind::None;
    if (text.find_first_not_of("0123456789") == std::string_view::npos) {
      v.kind = WrittenValue::Kind::Int;
      v.integer = std::stoll(v.written);
    }
    return v;
  }
};

constexpr int kNumbers[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};

class Numbers : public Language {
 public:
  Result<ModuleRef> apply(const Invocation& pass, ModuleRef module) override {
    if (pass.pass == &kFail) return support::Failure(source::message(diag::PassReported));
    return ModuleRef(module.as<int>() + read_options<AddOptions>(pass.arguments).amount);
  }
  std::vector<std::string> changed(ModuleRef, ModuleRef after) const override {
    return {std::to_string(*after.as<int>())};
  }
};

std::string fault(std::string_view text) {
  auto parsed = parse(Calculator(), text);
  if (parsed.ok()) return to_string(*parsed);
  const Fault& f = parsed.error();
  return std::string(text.substr(f.begin, f.end - f.begin)) + ": " + f.message.text;
}

// Refuses odd numbers.
class EvenOnly : public Instrument {
 public:
  Result<support::Unit> after(const Record& r) override {
    if (*r.after.as<int>() % 2 == 0) return support::Unit{};
    return support::Failure(source::message(diag::PassVerifyFailed, r.pass.name()));
  }
};

}  // namespace

TEST_CASE("pipeline: a text is read, and printed as it was written") {
  CHECK(fault("Add( 3 ), Plus") == "Add(3),Add");
  CHECK(fault("Add{amount=3},twice") == "Add(amount=3),Add,Add(amount=2)");
  CHECK(fault("tvm.Sequential([Add, Sequential([Add(2)])]),") == "Add,Add(2)");
}

TEST_CASE("pipeline: a mistake is found at its place") {
  CHECK(fault("Add,Ad") == "Ad: unknown pass `Ad`");
  CHECK(fault("Add(amont=2)") == "amont: pass `Add` has no option `amont`");
  CHECK(fault("Add(2, amount=3)") == "amount: option `amount` of pass `Add` is given twice");
  CHECK(fault("Add(1, b, c, d)") == "d: pass `Add` takes 3 options, got 4");
  CHECK(fault("Sequential([Add, Add(amount=x)])") == "x: option `amount` of pass `Add` expects an integer, got `x`");
  CHECK(fault("Add Add") == "A: pipeline text, column 5: expected `,` or the end");
  source::SourceManager sources;
  source::Diagnostics found;
  CHECK_FALSE(parse(Calculator(), "Add,Ad", sources, found));
  CHECK(source::render(found, sources) ==
        "<passes>:1:5: error: unknown pass `Ad`\n    1 | Add,Ad\n      |     ^~\nhint: did you mean `Add`?\n");
}

TEST_CASE("pipeline: options have the defaults of their struct") {
  CHECK(to_string(kAdd.options[0]) == "amount: int = 1");
  CHECK(to_string(kAdd.options[1]) == "why: text = \"because\"");
  CHECK(to_string(kAdd.options[2]) == "names: [names] = []");
  const auto read = [](std::string_view text) {
    return read_options<AddOptions>(parse(Calculator(), text)->at(0).arguments);
  };
  CHECK(read("Add").why == "because");
  CHECK_FALSE(read("Add(why=None)").why);
  CHECK(read("Add(None)").amount == 1);
  CHECK(read("Add(names=x)").names == std::vector<std::string>{"x"});
}

TEST_CASE("pipeline: instruments see each pass, and may refuse its result") {
  Numbers language;
  Recorder recorder;
  EvenOnly even;
  History history;
  history.start(kNumbers);
  Versions versions(history);
  const auto passes = [](std::string_view text) { return *parse(Calculator(), text); };
  auto made = run(language, kNumbers, passes("Add(2),Add(2)"), {&recorder, &even, &versions});
  REQUIRE(made.ok());
  CHECK(*made->as<int>() == 4);
  CHECK(history.size() == 3);
  CHECK(history.is_edit(0));
  CHECK_FALSE(history.is_edit(2));
  CHECK(recorder.records[1].changed == std::vector<std::string>{"4"});
  // The versions come after the check: what is refused does not become one.
  made = run(language, history.current(), passes("Add,Add"), {&recorder, &even, &versions});
  CHECK_FALSE(made.ok());
  CHECK(history.size() == 3);
  CHECK(recorder.records.size() == 3);
  made = run(language, kNumbers, passes("Fail,Add"), {&recorder, &versions});
  REQUIRE_FALSE(made.ok());
  CHECK(made.error().text == "pass `Fail`: it failed with the errors above");
  CHECK(recorder.records.size() == 4);
  CHECK_FALSE(recorder.records.back().after);
}
