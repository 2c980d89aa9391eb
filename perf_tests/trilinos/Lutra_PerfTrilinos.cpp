// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Refactorization and solve: Lutra alone, Lutra through Amesos2, and Amesos2's KLU2 and Tacho, on one
// process. Writes a table in Markdown. Arguments: files in Matrix Market format, or kind:size of a generator.
#include <Teuchos_DefaultMpiComm.hpp>
#include <Tpetra_Core.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "Lutra_Amesos2Solver.hpp"
#include "Lutra_MatrixMarket.hpp"

namespace {

using Matrix = Tpetra::CrsMatrix<double>;
using Vector = Tpetra::MultiVector<double>;
using Solver = Amesos2::Solver<Matrix, Vector>;
using Teuchos::RCP;
using Teuchos::rcp;

constexpr int samples = 9;
constexpr double sample_seconds = 5e-3;  // a sample consists of several runs if one is shorter
constexpr double max_error = 1e-8;       // ‖b − A·x‖ / ‖b‖ above which a solver has failed

lutra::HostMatrix<double> read(const std::string& spec) {
  const auto colon = spec.find(':');
  if (colon != std::string::npos && spec.find('/') == std::string::npos)
    return lutra::generate(spec.substr(0, colon), std::stoll(spec.substr(colon + 1)));
  return std::get<lutra::HostMatrix<double>>(lutra::read_matrix_market(spec).matrix);
}

std::string name_of(std::string spec) {
  if (const auto slash = spec.rfind('/'); slash != std::string::npos) spec = spec.substr(slash + 1);
  return spec.substr(0, spec.find(".mtx"));
}

RCP<Matrix> tpetra_matrix(const lutra::HostMatrix<double>& A) {
  const auto comm = rcp(new Teuchos::MpiComm<int>(MPI_COMM_SELF));
  const auto map = rcp(new Matrix::map_type(A.n_rows, 0, comm));
  const Matrix::local_matrix_device_type local(
      "A", A.n_rows, A.n_rows, A.nnz(), Kokkos::View<double*, Matrix::device_type>("values", A.values.size()),
      Kokkos::View<std::size_t*, Matrix::device_type>("row_map", A.row_map.size()),
      Kokkos::View<int*, Matrix::device_type>("entries", A.entries.size()));
  std::copy(A.values.begin(), A.values.end(), local.values.data());
  std::copy(A.row_map.begin(), A.row_map.end(), const_cast<std::size_t*>(local.graph.row_map.data()));
  std::copy(A.entries.begin(), A.entries.end(), const_cast<int*>(local.graph.entries.data()));
  return rcp(new Matrix(local, map, map));
}

enum class Symmetry { none, pattern, values };

Symmetry symmetry(const lutra::HostMatrix<double>& A) {
  Symmetry found = Symmetry::values;
  for (int i = 0; i < A.n_rows; ++i) {
    for (auto k = A.row_map[std::size_t(i)]; k < A.row_map[std::size_t(i) + 1]; ++k) {
      const int j = A.entries[std::size_t(k)];
      const auto begin = A.entries.begin() + A.row_map[std::size_t(j)];
      const auto end = A.entries.begin() + A.row_map[std::size_t(j) + 1];
      const auto at = std::lower_bound(begin, end, i);
      if (at == end || *at != i) return Symmetry::none;
      if (A.values[std::size_t(at - A.entries.begin())] != A.values[std::size_t(k)])
        found = Symmetry::pattern;
    }
  }
  return found;
}

/// A solver after its analysis, and the function to time.
struct Candidate {
  std::string name;
  std::function<void()> run;  ///< refactors, and solves into X
  bool usable = false;
  std::vector<double> seconds{};

