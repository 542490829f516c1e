#include "flotilla/job/local_tables.h"

#include <gmock/gmock.h>

#include "flotilla/testing/errors.h"
#include "flotilla/testing/local_servers.h"
#include "flotilla/testing/temp_dir.h"

namespace flotilla::job {
namespace {

using ::testing::ElementsAre;

TEST(LocalTables, HasTheRowsThatServersSaved) {
  const TempDir directory;
  const std::string saved = (directory.path() / "saved").string();
  const int64_t far = 9'991'898'993;
  {
    testing::LocalServers servers(2, 1);
    const std::shared_ptr<ps::Client> client = servers.client(0);
    client->create({ps::parse_table("table 3 emb sparse width=2 rule=sgd init=constant(0.5)"),
                    ps::parse_table("table 4 fc dense width=8")});
    ps::Worker worker({.mode = ps::Mode::kHalfAsync});
    worker.connect(client, client->tables());
    const std::vector<int64_t> ids = {far};
    std::vector<float> rows(2);
    const ps::Lookup lookup = {ids, rows.data()};
    worker.lookup(3, {&lookup, 1}, ps::Worker::kNoPadding, /*test=*/false);
    const std::vector<float> gradients = {1, 2};
    worker.push_rows(3, {{ids, gradients.data()}}, ps::Worker::kNoPadding, 1);
    worker.end_step();
    worker.flush();
    client->save(saved);
  }
  LocalTables tables(saved);
  const std::vector<int64_t> ids = {far, -7};
  std::vector<float> rows(4);
  const ps::Lookup lookup = {ids, rows.data()};
  tables.worker().lookup(3, {&lookup, 1}, ps::Worker::kNoPadding, /*test=*/true);
  // A row that nobody asked for starts as it would have started there.
  EXPECT_THAT(rows, ElementsAre(-0.5f, -1.5f, 0.5f, 0.5f));
  EXPECT_REFUSED(
      LocalTables(directory.path()),
      directory.path().string() + " holds no checkpoint: there is no server-0-of-<n> in it");
}

}  // namespace
}  // namespace flotilla::job
