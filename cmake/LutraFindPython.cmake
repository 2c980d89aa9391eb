# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# What the Python package is built with: Python_EXECUTABLE, unless somebody has chosen, is the first python3 on the way
# that has NumPy and SciPy; Python's headers; nanobind, a CMake package or a module of that Python. Sets
# Lutra_python_problem to what is missing, or to "".
# Any nanobind from 2 on. find_package would take a version asked of it for that major number alone.
macro(lutra_find_nanobind)
  find_package(nanobind QUIET CONFIG)
  if(nanobind_FOUND AND nanobind_VERSION VERSION_LESS 2)
    set(nanobind_FOUND FALSE)
  endif()
endmacro()

function(lutra_has_scipy result python)
  execute_process(COMMAND "${python}" -c "import numpy, scipy.sparse" RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
  if(failed)
    set(${result} FALSE PARENT_SCOPE)
  endif()
endfunction()
find_program(Python_EXECUTABLE NAMES python3 VALIDATOR lutra_has_scipy)

set(Lutra_python_problem "")
if(Python_EXECUTABLE)
  find_package(Python 3.9 QUIET COMPONENTS Interpreter Development.Module)
endif()
if(NOT Python_EXECUTABLE)
  set(Lutra_python_problem "no python3 with NumPy and SciPy found")
elseif(NOT Python_FOUND)
  set(Lutra_python_problem "no headers found for ${Python_EXECUTABLE}")
else()
  lutra_find_nanobind()
  if(NOT nanobind_FOUND)
    execute_process(COMMAND "${Python_EXECUTABLE}" -m nanobind --cmake_dir OUTPUT_STRIP_TRAILING_WHITESPACE
                    OUTPUT_VARIABLE nanobind_DIR ERROR_QUIET)
    lutra_find_nanobind()
  endif()
  if(NOT nanobind_FOUND)
    set(Lutra_python_problem "no nanobind 2 or later found")
  endif()
endif()
