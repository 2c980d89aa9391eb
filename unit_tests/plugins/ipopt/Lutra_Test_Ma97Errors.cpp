// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cstdlib>
#include <limits>

#include "Lutra_TestMa97.hpp"

namespace lutra::Test {
namespace {

const std::vector<std::vector<double>> saddle = {{2, 0, 1}, {0, 3, 1}, {1, 1, 0}};

/// LUTRA_HSL_OPTIONS for one scope.
struct Environment {
  explicit Environment(const char* text) { setenv("LUTRA_HSL_OPTIONS", text, 1); }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;
  ~Environment() { unsetenv("LUTRA_HSL_OPTIONS"); }
};

}  // namespace

TEST_CASE("Patterns that HSL_MA97 refuses") {
  const Ma97 library;
  Session session(library);
  session.control.print_level = 0;
  session.control.unit_error = 0;
  const auto flag_and_text = [&](const Lower& A, int flag, const std::string& text) {
    const std::string found = printed(2, [&] { CHECK(session.analyse(A, 1) == flag); });
    CHECK(found == "lutra_hsl: " + text + "\n");
    CHECK(session.akeep == nullptr);
  };
  flag_and_text({-1, 0, {0}, {}, {}}, -2, "n: it is -1");
  flag_and_text({1, 1, {0, 1}, {1}, {}}, -3, "ptr: it starts with 0 instead of 1");
  flag_and_text({2, 0, {0, 2, 1}, {0, 1}, {}}, -3, "ptr: it descends from 2 to 1 after column 1");
  flag_and_text({2, 0, {0, 1, 2}, {7, -1}, {}}, -4, "row: no entry is in the lower triangle");
  session.control.print_level = -1;
  library.analyse(0, 2, nullptr, nullptr, nullptr, &session.akeep, &session.control, &session.info, nullptr);
  CHECK(session.info.flag == -10);
  const int ptr[] = {0, 1, 2};
  session.control.f_arrays = 0;
  library.analyse(0, 2, ptr, nullptr, nullptr, &session.akeep, &session.control, &session.info, nullptr);
  CHECK(session.info.flag == -10);
}

TEST_CASE("Entries out of range are ignored, entries given twice are added") {
  const Ma97 library;
  const Lower given{3, 1, {1, 5, 7, 8}, {3, 1, 9, 3, 1, 2, 3}, {0.25, 2, 99, 0.75, 99, 3, 1e-3}};
  const Lower meant = Lower::of({{2, 0, 1}, {0, 3, 0}, {1, 0, 1e-3}}, 1);
  for (const int check : {0, 1}) {
    Session session(library);
    CHECK(session.analyse(given, check) == 3);
    CHECK(session.info.matrix_outrange == 2);
    CHECK(session.info.matrix_dup == 1);
    CHECK(session.info.matrix_missing_diag == 0);
    REQUIRE(session.factor(given) == 0);
    const auto b = meant.times({1, 2, 3});
    auto x = b;
    REQUIRE(session.solve(x) == 0);
    CHECK(meant.backward_error(x.data(), b) < 1e-14);
  }
  Session session(library);
  CHECK(session.analyse({2, 0, {0, 2, 3}, {0, 2, 1}, {}}, 1) == 1);
  CHECK(session.analyse({2, 0, {0, 2, 3}, {0, 0, 1}, {}}, 1) == 2);
  CHECK(session.analyse(Lower::of(saddle), 1) == 4);
  CHECK(session.info.matrix_missing_diag == 1);
  CHECK(session.analyse({2, 0, {0, 2, 2}, {1, 1}, {}}, 1) == 5);
  CHECK(session.info.matrix_missing_diag == 2);
  CHECK(session.analyse(Lower::of(saddle), 0) == 0);
}

TEST_CASE("A matrix without rows") {
  const Ma97 library;
  Session session(library);
  const Lower A{0, 0, {0}, {}, {}};
  REQUIRE(session.analyse(A) == 0);
  CHECK(session.factor(A) == 0);
  CHECK(session.info.num_neg == 0);
  std::vector<double> x;
  CHECK(session.solve(x, 1, 1) == 0);
}

TEST_CASE("Calls in a wrong order and with wrong arguments") {
  const Ma97 library;
  Session session(library);
  const Lower A = Lower::of(saddle);
  std::vector<double> x = {1, 2, 3};
  CHECK(session.factor(A) == -1);
  CHECK(session.solve(x) == -1);
  REQUIRE(session.analyse(A) == 0);
  CHECK(session.solve(x) == -1);
  CHECK(session.factor(A, nullptr, 5) == -5);
  library.factor(4, nullptr, nullptr, nullptr, &session.akeep, &session.fkeep, &session.control,
                 &session.info, nullptr);
  CHECK(session.info.flag == -10);
  CHECK(session.solve(x) == -1);
  REQUIRE(session.factor(A) == 0);
  CHECK(session.solve(x, 0) == -12);
  CHECK(session.solve(x, 1, 2) == -12);
  CHECK(session.solve(x, 1, 3, 5) == -13);
  CHECK(session.solve(x, 1, 3, -1) == -13);
  CHECK(x == std::vector<double>{1, 2, 3});
  library.solve(0, 1, nullptr, 3, &session.akeep, &session.fkeep, &session.control, &session.info);
  CHECK(session.info.flag == -10);
  REQUIRE(session.analyse(A) == 0);
  CHECK(session.solve(x) == -1);  // these are the factors of the former analysis
  library.free_akeep(&session.akeep);
  CHECK(session.akeep == nullptr);
  CHECK(session.factor(A) == -1);
}

TEST_CASE("Handles that were never set, and those freed twice") {
  const Ma97 library;
  Session session(library);
  const Lower A = Lower::of(saddle);
  int other = 0;
  session.akeep = session.fkeep = &other;
  std::vector<double> x = {1, 2, 3};
  CHECK(session.factor(A) == -1);
  REQUIRE(session.analyse(A) == 0);
  CHECK(session.akeep != &other);
  CHECK(session.solve(x) == -1);
  REQUIRE(session.factor(A) == 0);
  CHECK(session.fkeep != &other);
  void *akeep = session.akeep, *fkeep = session.fkeep;
  library.finalise(&session.akeep, &session.fkeep);
  CHECK(session.akeep == nullptr);
  CHECK(session.fkeep == nullptr);
  library.finalise(&akeep, &fkeep);
  library.finalise(nullptr, nullptr);
  library.free_akeep(nullptr);
}

TEST_CASE("Values that are not finite") {
  const Ma97 library;
  for (const double value :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    for (std::size_t place = 0; place < 4; ++place) {
      Lower A = Lower::of(saddle);
      const double finite = A.val[place];
      for (const int scaling : {0, 1}) {
        Session session(library);
        session.control.scaling = scaling;
        REQUIRE(session.analyse(A) == 0);
        A.val[place] = value;
        CHECK(session.factor(A) == -9);  // with the analysis of Lutra, and without
        A.val[place] = finite;
        REQUIRE(session.factor(A) == 0);
        A.val[place] = value;
        CHECK(session.factor(A) == -9);
        std::vector<double> x = {1, 2, 3};
        CHECK(session.solve(x) == -1);
        A.val[place] = finite;
        REQUIRE(session.factor(A) == 0);
        x[1] = value;
        CHECK(session.solve(x) == -9);
      }
    }
  }
}

TEST_CASE("Options of the environment") {
  const Ma97 library;
  const Lower A = Lower::of(saddle);
  {
    const Environment environment("ordering=natural,front_pivoting=columns");
    Session session(library);
    session.control.print_level = 2;
    REQUIRE(session.analyse(A) == 0);
    const std::string report = printed(1, [&] { REQUIRE(session.factor(A) == 0); });
    CHECK(report.find("\"ordering\": \"natural\"") != std::string::npos);
  }
  struct Case {
    const char *text, *message;
  };
  for (const Case& one : {Case{"ordering", "'ordering' is not of the form name=value"},
                          Case{"=amd", "'=amd' is not of the form name=value"},
                          Case{"ordering=amd,pivot_threshold=2",
                               "option pivot_threshold: 2 is out of range (above 0 and at most 0.5)"},
                          Case{"triangle=upper", "triangle: MA97 passes the lower one"}}) {
    const Environment environment(one.text);
    Session session(library);
    const std::string text = printed(2, [&] { CHECK(session.analyse(A) == -50); });
    CHECK(text == std::string("lutra_hsl: LUTRA_HSL_OPTIONS: ") + one.message + "\n");
  }
  const Environment environment("backend=abacus");
  Session session(library);
  const std::string text = printed(2, [&] { CHECK(session.analyse(A) == -50); });
  CHECK(text.find("lutra_hsl: LUTRA_HSL_OPTIONS: backend: 'abacus' was not built (choose from auto, ") == 0);
}

TEST_CASE("Nothing is printed unless asked for") {
  const Ma97 library;
  const auto provoke = [&](int level, int unit) {
    Session session(library);
    session.control.print_level = level;
    session.control.unit_error = unit;
    std::vector<double> x = {1, 2, 3};
    CHECK(session.solve(x) == -1);
  };
  const char* const message = "lutra_hsl: there is no analysis: call ma97_analyse first\n";
  CHECK(printed(1, [&] { provoke(0, 6); }) == message);
  CHECK(printed(2, [&] { provoke(0, 0); }) == message);
  for (const int descriptor : {1, 2}) {
    CHECK(printed(descriptor, [&] { provoke(-1, 6); }).empty());
    CHECK(printed(descriptor, [&] { provoke(0, -1); }).empty());
  }
}

}  // namespace lutra::Test
