#include "flotilla/ps/metrics_view.h"

#include <gmock/gmock.h>

#include "flotilla/ps/metrics.h"

namespace flotilla::ps {
namespace {

TEST(MetricsView, ShowsRatesBetweenTwoLooks) {
  StoreStats store;
  store.tables.push_back({.spec = parse_table("table 1 emb sparse width=1 rule=sgd"),
                          .sparse = {.rows = 12'345, .bytes = 900, .pulled = 100, .pushed = 7}});
  ServiceStats service = {.requests = 10, .free_pushes = 5, .missed_updates = 3};
  const std::string before = metrics_text(service, store);
  store.tables[0].sparse.pulled = 4'000'100;
  store.log_bytes = 500;
  service.requests = 30;
  service.queued = 2;
  service.free_pushes = 9;
  service.missed_updates = 9;
  service.most_missed = 4;
  EXPECT_EQ(view_metrics(before, metrics_text(service, store), 2),
            "  requests 10/s, 2 wait, 0 refused; bytes 0/s in, 0/s out\n"
            "  updates 0/s, rounds 0/s, steps parked 0; log 250 bytes/s, 0 records since the last "
            "snapshot\n"
            "  staleness 1.5 updates for each push, 4 at the most\n"
            "  table       rows      bytes   pulled/s   pushed/s    refused    on disk\n"
            "  emb       12.3 k        900      2.0 M          0          0          0\n");
  EXPECT_THAT(view_metrics("", "no metrics at all", 1), ::testing::HasSubstr("requests 0/s"));
}

TEST(MetricsView, ADenseTableIsMoreThanItsFirstParameter) {
  StoreStats store;
  store.tables.push_back(
      {.spec = parse_table("table 0 fc_0.w_0 dense width=4500 rule=sgd"), .sparse = {.rows = 1}});
  const std::string text = metrics_text({}, store);
  EXPECT_THAT(view_metrics(text, text, 1),
              ::testing::HasSubstr("\n  fc_0.w_0 and others, 4500 values          1 "));
}

}  // namespace
}  // namespace flotilla::ps
