# SPDX-License-Identifier: Apache-2.0
# One interface target carries what every object of the project is compiled with.

add_library(tessera_compile INTERFACE)
target_compile_features(tessera_compile INTERFACE cxx_std_20)
# numerics.md: no contraction (fma only where it is written), no reassociation, strict IEEE everywhere.
target_compile_options(tessera_compile INTERFACE -ffp-contract=off -fno-fast-math -fno-math-errno -Wall -Wextra -Wshadow
                                                 -Wconversion -Wno-sign-conversion)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(tessera_compile INTERFACE -Wno-restrict)  # false alarms on std::string + literal, GCC bug 105651
endif()
if(TESSERA_WERROR)
  target_compile_options(tessera_compile INTERFACE -Werror)
endif()
if(TESSERA_SANITIZE)
  target_compile_options(tessera_compile INTERFACE -fsanitize=${TESSERA_SANITIZE} -fno-omit-frame-pointer -g)
  target_link_options(tessera_compile INTERFACE -fsanitize=${TESSERA_SANITIZE})
  if(TESSERA_SANITIZE MATCHES "undefined")
    target_compile_options(tessera_compile INTERFACE -fno-sanitize-recover=undefined)
  endif()
endif()

# tessera_precompile(TARGET HEADER...) parses the standard headers that most sources want once a target: two seconds a source.
# Sources name what they use all the same: with CMAKE_DISABLE_PRECOMPILE_HEADERS=ON they compile without.
function(tessera_precompile target)
  target_precompile_headers(${target} PRIVATE <algorithm> <array> <atomic> <bit> <charconv> <cmath> <cstdint> <cstring> <filesystem> <functional>
                                              <limits> <memory> <mutex> <numeric> <optional> <span> <stop_token> <string> <string_view> <utility>
                                              <vector> <fmt/format.h> <fmt/ranges.h> ${ARGN})
endfunction()
