// A driver's library, opened at run time: rldb starts where there is none.
#pragma once

#include <string>

namespace rldb::codegen {

class DriverLibrary {
 public:
  // It stays open: drivers have threads of their own.
  explicit DriverLibrary(const char* name);

  // Null if the library has no such function, which `why` tells then.
  template <class Function>
  void find(const char* symbol, Function& out) {
    find_if_there(symbol, out);
    if (!out) note_missing(symbol);
  }
  template <class Function>
  void find_if_there(const char* symbol, Function& out) {
    out = reinterpret_cast<Function>(address_of(symbol));
  }
  // Why it is of no use; empty: it was opened and has all that was looked for.
  const std::string& why() const { return why_; }

 private:
  void* address_of(const char* symbol) const;
  void note_missing(const char* symbol);

  const char* name_;
  void* library_ = nullptr;
  std::string why_;
};

}  // namespace rldb::codegen
