#include "flotilla/job/table_files.h"

#include <fmt/format.h>

#include <cstdio>
#include <system_error>

#include "flotilla/base/error.h"
#include "flotilla/base/saved_files.h"

namespace flotilla::job {

namespace fs = std::filesystem;

fs::path folder_of_server(const fs::path& root, int64_t server, int64_t servers) {
  if (root.empty()) return {};
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(root, error)) {
    long long other = 0, of = 0;
    char rest = 0;
    const std::string name = entry.path().filename();
    if (std::sscanf(name.c_str(), "server-%lld-of-%lld%c", &other, &of, &rest) != 2) continue;
    require(of == servers,
            "the tables in {} are those of {} servers, but this job has {}: go on with as many, or "
            "load a checkpoint that fleet.save_persistables() wrote with fleet.init_server(dir)",
            root.string(), of, servers);
  }
  return root / fmt::format("server-{}-of-{}", server, servers);
}

fs::path tables_in(const fs::path& checkpoint) {
  const bool itself = checkpoint.filename() == kTablesFolder;
  SavedFiles files(itself ? checkpoint.parent_path() : checkpoint);
  return files.find_folder(kTablesFolder).value_or(checkpoint);
}

}  // namespace flotilla::job
