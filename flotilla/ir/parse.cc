// flotilla/ir/parse.cc
//
// program   := (statement? newline)*              '//' opens a comment; blanks do not matter
// statement := header | var | op | block
// header    := 'random_seed' number | 'paddle_version' number
//            | 'op_versions' '{' [name '=' number (',' name '=' number)*] '}'
//
// var       := 'var' name mark*                   without a kind: a tensor
// mark      := kind | tensor | 'slots' '(' [slot (',' slot)*] ')' | 'lod' '=' number |
// 'persistable'
//            | 'stop_gradient' | 'data' | 'check_feed' | parameter
// kind      := 'tensor' | 'selected_rows' | 'feed' | 'fetch' | ...             see ir/program.h
// tensor    := dtype '[' [number (',' number)*] ']'                            f32[-1, 784]
// slot      := tensor ['lod' '=' number]                                       of a reader
// parameter := 'parameter' ['(' [setting (',' setting)*] ')']
// setting   := ('trainable' | 'need_clip' | 'do_model_average') '=' bool
//            | ('lr' | 'l1' | 'l2') '=' number | 'regularizer' '=' 'none'
//
// op        := name '(' [input (',' input)*] ')' ['->' output (',' output)*] [attrs]
// input     := name '=' vars
// output    := [name '='] vars                    without a name: Out
// vars      := name | '[' [name (',' name)*] ']'
// attrs     := '{' [name '=' value (',' name '=' value)*] '}'
// value     := element | 'none' | [list kind] '[' [element (',' element)*] ']'
// element   := bool | 1 (int) | 1L (long) | 0.5 (float) | 0.5d (double) | quoted | 'block' number
//            | 'var' name | 'scalar' '(' (bool | number [',' number]) ')'
// list kind := 'bools' | 'ints' | 'longs' | 'floats' | 'doubles' | 'strings' | 'blocks' | 'vars'
//            | 'scalars'                          [] alone is an empty list of ints
//
// block     := 'block' number 'in' number ['forward' number] '{' newline (statement? newline)* '}'
//              numbered from 1 in the order of the text; what stands outside is block 0
//
// Names and quoted texts: ir/quote.h. Inside brackets of any sort a newline is a blank, except in
// those of a block.

#include <array>
#include <functional>
#include <limits>
#include <optional>

#include "flotilla/ir/cursor.h"
#include "flotilla/ir/structure.h"
#include "flotilla/ir/text.h"

namespace flotilla {
namespace {

constexpr int64_t kMinInt64 = std::numeric_limits<int64_t>::min();
constexpr int64_t kMaxInt64 = std::numeric_limits<int64_t>::max();
constexpr int32_t kMaxInt32 = std::numeric_limits<int32_t>::max();

class Parser {
 public:
  explicit Parser(std::string_view text) : in_(text), program_(std::make_shared<Program>()) {}

  std::shared_ptr<Program> run() {
    Block* block = &program_->global_block();
    for (in_.skip_newlines(); !in_.at_end(); in_.skip_newlines()) {
      if (block->index() != 0 && in_.take("}")) {
        block = &program_->global_block();
        in_.end_statement();
      } else {
        block = statement(*block);
      }
    }
    if (block->index() != 0) in_.fail_expected("\"}\"");
    check_blocks(*program_);
    return program_;
  }

 private:
  // Gives back the block that the next statement belongs to.
  Block* statement(Block& block) {
    const size_t start = in_.position();
    const bool is_quoted = in_.peek() == '"';
    const std::string word = in_.name("a statement");
    if (in_.peek() == '(') {
      op(block, word);
    } else if (is_quoted) {
      in_.fail_expected("\"(\" after the type of an op");
    } else if (word == "var") {
      var(block);
    } else if (word == "block" && block.index() == 0) {
      return open_block();
    } else if (!header(word)) {
      in_.fail(start,
               fmt::format("expected an op, var, block or another statement, but found {}", word));
    }
    in_.end_statement();
    return &block;
  }

  bool header(std::string_view word) {
    if (word == "random_seed") {
      program_->set_random_seed(in_.whole(kMinInt64, kMaxInt64));
    } else if (word == "paddle_version") {
      WireVersions versions = program_->wire_versions();
      versions.program = in_.whole(kMinInt64, kMaxInt64);
      program_->set_wire_versions(std::move(versions));
    } else if (word == "op_versions") {
      op_versions();
    } else {
      return false;
    }
    return true;
  }

  // `each` once per item of open item, item, ... close.
  void items(std::string_view open, std::string_view close, const std::function<void()>& each) {
    in_.expect(open);
    const Cursor::Group group(in_);
    if (in_.take(close)) return;
    do each();
    while (in_.take(","));
    if (!in_.take(close)) in_.fail_expected(fmt::format("\",\" or \"{}\"", close));
  }

  template <typename Map, typename Value>
  void add_once(Map& map, std::string name, Value value, size_t start, std::string_view what) {
    if (!map.emplace(name, std::move(value)).second) {
      in_.fail(start, fmt::format("{} {} is given twice", what, name));
    }
  }

