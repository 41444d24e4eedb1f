# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` lays down: library, headers, command, find_package and pkg-config files; and the Debian package.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set_target_properties(tessera PROPERTIES DEFINE_SYMBOL "" VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})
install(TARGETS tessera EXPORT tesseraTargets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TESSERA_HAVE_FAISS)
  install(TARGETS tessera_ann EXPORT tesseraTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
install(DIRECTORY include/tessera DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT tesseraTargets NAMESPACE tessera:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tessera)

# A static library hands its own dependencies on: the config file looks for each that this build found.
set(TESSERA_FIND_DEPENDENCIES "")
if(NOT BUILD_SHARED_LIBS)
  string(APPEND TESSERA_FIND_DEPENDENCIES "find_dependency(Threads)\nfind_dependency(fmt)\n")
  foreach(pair "TBB:TBB" "ZLIB:ZLIB")
    string(REPLACE ":" ";" pair "${pair}")
    list(GET pair 0 part)
    list(GET pair 1 package)
    if(TESSERA_HAVE_${part})
      string(APPEND TESSERA_FIND_DEPENDENCIES "find_dependency(${package})\n")
    endif()
  endforeach()
  if(TESSERA_HAVE_ZIP)
    string(APPEND TESSERA_FIND_DEPENDENCIES
           "find_dependency(PkgConfig)\npkg_check_modules(LIBZIP REQUIRED IMPORTED_TARGET libzip)\n")
  endif()
  if(TESSERA_HAVE_ZSTD)
    string(APPEND TESSERA_FIND_DEPENDENCIES
           "find_dependency(PkgConfig)\npkg_check_modules(LIBZSTD REQUIRED IMPORTED_TARGET libzstd)\n")
  endif()
  if(TESSERA_HAVE_CUDA)
    string(APPEND TESSERA_FIND_DEPENDENCIES "find_dependency(CUDAToolkit)\n")
  endif()
  if(TESSERA_HAVE_HDF5)
    string(APPEND TESSERA_FIND_DEPENDENCIES "enable_language(C)\nfind_dependency(HDF5 COMPONENTS C)\n")
  endif()
endif()
# tessera::ann needs FAISS where it is linked; programs without it must not.
if(TESSERA_HAVE_FAISS)
  string(APPEND TESSERA_FIND_DEPENDENCIES
         "find_package(fmt QUIET)\nfind_package(OpenMP QUIET COMPONENTS CXX)\nfind_package(faiss QUIET)\n")
endif()
configure_package_config_file(cmake/tesseraConfig.cmake.in ${PROJECT_BINARY_DIR}/tesseraConfig.cmake
                              INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tessera)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/tesseraConfigVersion.cmake COMPATIBILITY SameMajorVersion)
install(FILES ${PROJECT_BINARY_DIR}/tesseraConfig.cmake ${PROJECT_BINARY_DIR}/tesseraConfigVersion.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tessera)

set(TESSERA_PC_REQUIRES "fmt")
foreach(pair "TBB:tbb" "ZLIB:zlib" "ZIP:libzip" "HDF5:hdf5" "ZSTD:libzstd")
  string(REPLACE ":" ";" pair "${pair}")
  list(GET pair 0 part)
  list(GET pair 1 package)
  if(TESSERA_HAVE_${part})
    string(APPEND TESSERA_PC_REQUIRES " ${package}")
  endif()
endforeach()
set(TESSERA_PC_LIBS "")
if(TESSERA_HAVE_CUDA)  # no package of its own
  set(TESSERA_PC_LIBS " -L${CUDAToolkit_LIBRARY_DIR} -lcudart_static -lrt -ldl")
endif()
configure_file(cmake/tessera.pc.in tessera.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/tessera.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(FILES LICENSE README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME tessera)
set(CPACK_PACKAGE_CONTACT "The Tessera authors <tessera@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR}/src)  # the command's own library is in the package
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)                                # and ldconfig is told of it
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_STRIP_FILES ON)
include(CPack)
