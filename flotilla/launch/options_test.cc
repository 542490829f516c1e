#include "flotilla/launch/options.h"

#include <gmock/gmock.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "flotilla/base/error.h"
#include "flotilla/rpc/outage.h"
#include "flotilla/testing/errors.h"

namespace flotilla::launch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

JobOptions parse(const std::vector<std::string>& words, Front front = Front::kLaunch) {
  return parse_options(words, front);
}

std::string refusal(const std::vector<std::string>& words) {
  try {
    parse(words);
  } catch (const Error& error) {
    return error.sentence();
  }
  return "no error";
}

TEST(OptionsTest, NoticesItsOwnOptionsAfterTheScript) {
  EXPECT_THAT(
      parse({"train.py", "--nproc_per_node", "2", "--selected_gpus=0"}).notices,
      ElementsAre("--nproc_per_node comes after train.py, so it is passed to train.py and not to "
                  "the launcher: if it is meant for the launcher, put it before train.py",
                  testing::StartsWith("--selected_gpus comes after train.py")));
  // Those of others, those that scripts have, too, and those that mean nothing here.
  EXPECT_THAT(
      parse({"train.py", "--lr=1", "--log_dir", "x", "--rank=1", "--backend=a", "nnodes"}).notices,
      IsEmpty());
}

TEST(OptionsTest, NoticesWhatAScriptHasNoOptionFor) {
  const std::string script = testing::TempDir() + "options_test_train.py";
  const auto noticed = [&](const std::string& text, std::vector<std::string> words) {
    std::ofstream(script) << text;
    words.insert(words.begin(), script);
    return parse(words).notices;
  };
  EXPECT_THAT(noticed("log_dir = 'here'", {"--devices", "0,1", "--log_dir=x", "--workers=a"}),
              ElementsAre(testing::StartsWith("--devices comes after " + script),
                          testing::StartsWith("--log_dir comes after " + script),
                          testing::StartsWith("--workers comes after " + script)));
  for (const char* text : {"parser.add_argument('--log_dir')", "DEFINE_string(\"log_dir\", '')",
                           "flags.DEFINE_string('log_dir', '')"}) {
    EXPECT_THAT(noticed(text, {"--log_dir=x"}), IsEmpty()) << text;
  }
  EXPECT_THAT(noticed("", {"--rank=1", "--json"}), IsEmpty());
  std::remove(script.c_str());
  EXPECT_THAT(parse({"-m", "train", "--log_dir=x"}).notices, IsEmpty());
}

TEST(OptionsTest, ReadsTheCommandLinesOfTheDocuments) {
  EXPECT_EQ(parse({"--gpus", "0,1,2,3", "collective_trainer.py"}).gpus, "0,1,2,3");
  EXPECT_EQ(parse({"--gpus=0,1", "train_fleet_static.py"}).gpus, "0,1");
  const JobOptions ps = parse({"--worker_num", "2", "--server_num", "2", "trainer.py"});
  EXPECT_EQ(ps.worker_num, 2);
  EXPECT_EQ(ps.server_num, 2);
  EXPECT_THAT(ps.server_options_said, ElementsAre("--worker_num", "--server_num"));
  const JobOptions hosts =
      parse({"--selected_gpus=0,1", "--log_dir=mylog", "--cluster_node_ips=192.168.0.1,192.168.0.2",
             "--node_ip=192.168.0.2", "train.py", "--distributed"});
  EXPECT_EQ(hosts.ips, "192.168.0.1,192.168.0.2");
  EXPECT_EQ(hosts.node_ip, "192.168.0.2");
  EXPECT_EQ(hosts.log_dir, "mylog");
  EXPECT_THAT(hosts.script_args, ElementsAre("--distributed"));
}

TEST(OptionsTest, LeavesEverythingBehindTheScriptAlone) {
  const JobOptions options = parse({"t.py", "--gpus", "7", "--a", "1", "-m", "--help"});
  EXPECT_EQ(options.script, "t.py");
  EXPECT_THAT(options.script_args, ElementsAre("--gpus", "7", "--a", "1", "-m", "--help"));
  EXPECT_FALSE(options.gpus.has_value());
}

TEST(OptionsTest, TakesModulesAndPrograms) {
  const JobOptions module = parse({"--nproc_per_node=2", "-m", "pkg.train", "--x"});
  EXPECT_TRUE(module.module);
  EXPECT_EQ(module.script, "pkg.train");
  EXPECT_THAT(module.script_args, ElementsAre("--x"));
  EXPECT_EQ(parse({"./a.out"}).script, "./a.out");
}

TEST(OptionsTest, TheLimitOfAnOutageIsAnOptionOrAVariable) {
  EXPECT_EQ(parse({"train.py"}).outage_limit, rpc::Outage::kDefault);
  EXPECT_EQ(parse({"--outage_limit=0.5", "train.py"}).outage_limit, 0.5);
  for (const char* wrong : {"0", "0.4", "601"}) {
    EXPECT_REFUSED(parse({std::string("--outage_limit=") + wrong, "train.py"}),
                   std::string("--outage_limit must be from 0.5 to 600 seconds, but is ") + wrong);
  }
  setenv("FLT_OUTAGE_LIMIT", "90", 1);
  EXPECT_EQ(parse({"train.py"}).outage_limit, 90);
  EXPECT_EQ(parse({"--outage_limit=60", "train.py"}).outage_limit, 60);
  unsetenv("FLT_OUTAGE_LIMIT");
}