  Block* open_block() {
    const int32_t next = program_->num_blocks();
    in_.whole(next, next);
    in_.expect("in");
    Block& opened = program_->create_block(static_cast<int32_t>(in_.whole(0, next - 1)));
    if (in_.take("forward")) {
      opened.set_forward_block(static_cast<int32_t>(in_.whole(0, kMaxInt32)));
    }
    in_.expect("{");
    in_.end_statement();
    return &opened;
  }

  void op_versions() {
    WireVersions versions = program_->wire_versions();
    items("{", "}", [&] {
      const size_t start = in_.position();
      const std::string op = in_.name("an op");
      in_.expect("=");
      const auto version = static_cast<int32_t>(in_.whole(-kMaxInt32 - 1, kMaxInt32));
      add_once(versions.ops, op, version, start, "the version of");
    });
    program_->set_wire_versions(std::move(versions));
  }

  // ---- variables

  void var(Block& block) {
    const size_t start = in_.position();
    Var var{.name = in_.name("a variable")};
    if (block.find_var(var.name) != nullptr) {
      in_.fail(start, fmt::format("variable {} is declared twice", var.name));
    }
    while (in_.at_word()) mark(var);
    block.add_var(std::move(var));
  }

  void mark(Var& var) {
    const size_t start = in_.position();
    const std::string word = in_.word("a mark");
    for (const auto& [kind, name] : kVarKinds) {
      if (word == name) {
        var.kind = kind;
        return;
      }
    }
    if (in_.peek() == '[') {
      tensor(word, start, var.dtype, var.shape);
    } else if (word == "lod") {
      var.lod_level = lod();
    } else if (word == "slots") {
      items("(", ")", [&] { var.reader.push_back(reader_slot()); });
    } else if (word == "parameter") {
      var.parameter = parameter();
    } else if (word == "persistable") {
      var.persistable = true;
    } else if (word == "stop_gradient") {
      var.stop_gradient = true;
    } else if (word == "data") {
      var.is_data = true;
    } else if (word == "check_feed") {
      var.need_check_feed = true;
    } else {
      in_.fail(start, fmt::format("{} is not a mark of a variable", word));
    }
  }

  void tensor(std::string_view dtype_name, size_t start, DType& dtype, Shape& shape) {
    std::vector<int64_t> dims;
    items("[", "]", [&] { dims.push_back(in_.whole(-1, kMaxInt64)); });
    try {
      dtype = parse_dtype(dtype_name);
      shape = Shape(std::move(dims));
      check_extents(shape, "the tensor");
    } catch (const Error& error) {
      in_.fail(start, error.sentence());
    }
  }

  int32_t lod() {
    in_.expect("=");
    return static_cast<int32_t>(in_.whole(0, kMaxLodLevel));
  }

  ReaderSlot reader_slot() {
    ReaderSlot slot;
    const size_t start = in_.position();
    const std::string dtype = in_.word("a dtype");
    tensor(dtype, start, slot.dtype, slot.shape);
    if (in_.take("lod")) slot.lod_level = lod();
    return slot;
  }

  ParameterInfo parameter() {
    ParameterInfo info;
    if (in_.peek() == '(') items("(", ")", [&] { setting(info); });
    return info;
  }

  void setting(ParameterInfo& info) {
    const size_t start = in_.position();
    const std::string name = in_.word("a setting");
    in_.expect("=");
    const Attr value = element();
    try {
      if (name == "trainable") {
        info.trainable = attr_as<bool>(value, name);
      } else if (name == "need_clip") {
        info.need_clip = attr_as<bool>(value, name);
      } else if (name == "do_model_average") {
        info.do_model_average = attr_as<bool>(value, name);
      } else if (name == "lr") {
        info.learning_rate = attr_as<float>(value, name);
      } else if (name == "l1" || name == "l2") {
        info.regularizer = {name == "l1" ? Regularizer::kL1 : Regularizer::kL2,
                            attr_as<float>(value, name)};
      } else if (name == "regularizer" && std::holds_alternative<std::monostate>(value)) {
        info.regularizer = Regularizer{};
      } else {
        refuse("{} is not a setting of a parameter", name);
      }
    } catch (const Error& error) {
      in_.fail(start, error.sentence());
    }
  }

  // ---- ops

  void op(Block& block, std::string type) {
    Slots inputs, outputs;
    Attrs attrs;
    items("(", ")", [&] {
      const size_t start = in_.position();
      const std::string slot = in_.name("an input");
      in_.expect("=");
      add_once(inputs, slot, vars(), start, "input");
    });
    if (in_.take("->")) {
      do output(outputs);
      while (in_.take(","));
    }
    if (in_.peek() == '{') {
      items("{", "}", [&] {
        const size_t start = in_.position();
        const std::string name = in_.name("an attribute");
        in_.expect("=");
        add_once(attrs, name, value(), start, "attribute");
      });
    }
    block.push_back(Op(std::move(type), std::move(inputs), std::move(outputs), std::move(attrs)));
  }

