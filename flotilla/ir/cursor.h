// flotilla/ir/cursor.h
//
// A place in the text of a program, and the tokens that can stand there. Blanks before a token are
// skipped. A newline ends a statement, but inside brackets it is a blank: see Group.

#pragma once

#include <string>
#include <string_view>

#include "flotilla/ir/attr.h"

namespace flotilla {

class Cursor {
 public:
  explicit Cursor(std::string_view text) : text_(text) {}

  // While it lives, newlines are blanks.
  class Group {
   public:
    explicit Group(Cursor& cursor) : cursor_(cursor) { ++cursor_.groups_; }
    ~Group() { --cursor_.groups_; }
    Group(const Group&) = delete;
    Group& operator=(const Group&) = delete;

   private:
    Cursor& cursor_;
  };

  // The next character that is no blank; '\n' at the end of a statement, '\0' at the end.
  char peek();
  bool at_end() { return peek() == '\0' && position_ >= text_.size(); }
  bool at_word();
  bool at_number();
  // Steps over `token` if it comes next; a word only if it ends there.
  bool take(std::string_view token);
  void expect(std::string_view token);
  void skip_newlines();
  void end_statement();

  // A name without quotes; a name with or without; a text with. `what` is named where none is
  // there: expected a variable, but found "{".
  std::string word(std::string_view what);
  std::string name(std::string_view what);
  std::string quoted_text(std::string_view what);
  // A number of any kind, as the attribute it means: 1, 1L, 0.5, 0.5d, inf, -nan. Where `wide`,
  // those without a suffix are long and double.
  Attr number(bool wide = false);
  int64_t whole(int64_t least, int64_t most);

  size_t position() {
    peek();
    return position_;
  }
  // Throws "line 3, column 14: <sentence>".
  [[noreturn]] void fail(size_t position, std::string_view sentence) const;
  [[noreturn]] void fail_expected(std::string_view what);

 private:
  char at(size_t position) const { return position < text_.size() ? text_[position] : '\0'; }
  char escaped(size_t start);
  // Where the number that begins here ends, without its suffix, and whether it is a whole one.
  struct NumberEnd {
    size_t position = 0;
    bool is_whole = true;
  };
  NumberEnd number_end(size_t position) const;

  std::string_view text_;
  size_t position_ = 0;
  int groups_ = 0;
};

}  // namespace flotilla
