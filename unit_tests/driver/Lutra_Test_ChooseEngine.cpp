// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_test_macros.hpp>

#include "Lutra_ChooseEngine.hpp"

namespace lutra::Test {

TEST_CASE("an engine is chosen from options and properties, with a reason", "[driver]") {
  using Impl::EngineProperties;
  const NumericDeviceModel host = host_device_model().numeric, device = h200_device_model().numeric;
  const EngineProperties dense{60, true}, sparse{10, true}, too_large{60, false};
  using Impl::choose_engine;
  CHECK(choose_engine({}, dense, host).engine == Engine::multifrontal);
  CHECK(choose_engine({}, sparse, host).engine == Engine::simplicial);
  CHECK(choose_engine({}, sparse, device).engine == Engine::multifrontal);
  CHECK(choose_engine({}, too_large, device).engine == Engine::simplicial);
  CHECK(choose_engine({}, too_large, device).reason.find("memory limit") != std::string::npos);
  CHECK(choose_engine({}, dense, host).reason.find("60 flops per stored entry") != std::string::npos);

  LuOptions options;
  options.engine = Engine::simplicial;
  CHECK(choose_engine(options, dense, host).engine == Engine::simplicial);
  CHECK(choose_engine(options, dense, host).reason.empty());
  options.engine = Engine::automatic;
  options.symbolic = SymbolicMethod::fill1;
  CHECK(choose_engine(options, sparse, device).engine == Engine::simplicial);
  options.pivoting = Pivoting::threshold;
  CHECK(choose_engine(options, sparse, host).engine == Engine::multifrontal);
  options = {};
  options.ordering = Ordering::user;
  CHECK(choose_engine(options, sparse, device).engine == Engine::simplicial);
  options.engine = Engine::multifrontal;
  CHECK(choose_engine(options, too_large, device).engine == Engine::multifrontal);
}

}  // namespace lutra::Test