TEST(OptionsTest, KnowsTheDefaultsOfLaunchPs) {
  const JobOptions options = parse({"train.py"}, Front::kLaunchPs);
  EXPECT_EQ(options.worker_num, 2);
  EXPECT_EQ(options.server_num, 2);
  EXPECT_EQ(options.log_dir, "logs");
}

TEST(OptionsTest, LaunchPsTakesHostsAndUsesThemForNothing) {
  const JobOptions options = parse(
      {"--cluster_node_ips=10.0.0.1,10.0.0.2", "--node_ip", "10.0.0.1", "--server_num=1", "a.py"},
      Front::kLaunchPs);
  EXPECT_FALSE(options.ips);
  EXPECT_FALSE(options.node_ip);
  EXPECT_EQ(options.server_num, 1);
}

TEST(OptionsTest, ListsModeOptionsInTheLaunchersOwnOrder) {
  const JobOptions options =
      parse({"--server_num=1", "--gpus=0,1", "--worker_num=2", "--http_port=80", "train.py"});
  EXPECT_THAT(options.server_options_said,
              ElementsAre("--worker_num", "--server_num", "--http_port"));
}

TEST(OptionsTest, TakesTheEnvironmentWhereAnOptionIsNotSaid) {
  setenv("PADDLE_NNODES", "4", 1);
  setenv("PADDLE_JOB_ID", "from the environment", 1);
  const JobOptions options = parse({"--master=a:1", "--nnodes", "2:3", "train.py"});
  unsetenv("PADDLE_NNODES");
  unsetenv("PADDLE_JOB_ID");
  EXPECT_EQ(options.nnodes, "2:3");
  EXPECT_EQ(options.job_id, "from the environment");
}

TEST(OptionsTest, AJobOfAFunctionIsOfThisHostWhateverTheEnvironmentSays) {
  setenv("PADDLE_NNODES", "4", 1);
  setenv("PADDLE_SERVER_NUM", "2", 1);
  const JobOptions options = parse({"--nproc_per_node=2", "train.py"}, Front::kSpawn);
  unsetenv("PADDLE_NNODES");
  unsetenv("PADDLE_SERVER_NUM");
  EXPECT_EQ(options.nnodes, std::nullopt);
  EXPECT_THAT(options.server_options_said, IsEmpty());
  EXPECT_EQ(options.log_dir, "");
  EXPECT_TRUE(options.quiet);
}

TEST(OptionsTest, RefusesInOneSentence) {
  EXPECT_THAT(refusal({"--worker_nun", "2", "t.py"}), HasSubstr("Did you mean \"--worker_num\"?"));
  EXPECT_THAT(refusal({"--worker_num", "two", "t.py"}),
              HasSubstr("--worker_num must be a whole number of at least 1, but is \"two\""));
  EXPECT_THAT(refusal({"--worker_num", "0", "t.py"}), HasSubstr("at least 1"));
  EXPECT_THAT(refusal({"--gpus"}), HasSubstr("--gpus needs a value"));
  EXPECT_THAT(refusal({"--gpus", "0"}), HasSubstr("no script, -m module or program"));
  EXPECT_THAT(refusal({"-x", "t.py"}), HasSubstr("no option \"-x\""));
  EXPECT_THAT(refusal({"-m"}), HasSubstr("-m needs the name of a module"));
  EXPECT_THAT(refusal({"--run_mode", "both", "t.py"}), HasSubstr("collective, ps or ps-heter"));
  EXPECT_THAT(refusal({"--ips", "a,b", "--server_num", "1", "t.py"}),
              HasSubstr("use only one of the two"));
}

TEST(OptionsTest, CountsHosts) {
  const auto count = [](const char* text) {
    return parse({"--master=a:1", "--nnodes", text, "t.py"}).hosts();
  };
  EXPECT_EQ(count("3").least, 3);
  EXPECT_EQ(count("3").most, 3);
  EXPECT_EQ(count("2:4").least, 2);
  EXPECT_EQ(count("2:4").most, 4);
  for (const char* bad : {"0", "two", "4:2", "2:", ":2", "2:4:6"}) {
    EXPECT_THAT(refusal({"--master=a:1", "--nnodes", bad, "t.py"}),
                HasSubstr("--nnodes must be a number of hosts or a range such as 2:4"));
  }
  EXPECT_THAT(refusal({"--nnodes=2", "t.py"}),
              HasSubstr("give the address of the first one with --master"));
  EXPECT_THAT(refusal({"--master=a", "t.py"}),
              HasSubstr("--master must be host:port, but is \"a\""));
  EXPECT_THAT(refusal({"--master=a:1", "--nnodes=2", "--rank=2", "t.py"}),
              HasSubstr("--rank must be less than the number of hosts, but is 2 of 2"));
  EXPECT_THAT(refusal({"--master=a:1", "--nnodes=2", "--ips=a,b", "t.py"}),
              HasSubstr("--master finds the hosts by itself"));
}

TEST(OptionsTest, ShowsEveryOptionWhenAskedForHelp) {
  try {
    parse({"--gpus", "0", "--help"});
    FAIL() << "no help";
  } catch (const HelpAsked& help) {
    EXPECT_THAT(help.text, HasSubstr("--stall_timeout"));
    EXPECT_THAT(help.text, HasSubstr("also --selected_gpus, --devices, --xpus, "));
    EXPECT_THAT(help.text, HasSubstr("also --cluster_node_ips\n"));
    EXPECT_THAT(help.text, HasSubstr("and ignored: --backend, "));
  }
}

}  // namespace
}  // namespace flotilla::launch
