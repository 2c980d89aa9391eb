// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <lutra/Mfem.hpp>
#include <memory>

namespace {

/// Largest componentwise backward error |b - op(A) x| / (|op(A)| |x| + |b|).
double backward_error(const mfem::SparseMatrix& A, const mfem::Vector& x, const mfem::Vector& b,
                      bool transposed = false) {
  mfem::Vector residual(b), scale(b.Size());
  for (int i = 0; i < b.Size(); ++i) scale[i] = std::abs(b[i]);
  for (int i = 0; i < A.Height(); ++i)
    for (int p = A.GetI()[i]; p < A.GetI()[i + 1]; ++p) {
      const int row = transposed ? A.GetJ()[p] : i, column = transposed ? i : A.GetJ()[p];
      residual[row] -= A.GetData()[p] * x[column];
      scale[row] += std::abs(A.GetData()[p] * x[column]);
    }
  double largest = 0;
  for (int i = 0; i < b.Size(); ++i)
    if (!(residual[i] == 0)) largest = std::max(largest, std::abs(residual[i]) / scale[i]);
  return largest;
}

constexpr double tolerance = 1e-14;

double exact(const mfem::Vector& p) {
  return std::sin(M_PI * p[0]) * std::sin(M_PI * p[1]);
}

/// -ε Δu + v·∇u on the unit square with u = 0 on its boundary; for v = 0 and ε = 1, f is that of `exact`.
struct Problem {
  Problem(int cells, double speed, double diffusion = 1)
      : mesh(mfem::Mesh::MakeCartesian2D(cells, cells, mfem::Element::TRIANGLE)),
        elements(2, 2),
        space(&mesh, &elements),
        u(&space) {
    mfem::Array<int> boundary(mesh.bdr_attributes.Max());
    boundary = 1;
    space.GetEssentialTrueDofs(boundary, fixed);
    u = 0.0;
    f = std::make_unique<mfem::LinearForm>(&space);
    f->AddDomainIntegrator(new mfem::DomainLFIntegrator(source));
    f->Assemble();
    a = std::make_unique<mfem::BilinearForm>(&space);
    epsilon.constant = diffusion;
    direction = speed;
    velocity = std::make_unique<mfem::VectorConstantCoefficient>(direction);
    a->AddDomainIntegrator(new mfem::DiffusionIntegrator(epsilon));
    if (speed > 0) a->AddDomainIntegrator(new mfem::ConvectionIntegrator(*velocity));
    a->Assemble();
    a->FormLinearSystem(fixed, u, *f, A, x, b);
  }

  mfem::Mesh mesh;
  mfem::H1_FECollection elements;
  mfem::FiniteElementSpace space;
  mfem::GridFunction u;
  mfem::Array<int> fixed;
  mfem::ConstantCoefficient epsilon;
  mfem::Vector direction{2};
  std::unique_ptr<mfem::VectorConstantCoefficient> velocity;
  mfem::FunctionCoefficient source{[](const mfem::Vector& p) { return 2 * M_PI * M_PI * exact(p); }};
  std::unique_ptr<mfem::LinearForm> f;
  std::unique_ptr<mfem::BilinearForm> a;
  mfem::SparseMatrix A;
  mfem::Vector x, b;
};

double error_of_poisson(int cells, lutra_method method) {
  Problem problem(cells, 0);
  Lutra::MfemSolver solver(problem.A, method);
  solver.Mult(problem.b, problem.x);
  CHECK(solver.status() == LUTRA_SUCCESS);
  CHECK(backward_error(problem.A, problem.x, problem.b) < tolerance);
  problem.a->RecoverFEMSolution(problem.x, *problem.f, problem.u);
  mfem::FunctionCoefficient solution(exact);
  return problem.u.ComputeL2Error(solution);
}

}  // namespace

TEST_CASE("MFEM: quadratic elements for Poisson's equation, with errors of third order", "[plugins][mfem]") {
  for (const lutra_method method : {LUTRA_LU, LUTRA_LDLT, LUTRA_CHOLESKY, LUTRA_AUTO}) {
    const double ratio = error_of_poisson(8, method) / error_of_poisson(16, method);
    CHECK(ratio > 7.5);
    CHECK(ratio < 8.5);
  }
}