  double median() {
    std::sort(seconds.begin(), seconds.end());
    return seconds[seconds.size() / 2];
  }
};

/// Processor time in seconds, which other programs on the machine affect least.
double processor_seconds() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

double timed(const std::function<void()>& run, int times) {
  const double start = processor_seconds();
  for (int i = 0; i < times; ++i) run();
  return (processor_seconds() - start) / times;
}

double relative_residual(const Matrix& A, const Vector& X, const Vector& B) {
  Vector R(B, Teuchos::Copy);
  A.apply(X, R, Teuchos::NO_TRANS, -1.0, 1.0);
  double norm = 0, reference = 0;
  R.normInf(Teuchos::ArrayView<double>(&norm, 1));
  B.normInf(Teuchos::ArrayView<double>(&reference, 1));
  return norm / reference;
}

RCP<Solver> tacho(const RCP<Matrix>& A, const std::string& method) {
  const auto solver = Amesos2::create<Matrix, Vector>("tacho", A);
  const auto list = Teuchos::parameterList("Amesos2");
  list->sublist("Tacho").set("method", method);
  solver->setParameters(list);
  return solver;
}

/// Runs each candidate once. Candidates whose X is not a solution are not usable.
void probe(std::vector<Candidate>& candidates, const Matrix& A, const RCP<Vector>& X, const Vector& B) {
  for (Candidate& candidate : candidates) {
    X->putScalar(0);
    try {
      candidate.run();
      candidate.usable = relative_residual(A, *X, B) < max_error;
    } catch (const std::exception& error) {
      std::fprintf(stderr, "  %s: %s\n", candidate.name.c_str(), error.what());
    }
  }
}

/// Takes samples of all usable candidates in turn, repeatedly.
void measure(std::vector<Candidate>& candidates) {
  for (int sample = 0; sample < samples; ++sample) {
    for (Candidate& candidate : candidates) {
      if (!candidate.usable) continue;
      const double once = timed(candidate.run, 1);
      const int times = std::clamp(static_cast<int>(sample_seconds / std::max(once, 1e-6)), 1, 500);
      candidate.seconds.push_back(times > 1 ? timed(candidate.run, times) : once);
    }
  }
}

struct Means {
  double logarithms = 0;
  int count = 0;
  void add(double ratio) { logarithms += std::log(ratio), ++count; }
  double value() const { return std::exp(logarithms / std::max(count, 1)); }
};

void run(const std::string& spec, Means& overhead, Means& klu2, Means& best_tacho) {
  const lutra::HostMatrix<double> host = read(spec);
  const RCP<Matrix> A = tpetra_matrix(host);
  const auto X = rcp(new Vector(A->getDomainMap(), 1)), exact = rcp(new Vector(A->getDomainMap(), 1));
  const auto B = rcp(new Vector(A->getRangeMap(), 1));
  exact->putScalar(1);
  A->apply(*exact, *B);

  using Through = lutra::Amesos2Solver<Matrix, Vector>;
  Through::solver_type alone;
  const auto view = [&] { return lutra::make_view(A->getLocalMatrixDevice()); };
  if (alone.analyze(view()) != lutra::Status::success)
    throw std::runtime_error(lutra::describe(alone.report()));
  const auto amesos2 = [&](const std::string& name, const RCP<Solver>& solver) {
    return Candidate{name, [=] {
                       solver->numericFactorization();
                       solver->solve(X.ptr(), Teuchos::Ptr<const Vector>(B.ptr()));
                     }};
  };
  std::vector<Candidate> candidates = {{"Lutra alone",
                                        [&] {
                                          static_cast<void>(alone.factorize(view()));
                                          alone.solve(B->getLocalViewDevice(Tpetra::Access::ReadOnly),
                                                      X->getLocalViewDevice(Tpetra::Access::OverwriteAll));
                                        }},
                                       amesos2("Lutra through Amesos2", rcp(new Through(A, X, B))),
                                       amesos2("KLU2", Amesos2::create<Matrix, Vector>("klu2", A))};
  const Symmetry kind = symmetry(host);
  if (kind != Symmetry::none) candidates.push_back(amesos2("Tacho lu", tacho(A, "lu")));
  if (kind == Symmetry::values) {
    candidates.push_back(amesos2("Tacho ldl", tacho(A, "ldl")));
    candidates.push_back(amesos2("Tacho chol", tacho(A, "chol")));
  }
  probe(candidates, *A, X, *B);
  measure(candidates);

  std::printf("| %s | %d | %lld |", name_of(spec).c_str(), host.n_rows, static_cast<long long>(host.nnz()));
  if (!candidates[0].usable || !candidates[1].usable) {
    std::printf(" failed | | | |\n");
    return;
  }
  const double lutra = candidates[1].median();
  std::printf(" %.4g | %.3f |", 1e3 * lutra, lutra / candidates[0].median());
  overhead.add(lutra / candidates[0].median());
  if (candidates[2].usable) {
    klu2.add(candidates[2].median() / lutra);
    std::printf(" %.2f |", candidates[2].median() / lutra);
  } else {
    std::printf(" failed |");
  }
  Candidate* best = nullptr;
  for (std::size_t i = 3; i < candidates.size(); ++i) {
    Candidate& tried = candidates[i];
    if (tried.usable && (!best || tried.median() < best->median())) best = &tried;
  }
  if (best) {
    best_tacho.add(best->median() / lutra);
    std::printf(" %.2f (%s) |\n", best->median() / lutra, best->name.substr(6).c_str());
  } else {
    std::printf(kind == Symmetry::none ? " |\n" : " failed |\n");
  }
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char* argv[]) {
  Tpetra::ScopeGuard tpetra(&argc, &argv);
  std::printf(
      "| matrix | rows | entries | ms through Amesos2 | over Lutra alone | KLU2's time over it | the best "
      "Tacho's |\n| --- | --- | --- | --- | --- | --- | --- |\n");
  Means overhead, klu2, best_tacho;
  for (int i = 1; i < argc; ++i) {
    try {
      run(argv[i], overhead, klu2, best_tacho);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s: %s\n", argv[i], error.what());
    }
  }
  std::printf("| geometric mean | | | | %.3f | %.2f of %d | %.2f of %d |\n", overhead.value(), klu2.value(),
              klu2.count, best_tacho.value(), best_tacho.count);
}
