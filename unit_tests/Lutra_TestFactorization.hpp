// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_TESTFACTORIZATION_HPP
#define LUTRA_TESTFACTORIZATION_HPP

#include <memory>
#include <vector>

#include "Lutra_Error.hpp"
#include "Lutra_Numeric.hpp"

namespace lutra::Test {

/// The behaviour of the factorizations of a `ScriptedPlan`, and a record of their calls.
struct Script {
  double share = 1;            ///< apply returns the solution times this
  std::int64_t perturbed = 0;  ///< pivots reported as perturbed
  double growth = 1;           ///< reported for the default perturbation; 1 for larger ones
  std::int64_t stopped = -1;   ///< the row at which the watchdog ends the next solve
  bool factorize_stops = false, factorize_lacks_memory = false;
  bool plain_apply_lacks_memory = false;  ///< in solves that are not transposed
  std::vector<double> perturbations;      ///< of the calls of factorize so far
};

/// A factorization of diagonal matrices that follows a script, for failures that no matrix can provoke.
template <class Scalar, class ExecutionSpace>
class ScriptedFactorization final : public Factorization<Scalar, ExecutionSpace> {
 public:
  using Base = Factorization<Scalar, ExecutionSpace>;
  using typename Base::Memory;
  using typename Base::Rows;

  explicit ScriptedFactorization(std::shared_ptr<Script> script) : m_script(std::move(script)) {}

  FactorizationOutcome factorize(const ExecutionSpace&, const ScaledValues<Scalar, Memory>& A,
                                 double perturbation) override {
    m_script->perturbations.push_back(perturbation);
    if (m_script->factorize_lacks_memory) throw OutOfMemoryError("scripted", 1);
    if (m_script->factorize_stops) throw TimeoutError("scripted");
    m_A = A;
    const bool is_default = m_script->perturbations.size() % 2 == 1;
    return {m_script->perturbed, std::nullopt, 1.0, is_default ? m_script->growth : 1.0};
  }
  void apply(const ExecutionSpace& exec, Transposition op, const Rows& B, const Rows& X) override {
    if (m_script->plain_apply_lacks_memory && op == Transposition::none)
      throw OutOfMemoryError("scripted", 1);
    const auto diagonal = m_A.values;
    const Scalar share(static_cast<RealOf<Scalar>>(m_script->share));
    Kokkos::parallel_for(
        "lutra::test::apply",
        Kokkos::RangePolicy<ExecutionSpace>(exec, 0, static_cast<std::int64_t>(B.extent(0))),
        KOKKOS_LAMBDA(const std::int64_t i) {
          for (std::size_t c = 0; c < B.extent(1); ++c)
            X(i, c) = diagonal(i) == Scalar(0) ? Scalar(0) : share * B(i, c) / diagonal(i);
        });
  }
  std::vector<Pivot> pivots(const ExecutionSpace&) const override {
    std::vector<Pivot> result;
    for (std::int64_t k = 0; k < static_cast<std::int64_t>(m_A.values.extent(0)); ++k)
      result.push_back({k, k, k < m_script->perturbed});
    return result;
  }
  std::int64_t consume_timeout(const ExecutionSpace&) override {
    return std::exchange(m_script->stopped, -1);
  }

 private:
  std::shared_ptr<Script> m_script;
  ScaledValues<Scalar, Memory> m_A;
};

template <class Scalar, class ExecutionSpace>
struct ScriptedPlan final : FactorizationPlan<Scalar, ExecutionSpace> {
  std::shared_ptr<Script> script = std::make_shared<Script>();

  std::unique_ptr<Factorization<Scalar, ExecutionSpace>> make_factorization(
      const ExecutionSpace&, const MemoryBudget&) const override {
    return std::make_unique<ScriptedFactorization<Scalar, ExecutionSpace>>(script);
  }
  void write_pattern(const ExecutionSpace&, FactorStructure&) const override {}
};

}  // namespace lutra::Test

#endif
