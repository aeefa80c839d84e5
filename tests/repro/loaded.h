// Sessions of the tests: output of programs is discarded, and they run on the machine.
#pragma once

#include <doctest/doctest.h>

#include <string>
#include <string_view>

#include "rldb/session/session.h"

namespace rldb::repro_test {

struct Quiet : runtime::Output {
  void write(std::string_view) override {}
};

inline session::Options on_the_machine() {
  session::Options o;
  o.engine = session::Engine::Vm;
  return o;
}

class Loaded {
 public:
  explicit Loaded(const session::Options& options = on_the_machine()) : session_(options, &quiet_) {}
  explicit Loaded(const std::string& text, const session::Options& options = on_the_machine()) : Loaded(options) {
    load(text);
  }
  const ir::Module* load(const std::string& text) {
    source::Diagnostics d;
    REQUIRE(session_.load_text("m.py", text, d));
    return session_.module();
  }
  session::Session& session() { return session_; }
  const ir::Module* module() const { return session_.module(); }

 private:
  Quiet quiet_;
  session::Session session_;
};

}  // namespace rldb::repro_test
