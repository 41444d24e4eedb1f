# SPDX-License-Identifier: Apache-2.0
# The CUDA compiler, and how device code is compiled. Host code never needs it: without nvcc everything else builds the same.

# 12.4 is the oldest toolkit whose C++20 the kernels use.
set(TESSERA_CUDA_OLDEST 12.4)

macro(tessera_find_CUDA)
  # nvcc is often not on PATH: the toolkit's own folder is looked at, too. The environment names it, because check_language() tries that
  # one and a broken nvcc is then only not found, while enable_language() would end the configuration.
  if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
    find_program(TESSERA_NVCC nvcc PATHS /usr/local/cuda/bin DOC "The CUDA compiler, where CMAKE_CUDA_COMPILER names none")
    mark_as_advanced(TESSERA_NVCC)
    if(TESSERA_NVCC)
      set(ENV{CUDACXX} ${TESSERA_NVCC})
    endif()
  endif()
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    enable_language(CUDA)
    find_package(CUDAToolkit QUIET)
    if(CUDAToolkit_FOUND AND TARGET CUDA::cudart_static AND CUDAToolkit_VERSION VERSION_GREATER_EQUAL TESSERA_CUDA_OLDEST)
      set(found TRUE)
      set(TESSERA_CUDA_VERSION "${CUDAToolkit_VERSION_MAJOR}.${CUDAToolkit_VERSION_MINOR}")
      tessera_cuda_architectures()
    endif()
  endif()
endmacro()

# TESSERA_CUDA_ARCHS: machine code for A100 and H100, for B200 where the toolkit knows it, and PTX of the newest for what comes after.
macro(tessera_cuda_architectures)
  if(CUDAToolkit_VERSION VERSION_GREATER_EQUAL 12.8)
    set(newest 80-real 90-real 100)
  else()
    set(newest 80-real 90)
  endif()
  set(TESSERA_CUDA_ARCHS "${newest}" CACHE STRING "Architectures that device code is built for, as CMAKE_CUDA_ARCHITECTURES")
  string(REPLACE ";" " " TESSERA_CUDA_ARCHS_TEXT "sm ${TESSERA_CUDA_ARCHS}")  # feature rows are lists themselves
  string(REPLACE "-real" "" TESSERA_CUDA_ARCHS_TEXT "${TESSERA_CUDA_ARCHS_TEXT}")
endmacro()

# numerics.md, for device code: no contraction (fma only where it is written), subnormals honoured, division and square root
# correctly rounded. Warnings are the host compiler's business: nvcc's own output is not free of them.
# -std by hand: CMake 3.25 knows neither the property CUDA_STANDARD 20 nor the feature cuda_std_20 for nvcc 13.
set(TESSERA_CUDA_FLAGS -std=c++20 -fmad=false -ftz=false -prec-div=true -prec-sqrt=true --expt-relaxed-constexpr)

# Device code of one target.
function(tessera_compile_cuda target)
  # CUDA would inherit all three: CMake 3.25 then fails for nvcc 13, or requires its default, C++17.
  set_property(TARGET ${target} PROPERTY CXX_STANDARD)
  set_property(TARGET ${target} PROPERTY CXX_STANDARD_REQUIRED OFF)
  set_property(TARGET ${target} PROPERTY CXX_EXTENSIONS ON)
  set_target_properties(${target} PROPERTIES CUDA_ARCHITECTURES "${TESSERA_CUDA_ARCHS}" CUDA_VISIBILITY_PRESET hidden)
  target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CUDA>:${TESSERA_CUDA_FLAGS}>")
endfunction()
