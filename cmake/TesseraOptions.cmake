# SPDX-License-Identifier: Apache-2.0
# Optional parts are tri-state: AUTO takes them when found, ON insists, OFF leaves them out.
# Each ends as TESSERA_HAVE_<PART> (0 or 1) in config.hpp and as a line of the feature table.

option(TESSERA_FUZZ "Build the fuzz targets (clang++ only; scripts/fuzz.sh)" OFF)

set(TESSERA_FEATURES "" CACHE INTERNAL "")

# tessera_optional(PART FOUND MISSING) looks for a part with the macro tessera_find_PART, which sets `found`. FOUND and
# MISSING say what the build then has; @VARIABLES@ of the search are put in.
macro(tessera_optional part found_text missing_text)
  set(TESSERA_${part} AUTO CACHE STRING "AUTO, ON or OFF")
  set_property(CACHE TESSERA_${part} PROPERTY STRINGS AUTO ON OFF)
  set(found FALSE)
  if(NOT TESSERA_${part} STREQUAL "OFF")
    cmake_language(CALL tessera_find_${part})
  endif()
  if(found)
    set(TESSERA_HAVE_${part} 1)
    string(CONFIGURE "on|${found_text}" text @ONLY)
  elseif(TESSERA_${part} STREQUAL "ON")
    message(FATAL_ERROR "TESSERA_${part}=ON, but ${missing_text}. Install it (apt-packages.txt names the package) or use AUTO.")
  else()
    set(TESSERA_HAVE_${part} 0)
    set(text "off|${missing_text}")
    if(TESSERA_${part} STREQUAL "OFF")
      set(text "off|switched off")
    endif()
  endif()
  list(APPEND TESSERA_FEATURES "${part}|${text}")
endmacro()

macro(tessera_find_TBB)
  find_package(TBB QUIET)
  set(found ${TBB_FOUND})
endmacro()

macro(tessera_find_ZLIB)
  find_package(ZLIB QUIET)
  set(found ${ZLIB_FOUND})
endmacro()

# Finds a module of pkg-config's as PkgConfig::PREFIX.
macro(tessera_find_module prefix module)
  find_package(PkgConfig QUIET)
  if(PkgConfig_FOUND)
    pkg_check_modules(${prefix} QUIET IMPORTED_TARGET ${module})
    set(found ${${prefix}_FOUND})
  endif()
endmacro()

macro(tessera_find_ZIP)
  tessera_find_module(LIBZIP libzip)
endmacro()

macro(tessera_find_HDF5)
  include(CheckLanguage)
  check_language(C)  # FindHDF5 compiles a C program
  if(CMAKE_C_COMPILER)
    enable_language(C)
    find_package(HDF5 QUIET COMPONENTS C)
  endif()
  if(HDF5_FOUND AND TARGET hdf5::hdf5)
    set(found TRUE)
  endif()
endmacro()

macro(tessera_find_ZSTD)
  tessera_find_module(LIBZSTD libzstd)
endmacro()

macro(tessera_find_FAISS)
  find_package(OpenMP QUIET COMPONENTS CXX)  # Debian's faiss target names it
  if(OpenMP_CXX_FOUND)
    find_package(faiss QUIET)
  endif()
  if(OpenMP_CXX_FOUND AND TARGET faiss)
    set(found TRUE)
  endif()
endmacro()

include(cmake/TesseraCuda.cmake)

find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)

tessera_optional(TBB "oneTBB @TBB_VERSION@: work-stealing threads" "oneTBB not found: std::thread workers are used")
tessera_optional(ZLIB "zlib @ZLIB_VERSION_STRING@: .gz files" "zlib not found: .gz files are unsupported")
tessera_optional(ZIP "libzip @LIBZIP_VERSION@: reading .npz files" "libzip not found: .npz files are written but not read")
tessera_optional(HDF5 "libhdf5 @HDF5_VERSION@: .h5 files" "libhdf5 not found: .h5 files are unsupported")
tessera_optional(ZSTD "libzstd @LIBZSTD_VERSION@: .zarr with --compress zstd" "libzstd not found: no --compress zstd")
tessera_optional(FAISS "FAISS @faiss_VERSION@: tessera ann" "FAISS, its BLAS or OpenMP not found: tessera ann is unsupported")
tessera_optional(CUDA "CUDA @TESSERA_CUDA_VERSION@ for @TESSERA_CUDA_ARCHS_TEXT@: --backend cuda" "no nvcc of CUDA ${TESSERA_CUDA_OLDEST} or newer on PATH or in /usr/local/cuda: --backend cuda is unsupported")

set(TESSERA_FEATURES "${TESSERA_FEATURES}" CACHE INTERNAL "")

function(tessera_print_features)
  message(STATUS "")
  message(STATUS "Tessera ${PROJECT_VERSION}, ${CMAKE_BUILD_TYPE}, ${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}")
  foreach(line IN LISTS TESSERA_FEATURES)
    string(REPLACE "|" ";" parts "${line}")
    list(GET parts 0 name)
    list(GET parts 1 state)
    list(GET parts 2 what)
    string(LENGTH "${name}" length)
    math(EXPR pad "12 - ${length}")
    string(REPEAT " " ${pad} blanks)
    message(STATUS "  ${name}${blanks}${state}\t${what}")
  endforeach()
  message(STATUS "")
endfunction()
