#include "flotilla/ir/cursor.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "flotilla/ir/quote.h"

namespace flotilla {
namespace {

bool is_digit(char c) { return '0' <= c && c <= '9'; }

// The number that fills `text` to the last character. Reports whether there is one.
template <typename T>
std::errc read_number(std::string_view text, T& value) {
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stopped != end ? std::errc::invalid_argument : error;
}

}  // namespace

char Cursor::peek() {
  for (;; ++position_) {
    const char c = at(position_);
    if (c == '/' && at(position_ + 1) == '/') {
      position_ = std::min(text_.find('\n', position_), text_.size());
      --position_;
      continue;
    }
    const bool is_blank = c == ' ' || c == '\t' || c == '\r' || (c == '\n' && groups_ > 0);
    if (!is_blank) return c;
  }
}

bool Cursor::at_word() { return starts_name(peek()); }

bool Cursor::at_number() {
  const char c = peek();
  if (is_digit(c) || c == '-') return true;
  size_t end = number_end(position_).position;
  if (at(end) == 'd') ++end;
  return end > position_ && !continues_name(at(end));
}

bool Cursor::take(std::string_view token) {
  peek();
  if (text_.substr(position_, token.size()) != token) return false;
  const bool is_word = starts_name(token.back());
  if (is_word && continues_name(at(position_ + token.size()))) return false;
  position_ += token.size();
  return true;
}

void Cursor::expect(std::string_view token) {
  if (!take(token)) fail_expected(fmt::format("\"{}\"", token));
}

void Cursor::skip_newlines() {
  while (peek() == '\n') ++position_;
}

void Cursor::end_statement() {
  if (at_end() || peek() == '}') return;
  if (peek() != '\n') fail_expected("the end of the line");
  ++position_;
}

std::string Cursor::name(std::string_view what) {
  return peek() == '"' ? quoted_text(what) : word(what);
}

std::string Cursor::word(std::string_view what) {
  if (!at_word()) fail_expected(what);
  const size_t begin = position_;
  while (continues_name(at(position_))) ++position_;
  return std::string(text_.substr(begin, position_ - begin));
}

std::string Cursor::quoted_text(std::string_view what) {
  if (peek() != '"') fail_expected(what);
  const size_t start = position_++;
  std::string out;
  for (;; ++position_) {
    const char c = at(position_);
    if (position_ >= text_.size() || c == '\n') fail(start, "the text has no closing quote");
    if (c == '"') break;
    out += c == '\\' ? escaped(start) : c;
  }
  ++position_;
  return out;
}

// The character that the escape at the cursor means; leaves the cursor on its last character.
char Cursor::escaped(size_t start) {
  const char c = at(++position_);
  if (c == '"' || c == '\\') return c;
  if (c == 'n') return '\n';
  if (c == 't') return '\t';
  if (c == 'r') return '\r';
  unsigned value = 0;
  const std::string_view digits = text_.substr(std::min(position_ + 1, text_.size()), 2);
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
  if (c != 'x' || error != std::errc() || end != digits.data() + 2) {
    fail(start,
         "the text holds an escape other than \\\" \\\\ \\n \\t \\r and \\x with two digits");
  }
  position_ += 2;
  return static_cast<char>(value);
}

Cursor::NumberEnd Cursor::number_end(size_t position) const {
  size_t end = position + (at(position) == '-' ? 1 : 0);
  for (const std::string_view word : {"inf", "nan"}) {
    if (text_.substr(std::min(end, text_.size()), word.size()) == word) {
      return {end + word.size(), false};
    }
  }
  bool is_whole = true;
  for (;; ++end) {
    const char c = at(end);
    const bool is_exponent = c == 'e' || c == 'E';
    if (!is_digit(c) && c != '.' && !is_exponent) return {end, is_whole};
    is_whole = is_whole && is_digit(c);
    if (is_exponent && (at(end + 1) == '-' || at(end + 1) == '+')) ++end;
  }
}

Attr Cursor::number(bool wide) {
  const size_t begin = position();
  const auto [end, is_whole] = number_end(begin);
  const std::string_view text = text_.substr(begin, end - begin);
  const char suffix = at(end) == 'd' || (at(end) == 'L' && is_whole) ? at(end) : ' ';
  std::errc error = {};
  Attr value;
  if (suffix == 'd' || (wide && !is_whole)) {
    error = read_number(text, value.emplace<double>());
  } else if (!is_whole) {
    error = read_number(text, value.emplace<float>());
  } else if (suffix == 'L' || wide) {
    error = read_number(text, value.emplace<int64_t>());
  } else {
    error = read_number(text, value.emplace<int32_t>());
  }
  const size_t after = end + (suffix == ' ' ? 0 : 1);
  if (error == std::errc::invalid_argument || continues_name(at(after))) fail_expected("a value");
  if (error != std::errc()) {
    fail(begin, fmt::format("{} does not fit into kind {}", text, kind_of(value)));
  }
  position_ = after;
  return value;
}

int64_t Cursor::whole(int64_t least, int64_t most) {
  const size_t begin = position();
  size_t end = begin + (at(begin) == '-' ? 1 : 0);
  while (is_digit(at(end))) ++end;
  int64_t value = 0;
  const std::errc error = read_number(text_.substr(begin, end - begin), value);
  if (error == std::errc::invalid_argument) fail_expected("a whole number");
  if (error != std::errc() || value < least || most < value) {
    fail(begin, fmt::format("expected a number from {} to {}, but found {}", least, most,
                            text_.substr(begin, end - begin)));
  }
  position_ = end;
  return value;
}

void Cursor::fail(size_t position, std::string_view sentence) const {
  const std::string_view before = text_.substr(0, std::min(position, text_.size()));
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const size_t column = before.size() - (before.rfind('\n') + 1) + 1;
  refuse("line {}, column {}: {}", line, column, sentence);
}

void Cursor::fail_expected(std::string_view what) {
  std::string found = "the end of the text";
  if (peek() == '\n') {
    found = "the end of the line";
  } else if (!at_end()) {
    size_t end = position_ + 1;
    if (continues_name(at(position_))) {
      while (continues_name(at(end)) && end < position_ + 40) ++end;
    }
    found = in_quotes(text_.substr(position_, end - position_));
  }
  fail(position_, fmt::format("expected {}, but found {}", what, found));
}

}  // namespace flotilla
