// Points: the breakpoints of a client, of every kind, beside those of the debugger that they became.
//
// A client sets all breakpoints of a kind (or of a source) at once; those that it sent before are replaced. One of its
// breakpoints may be several of the debugger's: a line of a version's text has code in several functions. Those that
// the user sets in the console are the client's too.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "protocol/dap/fields.h"
#include "protocol/dap/sources.h"

namespace rldb::protocol::dap {

enum class PointGroup : std::uint8_t { Source, Function, Data, Instruction, Exception, Console };

// Exception filters: what may go wrong in a run.
struct FilterRow {
  std::string_view name, label, doc;
  bool by_default;
  std::string_view event;  // `catch` stops at it; empty: the debugger stops at it anyway, or a check finds it
};
const std::vector<FilterRow>& filters();
// The first error's message.
std::string reason_in(const source::Diagnostics& diagnostics, std::string_view otherwise);
// The filter that a fault of the program belongs to.
std::string_view filter_of(const runtime::Error& error);

// Addresses that a client sees: instructions, from here on.
constexpr std::int64_t kFirstAddress = 0x10000;
std::string address_of(bytecode::Pc pc);
// Nullopt: no address.
std::optional<std::int64_t> read_address(std::string_view text);

class Points {
 public:
  Points(ui::Repl& repl, Sources& sources, Channel& channel);

  void set_line_base(std::uint32_t base) { line_base_ = base; }
  Answer set_source(const Json& arguments);
  Answer set_functions(const Json& arguments);
  Answer set_data(const Json& arguments);
  Answer set_instructions(const Json& arguments);
  Answer set_exceptions(const Json& arguments);

  // After anything that may have changed the program or its breakpoints: the client is told what became of its own.
  void refresh();
  // The faults that a check found before the run: stops there are of the filter `storage`.
  void set_found(const std::vector<std::pair<std::string, std::string>>& places);  // where to break, what was found

  bool catches(std::string_view filter) const;
  struct Hit {
    std::vector<int> ids;
    PointGroup group = PointGroup::Source;
    std::string filter;  // Exception
    std::string detail;  // of what was found
    std::optional<SourceRef> version;
  };
  // Of the numbers at a stop.
  std::optional<Hit> hit(const std::vector<int>& numbers) const;
  void remove_all();

 private:
  struct Point {
    int id = 0;
    PointGroup group = PointGroup::Source;
    std::string key;  // Source: of the source; Function: its name; Data: dataId; Exception: the filter
    std::optional<SourceRef> source;
    std::uint32_t line = 0;  // of the source, as requested
    // File: the text of the program when the client set it by a newer one, whose lines it counts. It is placed anew
    // when that has been read.
    std::optional<std::string> text_before;
    std::string condition, hit, log;
    std::vector<int> numbers;
    std::shared_ptr<const session::Build> build;  // Version: the code that its numbers are in
    std::string message;                          // why it is not there
    std::string found;
    Json shown;
  };
  Point read(Fields& fields, PointGroup group, std::string key) const;
  std::vector<std::string> specs_of(Point& p);
  void place(Point& p);
  bool dress(Point& p, int number);
  void add_one(Point& p, const std::string& spec);
  void watch(Point& p);
  void remove(Point& p);
  Json shown(const Point& p) const;
  void put_line(Json& out, const Point& p) const;
  Json add(Point p);
  void drop(PointGroup group, const std::string* key);
  void follow_console();
  Answer answer(std::vector<Point> wanted);

  ui::Repl& repl_;
  Sources& sources_;
  Channel& channel_;
  std::uint32_t line_base_ = 1;
  std::vector<Point> points_;
  int next_id_ = 1;
  std::vector<std::string> caught_;
};

}  // namespace rldb::protocol::dap
