// A header with the path of one inside Tarn.
#pragma once

inline const char* text_of_this_project() { return "ok"; }
