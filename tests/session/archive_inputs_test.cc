// Inputs of a run taken from an archive by the names of the parameters.
#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "rldb/runtime/tensor_file.h"
#include "rldb/session/session.h"
#include "rldb/support/file.h"

using namespace rldb;
using session::Session;

namespace {

struct Quiet : runtime::Output {
  void write(std::string_view) override {}
};

constexpr const char* kTwo = R"(
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n",), "float32"), y: R.Tensor(("n",), "bfloat16"), z: R.Tensor(("n",), "float32")):
        return x
)";

runtime::Value literal(std::string_view text) {
  auto value = runtime::parse_value_literal(text);
  REQUIRE(value.ok());
  return std::move(value).value();
}

struct Fixture {
  Quiet quiet;
  Session session{{}, &quiet};
  std::string path;
  Fixture() {
    char folder[] = "/tmp/rldb_inputs_XXXXXX";
    REQUIRE(::mkdtemp(folder));
    path = folder;
    source::Diagnostics d;
    REQUIRE(session.load_text("two", kTwo, d));
  }
  ~Fixture() { std::filesystem::remove_all(path); }
  std::string archive(const std::string& name, const runtime::NamedTensors& tensors) {
    const std::string at = path + "/" + name;
    REQUIRE(support::write_file(at, runtime::write_npz(tensors)).ok());
    return "@" + at;
  }
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "an archive gives each parameter the member of its name; the rest is made up") {
  const std::string text =
      archive("all.npz", {{"y", literal("3xu16=16256,16384,16448")}, {"x", literal("3xf32=1,2,3")}});
  source::Diagnostics d;
  const std::vector<std::string> texts = {text};
  const auto args = session.arguments("main", texts, d);
  REQUIRE(args);
  CHECK(d.all().empty());
  CHECK_FALSE((*args)[0].generated);
  CHECK((*args)[0].value.as_tensor().at(2) == 3);
  CHECK_FALSE((*args)[1].generated);
  CHECK((*args)[1].value.as_tensor().dtype() == runtime::DType::BFloat16());
  CHECK((*args)[1].value.as_tensor().at(1) == 2);
  CHECK((*args)[2].generated);
  CHECK((*args)[2].value.as_tensor().shape() == std::vector<std::int64_t>{3});
}

TEST_CASE_FIXTURE(Fixture, "a member that names no parameter is reported, a parameter given twice refused") {
  const std::string text = archive("all.npz", {{"x", literal("2xf32=1,2")}, {"typo", literal("2xf32=1,2")}});
  source::Diagnostics d;
  const std::vector<std::string> texts = {text};
  CHECK(session.arguments("main", texts, d));
  CHECK_FALSE(d.has_errors());
  REQUIRE(d.all().size() == 1);
  CHECK(d.all()[0].message.ends_with("has values for 1 parameter; no parameter is named typo"));
  source::Diagnostics twice;
  const std::vector<std::string> both = {"x=2xf32=0,0", text};
  CHECK_FALSE(session.arguments("main", both, twice));
  CHECK(twice.all()[0].message == "parameter `x` was given twice");
}

TEST_CASE_FIXTURE(Fixture, "an archive of one tensor with another name is the next parameter's value") {
  const std::string one = archive("one.npz", {{"arr_0", literal("2xf32=5,6")}});
  source::Diagnostics d;
  const std::vector<std::string> texts = {one};
  const auto args = session.arguments("main", texts, d);
  REQUIRE(args);
  CHECK((*args)[0].value.as_tensor().at(1) == 6);
  const std::string several = archive("two.npz", {{"a", literal("2xf32=5,6")}, {"b", literal("2xf32=5,6")}});
  source::Diagnostics none;
  const std::vector<std::string> bad = {several};
  CHECK_FALSE(session.arguments("main", bad, none));
  CHECK(none.all()[0].message.find("holds 2 tensors; name one") != std::string::npos);
}
