#include "bind.h"
#include "flotilla/data/check.h"
#include "gil.h"

namespace flotilla::python {
namespace {

data::CheckReport check_data(const std::string& file, const std::string& slots,
                             const std::string& format, const std::string& pipe_command) {
  data::CheckOptions options = {.format = format, .pipe_command = pipe_command};
  if (!slots.empty()) options.slots = data::parse_slots(slots);
  return data::check_file(file, options);
}

}  // namespace

void bind_check(nb::module_& m) {
  nb::class_<data::CheckReport>(m, "CheckReport", "What a data file holds, and what is wrong.")
      .def_ro("kind", &data::CheckReport::kind)
      .def_ro("records", &data::CheckReport::records, "How many records are good.")
      .def_ro("problem_count", &data::CheckReport::problem_count)
      .def_ro("problems", &data::CheckReport::problems, "One sentence each; the first twenty.");
  m.def("check_data", &check_data, nb::arg("file"), nb::arg("slots") = "", nb::arg("format") = "",
        nb::arg("pipe_command") = "", nb::call_guard<GilReleased>(),
        "Reads a data file as a training would: `flotilla check data`.");
  m.def(
      "criteo_id",
      [](int field, const std::string& text, int64_t hash_dim) {
        require(1 <= field && field <= data::kCriteoCategories && hash_dim > 0,
                "expected a field from 1 to 26 and a hash_dim of 1 or more, found {} and {}", field,
                hash_dim);
        return data::criteo_id(field, text, hash_dim);
      },
      nb::arg("field"), nb::arg("text"), nb::arg("hash_dim") = data::CriteoOptions().hash_dim,
      "The id that the parser of Criteo's click log gives to a category, 1 to 26; the same on "
      "every machine and in every run.");
}

}  // namespace flotilla::python