TEST_CASE("MFEM: convection, transposed, refactorized and as a preconditioner", "[plugins][mfem]") {
  const Problem problem(10, 5), faster(10, 9);
  Lutra::MfemSolver solver;
  solver.SetOption("ordering", "amd");
  mfem::Vector x(problem.b.Size());
  for (const mfem::SparseMatrix* A : {&problem.A, &faster.A}) {
    solver.SetOperator(*A);
    CHECK(solver.Height() == A->Height());
    solver.Mult(problem.b, x);
    CHECK(backward_error(*A, x, problem.b) < tolerance);
    x = problem.b;
    solver.MultTranspose(x, x);  // x over b
    CHECK(backward_error(*A, x, problem.b, true) < tolerance);
    CHECK(solver.status() == LUTRA_SUCCESS);
  }
  mfem::GMRESSolver gmres;
  gmres.SetPreconditioner(solver);
  gmres.SetOperator(problem.A);  // sets that of the preconditioner, too
  gmres.SetRelTol(1e-10);
  gmres.SetMaxIter(3);
  x = 0.0;
  gmres.Mult(problem.b, x);
  CHECK(gmres.GetConverged());
  CHECK(gmres.GetNumIterations() <= 2);
}

TEST_CASE("MFEM: columns that do not ascend", "[plugins][mfem]") {
  constexpr int n = 30;
  for (const double diagonal : {5.0, 7.0}) {
    mfem::SparseMatrix A(n, n);
    for (int i = 0; i < n; ++i) {
      A.Add(i, (i + 3) % n, 2);
      A.Add(i, i, diagonal + i);
      A.Add(i, (i + 1) % n, -1);
    }
    A.Finalize();
    Lutra::MfemSolver solver(A);
    mfem::Vector b(n), x(n);
    b.Randomize(1);
    solver.Mult(b, x);
    CHECK(solver.status() == LUTRA_SUCCESS);
    CHECK(backward_error(A, x, b) < tolerance);
  }
}

TEST_CASE("MFEM: failures are reported by MFEM's own means, or by status()", "[plugins][mfem]") {
  const Problem problem(4, 0);
  mfem::Vector x(problem.b.Size());
  mfem::SparseMatrix singular(3, 3);  // of a cycle
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) singular.Add(i, j, i == j ? 2 : -1);
  singular.Finalize();
  mfem::Vector b3(3), x3(3);
  b3 = 1.0;

#ifdef MFEM_USE_EXCEPTIONS
  mfem::set_error_action(mfem::MFEM_ERROR_THROW);
  Lutra::MfemSolver solver;
  const auto refused = [](const auto& call, const std::string& text) {
    try {
      call();
      FAIL("no exception");
    } catch (const mfem::ErrorException& error) {
      INFO(error.what());
      CHECK(std::string(error.what()).find(text) != std::string::npos);
    }
  };
  refused([&] { solver.Mult(problem.b, x); },
          "Lutra::MfemSolver::Mult: there are no factors; call SetOperator first");
  refused([&] { solver.SetOperator(mfem::IdentityOperator(3)); },
          "Lutra::MfemSolver::SetOperator: the operator is not a finalized mfem::SparseMatrix");
  refused([&] { solver.SetOption("no_such_option", "1"); }, "no_such_option");
  refused([&] { solver.SetOperator(singular); }, "singular");
  solver.SetOperator(problem.A);
  refused([&] { solver.Mult(b3, x); }, "b or x has not as many elements as A has rows");
  solver.Mult(problem.b, x);
  CHECK(backward_error(problem.A, x, problem.b) < tolerance);
#endif

  Lutra::MfemSolver quiet;
  quiet.ReportOnly();
  quiet.SetOperator(singular);
  CHECK(quiet.status() == LUTRA_NUMERICALLY_SINGULAR);
  CHECK(!quiet.message().empty());
  quiet.Mult(b3, x3);
  CHECK(quiet.status() != LUTRA_SUCCESS);
  mfem::SparseMatrix bad(problem.A);
  bad.GetData()[4] = std::numeric_limits<double>::quiet_NaN();
  quiet.SetOperator(bad);
  CHECK(quiet.status() == LUTRA_INPUT_ERROR);
  quiet.Mult(problem.b, x);
  CHECK(quiet.status() == LUTRA_INPUT_ERROR);
  CHECK(std::isnan(x[0]));
  quiet.SetOperator(problem.A);
  quiet.Mult(problem.b, x);
  CHECK(quiet.status() == LUTRA_SUCCESS);
}
