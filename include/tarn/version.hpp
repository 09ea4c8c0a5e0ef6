#pragma once

// The version of the headers, readable by the preprocessor (C and C++) and by the build.
#define TARN_VERSION_MAJOR 0
#define TARN_VERSION_MINOR 1
#define TARN_VERSION_PATCH 0
