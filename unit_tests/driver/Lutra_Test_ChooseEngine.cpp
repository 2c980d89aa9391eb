// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_test_macros.hpp>

#include "Lutra_ChooseEngine.hpp"

namespace lutra::Test {

TEST_CASE("an engine is chosen from options and properties, with a reason", "[driver]") {
  using Impl::choose_engine;
  using Impl::EngineProperties;
  const EngineProperties dense_on_host{true, 60, true}, sparse_on_host{true, 10, true};
  const EngineProperties on_device{false, 10, true}, too_large{false, 60, false};
  CHECK(choose_engine({}, dense_on_host).engine == Engine::multifrontal);
  CHECK(choose_engine({}, sparse_on_host).engine == Engine::simplicial);
  CHECK(choose_engine({}, on_device).engine == Engine::multifrontal);
  CHECK(choose_engine({}, too_large).engine == Engine::simplicial);
  CHECK(choose_engine({}, too_large).reason.find("memory limit") != std::string::npos);
  CHECK(choose_engine({}, dense_on_host).reason.find("60 flops per stored entry") != std::string::npos);

  LuOptions options;
  options.engine = Engine::simplicial;
  CHECK(choose_engine(options, dense_on_host).engine == Engine::simplicial);
  CHECK(choose_engine(options, dense_on_host).reason.empty());
  options.engine = Engine::automatic;
  options.symbolic = SymbolicMethod::fill1;
  CHECK(choose_engine(options, on_device).engine == Engine::simplicial);
  options.pivoting = Pivoting::threshold;
  CHECK(choose_engine(options, sparse_on_host).engine == Engine::multifrontal);
  options = {};
  options.ordering = Ordering::user;
  CHECK(choose_engine(options, on_device).engine == Engine::simplicial);
  options.engine = Engine::multifrontal;
  CHECK(choose_engine(options, too_large).engine == Engine::multifrontal);
}

}  // namespace lutra::Test
