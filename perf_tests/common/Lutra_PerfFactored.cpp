// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_PerfFactored.hpp"

#include <cmath>
#include <stdexcept>

namespace lutra::Perf {

template <class Scalar>
Factored<Scalar>::Factored(const HostMatrix<Scalar>& host, const LuOptions& options)
    : matrix(to_device(host)),
      host_b(make_right_hand_side(host)),
      b("lutra::perf::b", host_b.size(), 1),
      x("lutra::perf::x", host_b.size(), 1),
      analysis(analyze(exec, matrix, options, budget)) {
  if (!analysis->plan) throw std::runtime_error(describe(analysis->report));
  release();
  Kokkos::deep_copy(Kokkos::subview(b, Kokkos::ALL(), 0), to_device(host_b));
  factorize();
}

template <class Scalar>
void Factored<Scalar>::factorize() {
  // The default least pivot of SparseLU.
  const double perturbation = std::pow(static_cast<double>(epsilon_of<Scalar>), 5.0 / 8.0);
  outcome = factorization->factorize(exec, scaled_values(), perturbation);
  if (!outcome.is_finite()) throw std::runtime_error("the factors hold NaN or infinity");
}

template <class Scalar>
void Factored<Scalar>::release() {
  factorization = analysis->plan->make_factorization(exec, budget);
}

template <class Scalar>
void Factored<Scalar>::solve_once() const {
  factorization->apply(exec, Transposition::none, b, x);
}

template <class Scalar>
Measurement describe_factored(Samples samples, const HostMatrix<Scalar>& matrix,
                              const Factored<Scalar>& factored) {
  factored.solve_once();
  factored.exec.fence("lutra::perf: x is read");
  const Report& report = factored.analysis->report;
  Measurement result{std::move(samples)};
  result.counters["n"] = matrix.n_rows;
  result.counters["nnz"] = static_cast<double>(matrix.nnz());
  result.counters["nnz_lu"] = static_cast<double>(*report.factors.nnz_l + *report.factors.nnz_u);
  result.counters["flops"] = *report.factors.flops;
  result.counters["levels"] = static_cast<double>(*report.factors.levels);
  result.counters["perturbed_pivots"] = static_cast<double>(factored.outcome.perturbed);
  result.counters["peak_bytes"] = static_cast<double>(factored.budget.peak_bytes());
  result.label = "engine " + report.choice.engine + ", matching " + report.choice.matching + ", ordering " +
                 report.choice.ordering;
  result.add_errors(backward_errors(matrix, factored.host_b, to_host(factored.x)));
  return result;
}

template struct Factored<double>;
template Measurement describe_factored(Samples, const HostMatrix<double>&, const Factored<double>&);
#ifdef LUTRA_HAS_C128
template struct Factored<Kokkos::complex<double>>;
template Measurement describe_factored(Samples, const HostMatrix<Kokkos::complex<double>>&,
                                       const Factored<Kokkos::complex<double>>&);
#endif

}  // namespace lutra::Perf
