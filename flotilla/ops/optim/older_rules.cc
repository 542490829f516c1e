// flotilla/ops/optim/older_rules.cc
//
// Update rules that no optimizer of the layers has, for programs that hold their operators:
//
//   decayed_adagrad   M = decay M + (1 - decay) G^2;  P -= lr G / (sqrt(M) + epsilon)
//   proximal_adagrad  M += G^2;                       P = near(P - lr G / sqrt(M))
//   proximal_gd                                       P = near(P - lr G)
//
//   near(P) = sign(P) max(|P| - lr l1, 0) / (1 + lr l2)

#include "flotilla/op/lower.h"

namespace flotilla::ops {
namespace {

std::string squared_gradient(LowerContext& c) { return c.apply("square", c.in("Grad")); }

std::string times_rate(LowerContext& c, const std::string& step) {
  return c.apply("elementwise_mul", step, c.in("LearningRate"));
}

std::string stepped(LowerContext& c, const std::string& step) {
  return c.apply("elementwise_sub", c.in("Param"), times_rate(c, step));
}

void lower_decayed(LowerContext& c) {
  const float decay = c.attr<float>("decay");
  const std::string kept = c.apply("scale", c.in("Moment"), {{"scale", decay}});
  const std::string added = c.apply("scale", squared_gradient(c), {{"scale", 1 - decay}});
  const std::string moment = c.apply("elementwise_add", kept, added);
  const std::string size = c.apply("scale", c.apply("sqrt", moment),
                                   {{"scale", 1.0f}, {"bias", c.attr<float>("epsilon")}});
  c.result("MomentOut", moment);
  c.result("ParamOut", stepped(c, c.apply("elementwise_div", c.in("Grad"), size)));
}

std::string near(LowerContext& c, const std::string& param) {
  const auto rate_times = [&](const char* attr, float bias) {
    return c.apply("scale", c.in("LearningRate"), {{"scale", c.attr<float>(attr)}, {"bias", bias}});
  };
  const std::string size =
      c.apply("elementwise_sub", c.apply("abs", param), rate_times("l1", 0.0f));
  const std::string moved =
      c.apply("elementwise_mul", c.apply("sign", param), c.apply("relu", size));
  return c.apply("elementwise_div", moved, rate_times("l2", 1.0f));
}

void lower_proximal_gd(LowerContext& c) { c.result("ParamOut", near(c, stepped(c, c.in("Grad")))); }

void lower_proximal_adagrad(LowerContext& c) {
  const std::string moment = c.apply("elementwise_add", c.in("Moment"), squared_gradient(c));
  const std::string step = c.apply("elementwise_div", c.in("Grad"), c.apply("sqrt", moment));
  c.result("MomentOut", moment);
  c.result("ParamOut", near(c, stepped(c, step)));
}

void infer(InferContext& c) {
  c.out("ParamOut") = like(c.in("Param"));
  if (c.has_in("Moment")) c.out("MomentOut") = like(c.in("Moment"));
}

bool define(std::string type, std::string doc, bool has_moment, std::vector<AttrSpec> attrs,
            void (*lower)(LowerContext&)) {
  const auto like_param = [](std::string name, std::string what) {
    return Slot{.name = std::move(name), .doc = std::move(what), .like = "Param"};
  };
  OpDef def{.type = std::move(type),
            .doc = std::move(doc),
            .inputs = {{.name = "Param", .doc = "parameter"},
                       like_param("Grad", "gradient of Param"),
                       {.name = "LearningRate", .doc = "one number", .one = true}},
            .outputs = {like_param("ParamOut", "in the place of Param")},
            .attrs = std::move(attrs),
            .infer = infer,
            .lower = lower};
  if (has_moment) {
    def.inputs.insert(def.inputs.begin() + 1, like_param("Moment", "squares of gradients"));
    def.outputs.push_back(like_param("MomentOut", "in the place of Moment"));
  }
  define_op(std::move(def));
  return true;
}

const std::vector<AttrSpec> kProximal = {{"l1", 0.0f, "how strongly numbers are drawn to 0"},
                                         {"l2", 0.0f, "the same, in proportion to their size"}};

const bool kDecayed = define(
    "decayed_adagrad", "Adagrad that forgets.", true,
    {{"decay", 0.95f, "how much of Moment stays"}, {"epsilon", 1e-6f, "keeps the divisor from 0"}},
    lower_decayed);
const bool kProximalGd =
    define("proximal_gd", "SGD that draws parameters to 0.", false, kProximal, lower_proximal_gd);
const bool kProximalAdagrad = define("proximal_adagrad", "Adagrad that draws parameters to 0.",
                                     true, kProximal, lower_proximal_adagrad);

}  // namespace
}  // namespace flotilla::ops
