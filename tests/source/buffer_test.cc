#include "rldb/source/buffer.h"

#include <doctest/doctest.h>

#include "rldb/support/check.h"

using namespace rldb::source;

namespace {

std::pair<std::uint32_t, std::uint32_t> place(const Buffer& b, std::uint32_t offset,
                                              ColumnUnit unit = ColumnUnit::CodePoints) {
  const LineColumn p = b.line_column(offset, unit);
  return {p.line, p.column};
}
using Place = std::pair<std::uint32_t, std::uint32_t>;

}  // namespace

TEST_CASE("buffer: lines") {
  const Buffer b("f", "one\ntwo\r\n\nlast");
  CHECK(b.line_count() == 4);
  CHECK(b.line(1) == "one");
  CHECK(b.line(2) == "two");
  CHECK(b.line(3) == "");
  CHECK(b.line(4) == "last");
  CHECK(b.line(0) == "");
  CHECK(b.line(5) == "");
  CHECK(b.line_start(2) == 4);
  CHECK(b.line_start(99) == 14);
}

TEST_CASE("buffer: an empty text has one empty line") {
  const Buffer b("f", "");
  CHECK(b.line_count() == 1);
  CHECK(place(b, 0) == Place{1, 1});
  CHECK(place(b, 100) == Place{1, 1});
  CHECK(Buffer("f", "\n").line_count() == 2);
}

TEST_CASE("buffer: line and column at every offset") {
  const Buffer b("f", "ab\ncd\n");
  CHECK(place(b, 0) == Place{1, 1});
  CHECK(place(b, 2) == Place{1, 3});  // the line break belongs to its line
  CHECK(place(b, 3) == Place{2, 1});
  CHECK(place(b, 5) == Place{2, 3});
  CHECK(place(b, 6) == Place{3, 1});
  CHECK(place(b, 7) == Place{3, 1});
}

TEST_CASE("buffer: columns in bytes, code points and UTF-16") {
  // a, é (2 bytes), 漢 (3 bytes), an emoji (4 bytes, two UTF-16 units), z
  const Buffer b("f", "a\xC3\xA9\xE6\xBC\xA2\xF0\x9F\x98\x80z");
  const std::uint32_t z = 10;
  CHECK(place(b, z, ColumnUnit::Bytes) == Place{1, 11});
  CHECK(place(b, z, ColumnUnit::CodePoints) == Place{1, 5});
  CHECK(place(b, z, ColumnUnit::Utf16) == Place{1, 6});
}

TEST_CASE("buffer: offsets of lines and columns") {
  const Buffer b("b", "a\xC3\xA9\xE6\xBC\xA2\xF0\x9F\x99\x82z\r\nsecond\n");
  for (const ColumnUnit unit : {ColumnUnit::Bytes, ColumnUnit::CodePoints, ColumnUnit::Utf16})
    for (const std::uint32_t offset : {0U, 1U, 3U, 6U, 10U, 13U, 16U}) {
      INFO("offset " << offset);
      CHECK(b.offset(b.line_column(offset, unit), unit) == offset);
    }
  CHECK(b.offset({1, 5}, ColumnUnit::Utf16) == 6);    // the second half of the emoji: its start
  CHECK(b.offset({1, 99}, ColumnUnit::Utf16) == 11);  // the end of the line, before its break
  CHECK(b.offset({2, 99}) == 19);
  CHECK(b.offset({9, 1}) == b.text().size());
  CHECK(b.offset({0, 0}) == 0);
}

TEST_CASE("source manager: a file gets another text") {
  SourceManager sources;
  const FileId file = sources.add("f", "old");
  const std::string_view view = sources.get(file).text();
  const auto old = sources.replace(file, "new\ntext");
  CHECK(old->text().data() == view.data());
  CHECK(sources.get(file).text() == "new\ntext");
  CHECK(sources.get(file).name() == "f");
  CHECK(sources.get(file).line_count() == 2);
}

TEST_CASE("buffer: bytes that are no UTF-8 count one each") {
  // A stray continuation, an overlong form, a surrogate, a truncated sequence.
  const Buffer b("f", "\x80\xC0\x80\xED\xA0\x80\xE6\xBC");
  CHECK(place(b, 8) == Place{1, 9});
}

TEST_CASE("source manager: ids") {
  SourceManager sources;
  const FileId a = sources.add("a", "x");
  const FileId b = sources.add("b", "y");
  CHECK(sources.get(a).name() == "a");
  CHECK(sources.get(b).text() == "y");
  CHECK(sources.find(FileId{}) == nullptr);
  CHECK(sources.find(FileId{9}) == nullptr);
  CHECK_THROWS_AS(sources.get(FileId{}), rldb::support::InternalError);
}