  std::vector<std::string> vars() {
    std::vector<std::string> names;
    if (in_.peek() == '[') {
      items("[", "]", [&] { names.push_back(in_.name("a variable")); });
    } else {
      names.push_back(in_.name("a variable"));
    }
    return names;
  }

  void output(Slots& outputs) {
    const size_t start = in_.position();
    if (in_.peek() == '[') return add_once(outputs, "Out", vars(), start, "output");
    std::string name = in_.name("an output");
    if (in_.take("=")) return add_once(outputs, name, vars(), start, "output");
    add_once(outputs, "Out", std::vector<std::string>{std::move(name)}, start, "output");
  }

  // ---- attributes

  Attr value() {
    if (in_.peek() == '[') return list(std::nullopt);
    if (!in_.at_word() || in_.at_number()) return element();
    const size_t start = in_.position();
    const std::string word = in_.word("a value");
    if (std::optional<Attr> model = empty_list(word)) return list(std::move(model));
    return word_value(word, start);
  }

  // A value that is no list.
  Attr element() {
    if (in_.peek() == '"') return in_.quoted_text("a value");
    if (!in_.at_word() || in_.at_number()) return in_.number();
    const size_t start = in_.position();
    return word_value(in_.word("a value"), start);
  }

  Attr word_value(std::string_view word, size_t start) {
    if (word == "none") return {};
    if (word == "true" || word == "false") return word == "true";
    if (word == "block") return BlockRef{static_cast<int32_t>(in_.whole(0, kMaxInt32))};
    if (word == "var") return VarRef{in_.name("a variable")};
    if (word == "scalar") return scalar();
    in_.fail(start, fmt::format("expected a value, but found {}", word));
  }

  static std::optional<Attr> empty_list(std::string_view kind) {
    const std::array<Attr, 9> lists = {
        std::vector<bool>(),     std::vector<int32_t>(), std::vector<int64_t>(),
        std::vector<float>(),    std::vector<double>(),  std::vector<std::string>(),
        std::vector<BlockRef>(), std::vector<VarRef>(),  std::vector<Scalar>()};
    for (const Attr& list : lists) {
      if (kind == kind_of(list)) return list;
    }
    return std::nullopt;
  }

  // The elements one by one, then as what `model`, or the first of them, says.
  Attr list(std::optional<Attr> model) {
    std::vector<Attr> elements;
    std::vector<size_t> starts;
    items("[", "]", [&] {
      starts.push_back(in_.position());
      elements.push_back(element());
    });
    if (elements.empty()) return model.value_or(Attr(std::vector<int32_t>()));
    Attr list = model ? *model : list_of(elements.front(), starts.front());
    for (size_t i = 0; i < elements.size(); ++i) append(list, elements[i], starts[i], !model);
    return list;
  }

  Attr list_of(const Attr& element, size_t start) {
    return std::visit(
        [&]<typename T>(const T&) -> Attr {
          if constexpr (std::is_constructible_v<Attr, std::vector<T>>) {
            return std::vector<T>();
          } else {
            in_.fail(start, fmt::format("a list cannot hold {}", kind_of(element)));
          }
        },
        element);
  }

  void append(Attr& list, const Attr& element, size_t start, bool exactly) {
    std::visit(
        [&]<typename T>(T& vector) {
          if constexpr (requires { typename T::value_type; } && !std::is_same_v<T, std::string>) {
            using Element = typename T::value_type;
            if (exactly && !std::holds_alternative<Element>(element)) {
              in_.fail(start, fmt::format("a list of {} cannot hold {}", kind_of(list),
                                          to_string(element)));
            }
            try {
              vector.push_back(std::get<Element>(convert(element, Attr(Element{}), "the element")));
            } catch (const Error& error) {
              in_.fail(start, error.sentence());
            }
          }
        },
        list);
  }

  Attr scalar() {
    const size_t start = in_.position();
    std::vector<Attr> parts;
    items("(", ")", [&] { parts.push_back(scalar_part()); });
    try {
      if (parts.size() == 1) return convert(parts[0], Attr(Scalar{}), "the scalar");
      require(parts.size() == 2, "a scalar holds one number, or two of a complex one, but found {}",
              parts.size());
      return Scalar{std::complex<double>(attr_as<double>(parts[0], "real"),
                                         attr_as<double>(parts[1], "imaginary"))};
    } catch (const Error& error) {
      in_.fail(start, error.sentence());
    }
  }

  Attr scalar_part() {
    if (in_.take("true")) return true;
    if (in_.take("false")) return false;
    return in_.number(true);
  }

  Cursor in_;
  std::shared_ptr<Program> program_;
};

}  // namespace

std::shared_ptr<Program> parse(std::string_view text) { return Parser(text).run(); }

}  // namespace flotilla
