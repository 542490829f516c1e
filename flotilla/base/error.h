// flotilla/base/error.h
//
// How anything goes wrong: one sentence with what was expected and what was found, then a line
// from each layer that the error passed through.

#pragma once

#include <fmt/format.h>

#include <concepts>
#include <exception>
#include <source_location>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace flotilla {

enum class ErrorKind { kInvalidArgument, kNotFound, kUnavailable, kInternal };

// One sentence on what went wrong, then a line from each layer it passed through.
class Error : public std::exception {
 public:
  Error(ErrorKind kind, std::string sentence,
        std::source_location where = std::source_location::current());

  // Adds "  label  text", e.g. note("op", ...). Called by the layer that knows it. A label is
  // added once: the innermost layer that knows it is right.
  Error& note(std::string_view label, std::string_view text);
  bool has_note(std::string_view label) const;

  ErrorKind kind() const { return kind_; }
  // The sentence alone, without notes.
  const std::string& sentence() const { return sentence_; }
  // Where in Flotilla's source the error was raised.
  const std::source_location& where() const { return where_; }
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  ErrorKind kind_;
  std::source_location where_;
  std::string sentence_;
  std::string text_;
  std::vector<std::string> labels_;
};

// A format text that is checked at compile time and knows where it stands.
template <typename... Args>
struct Sentence {
  template <typename Text>
    requires std::convertible_to<const Text&, std::string_view>
  consteval Sentence(const Text& text, std::source_location where = std::source_location::current())
      : text(text), where(where) {}

  fmt::format_string<Args...> text;
  std::source_location where;
};

// Throws kInvalidArgument unless `ok`: the caller's mistake. Formats only on failure.
template <typename... Args>
void require(bool ok, Sentence<std::type_identity_t<Args>...> sentence, Args&&... args) {
  if (!ok) [[unlikely]] {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format(sentence.text, std::forward<Args>(args)...), sentence.where);
  }
}

// Throws kInternal unless `ok`: our bug.
template <typename... Args>
void invariant(bool ok, Sentence<std::type_identity_t<Args>...> sentence, Args&&... args) {
  if (!ok) [[unlikely]] {
    throw Error(ErrorKind::kInternal, fmt::format(sentence.text, std::forward<Args>(args)...),
                sentence.where);
  }
}

// Throws kInvalidArgument.
template <typename... Args>
[[noreturn]] void refuse(Sentence<std::type_identity_t<Args>...> sentence, Args&&... args) {
  throw Error(ErrorKind::kInvalidArgument, fmt::format(sentence.text, std::forward<Args>(args)...),
              sentence.where);
}

// Throws kNotFound.
template <typename... Args>
[[noreturn]] void not_found(Sentence<std::type_identity_t<Args>...> sentence, Args&&... args) {
  throw Error(ErrorKind::kNotFound, fmt::format(sentence.text, std::forward<Args>(args)...),
              sentence.where);
}

// ` Did you mean "<nearest>"?`, or "" where no candidate is near enough to `word`.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates);

// The candidate with the smallest edit distance, or "" where none is near enough.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace flotilla
