# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Spack recipe for Lutra. It is part of the sources and installs them:
#
#   spack repo add packaging/spack
#   spack dev-build lutra@main +openmp            # the files of this work tree
#   spack install lutra@main +cuda cuda_arch=90   # the latest commit of the branch main
#   spack install lutra@0.2.0                     # the release

from pathlib import Path

try:  # Spack 1.0 and later
    from spack_repo.builtin.build_systems.cmake import CMakePackage
    from spack_repo.builtin.build_systems.cuda import CudaPackage
    from spack_repo.builtin.build_systems.rocm import ROCmPackage
except ImportError:  # earlier ones have them in spack.package
    pass
from spack.package import *


class Lutra(CMakePackage, CudaPackage, ROCmPackage):
    """Sparse LU, LDLT, incomplete LU and Krylov methods on Kokkos: one source for hosts and GPUs."""

    git = Path(__file__).resolve().parents[4].as_uri()
    license("Apache-2.0 WITH LLVM-exception")

    version("main", branch="main")
    version("0.2.0", tag="v0.2.0")

    variant("shared", default=True, description="Build shared libraries")
    variant("openmp", default=False, description="Run on host threads by OpenMP")
    variant("cli", default=True, description="Build the program lutra")
    variant("c", default=True, description="Build the interface for C and Fortran")
    variant("trilinos", default=False, description="Adapters for Amesos2, Ifpack2 and Stratimikos")
    variant("python", default=False, description="Install the Python package lutra")
    variant(
        "scalars",
        default="f32,f64,c64,c128",
        values=("f32", "f64", "c64", "c128"),
        multi=True,
        description="Scalar types to compile for",
    )

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("kokkos@4.5:4 +serial cxxstd=20")
    depends_on("kokkos-kernels@4.5:4")
    depends_on("kokkos +openmp", when="+openmp")
    depends_on("kokkos-kernels +openmp", when="+openmp")
    depends_on("mpi")
    depends_on("metis@5:")
    depends_on("zlib-api")
    depends_on("xz")  # liblzma
    depends_on("nlohmann-json@3:", type="build")
    depends_on("cli11@2:", type="build", when="+cli")
    depends_on("catch2@3:", type="test")
    for arch in CudaPackage.cuda_arch_values:
        depends_on(f"kokkos +cuda +wrapper cuda_arch={arch}", when=f"+cuda cuda_arch={arch}")
        depends_on(f"kokkos-kernels +cuda cuda_arch={arch}", when=f"+cuda cuda_arch={arch}")
    for target in ROCmPackage.amdgpu_targets:
        depends_on(f"kokkos +rocm amdgpu_target={target}", when=f"+rocm amdgpu_target={target}")

    # Each Trilinos requires one version of Kokkos: 16.0 an older one than Lutra, 17 a newer one.
    depends_on("trilinos@16.1:16 +tpetra +amesos2 +ifpack2 +stratimikos +belos", when="+trilinos")

    extends("python", when="+python")
    depends_on("python@3.9:", type=("build", "run"), when="+python")
    depends_on("py-pip", type="build", when="+python")
    depends_on("py-scikit-build-core@0.8:", type="build", when="+python")
    depends_on("py-nanobind@2.1:", type="build", when="+python")
    depends_on("py-numpy@1.23:", type=("build", "run"), when="+python")
    depends_on("py-scipy@1.9:", type=("build", "run"), when="+python")

    conflicts("+cuda", when="cuda_arch=none", msg="name the device: cuda_arch=90")
    conflicts("+rocm", when="amdgpu_target=none", msg="name the device: amdgpu_target=gfx90a")
    conflicts("+cuda", when="+rocm", msg="Kokkos takes one kind of device")

    def cmake_args(self):
        backends = ["SERIAL"]
        for variant_name, backend in (("openmp", "OPENMP"), ("cuda", "CUDA"), ("rocm", "HIP")):
            if self.spec.satisfies(f"+{variant_name}"):
                backends.append(backend)
        args = [
            self.define_from_variant("BUILD_SHARED_LIBS", "shared"),
            self.define_from_variant("Lutra_ENABLE_CLI", "cli"),
            self.define_from_variant("Lutra_ENABLE_C", "c"),
            self.define_from_variant("Lutra_ENABLE_TRILINOS", "trilinos"),
            self.define_from_variant("Lutra_SCALARS", "scalars"),
            self.define("Lutra_BACKENDS", backends),
            self.define("Lutra_REQUIRE_BACKENDS", backends),
            self.define("Lutra_ENABLE_TESTS", self.run_tests),
            self.define("Lutra_ENABLE_EXAMPLES", self.run_tests),
            self.define("Kokkos_ROOT", self.spec["kokkos"].prefix),
            self.define("KokkosKernels_ROOT", self.spec["kokkos-kernels"].prefix),
        ]
        if self.spec.satisfies("+rocm"):
            args.append(self.define("CMAKE_CXX_COMPILER", self.spec["hip"].hipcc))
        return args

    @run_after("install")
    def install_python(self):
        """The Python package over the Lutra that has just been installed."""
        if self.spec.satisfies("~python"):
            return
        environment = {"CMAKE_PREFIX_PATH": str(self.prefix)}
        options = ["--no-deps", "--no-build-isolation", f"--prefix={self.prefix}"]
        folder = join_path(self.stage.source_path, "python")
        python("-m", "pip", "install", *options, folder, extra_env=environment)
