// Counts the members of an aggregate, and names them: structured bindings need as many names as there are members.
// deeply_const.hpp alone includes this file.
#pragma once

#include <cstddef>

// clang-format off
#define TARN_BRACES_1 {}
#define TARN_BRACES_2 TARN_BRACES_1, {}
#define TARN_BRACES_3 TARN_BRACES_2, {}
#define TARN_BRACES_4 TARN_BRACES_3, {}
#define TARN_BRACES_5 TARN_BRACES_4, {}
#define TARN_BRACES_6 TARN_BRACES_5, {}
#define TARN_BRACES_7 TARN_BRACES_6, {}
#define TARN_BRACES_8 TARN_BRACES_7, {}
#define TARN_BRACES_9 TARN_BRACES_8, {}
#define TARN_BRACES_10 TARN_BRACES_9, {}
#define TARN_BRACES_11 TARN_BRACES_10, {}
#define TARN_BRACES_12 TARN_BRACES_11, {}
#define TARN_BRACES_13 TARN_BRACES_12, {}
#define TARN_BRACES_14 TARN_BRACES_13, {}
#define TARN_BRACES_15 TARN_BRACES_14, {}
#define TARN_BRACES_16 TARN_BRACES_15, {}
#define TARN_BRACES_17 TARN_BRACES_16, {}
#define TARN_BRACES_18 TARN_BRACES_17, {}
#define TARN_BRACES_19 TARN_BRACES_18, {}
#define TARN_BRACES_20 TARN_BRACES_19, {}
#define TARN_BRACES_21 TARN_BRACES_20, {}
#define TARN_BRACES_22 TARN_BRACES_21, {}
#define TARN_BRACES_23 TARN_BRACES_22, {}
#define TARN_BRACES_24 TARN_BRACES_23, {}
#define TARN_BRACES_25 TARN_BRACES_24, {}
#define TARN_BRACES_26 TARN_BRACES_25, {}
#define TARN_BRACES_27 TARN_BRACES_26, {}
#define TARN_BRACES_28 TARN_BRACES_27, {}
#define TARN_BRACES_29 TARN_BRACES_28, {}
#define TARN_BRACES_30 TARN_BRACES_29, {}
#define TARN_BRACES_31 TARN_BRACES_30, {}
#define TARN_BRACES_32 TARN_BRACES_31, {}
#define TARN_BRACES_33 TARN_BRACES_32, {}
#define TARN_BRACES_34 TARN_BRACES_33, {}
#define TARN_BRACES_35 TARN_BRACES_34, {}
#define TARN_BRACES_36 TARN_BRACES_35, {}
#define TARN_BRACES_37 TARN_BRACES_36, {}
#define TARN_BRACES_38 TARN_BRACES_37, {}
#define TARN_BRACES_39 TARN_BRACES_38, {}
#define TARN_BRACES_40 TARN_BRACES_39, {}
#define TARN_BRACES_41 TARN_BRACES_40, {}
#define TARN_BRACES_42 TARN_BRACES_41, {}
#define TARN_BRACES_43 TARN_BRACES_42, {}
#define TARN_BRACES_44 TARN_BRACES_43, {}
#define TARN_BRACES_45 TARN_BRACES_44, {}
#define TARN_BRACES_46 TARN_BRACES_45, {}
#define TARN_BRACES_47 TARN_BRACES_46, {}
#define TARN_BRACES_48 TARN_BRACES_47, {}
#define TARN_BRACES_49 TARN_BRACES_48, {}
#define TARN_BRACES_50 TARN_BRACES_49, {}
#define TARN_BRACES_51 TARN_BRACES_50, {}
#define TARN_BRACES_52 TARN_BRACES_51, {}
#define TARN_BRACES_53 TARN_BRACES_52, {}
#define TARN_BRACES_54 TARN_BRACES_53, {}
#define TARN_BRACES_55 TARN_BRACES_54, {}
#define TARN_BRACES_56 TARN_BRACES_55, {}
#define TARN_BRACES_57 TARN_BRACES_56, {}
#define TARN_BRACES_58 TARN_BRACES_57, {}
#define TARN_BRACES_59 TARN_BRACES_58, {}
#define TARN_BRACES_60 TARN_BRACES_59, {}
#define TARN_BRACES_61 TARN_BRACES_60, {}
#define TARN_BRACES_62 TARN_BRACES_61, {}
#define TARN_BRACES_63 TARN_BRACES_62, {}
#define TARN_BRACES_64 TARN_BRACES_63, {}
#define TARN_BRACES_65 TARN_BRACES_64, {}
#define TARN_NAMES_1 m0
#define TARN_NAMES_2 TARN_NAMES_1, m1
#define TARN_NAMES_3 TARN_NAMES_2, m2
#define TARN_NAMES_4 TARN_NAMES_3, m3
#define TARN_NAMES_5 TARN_NAMES_4, m4
#define TARN_NAMES_6 TARN_NAMES_5, m5
#define TARN_NAMES_7 TARN_NAMES_6, m6
#define TARN_NAMES_8 TARN_NAMES_7, m7
#define TARN_NAMES_9 TARN_NAMES_8, m8
#define TARN_NAMES_10 TARN_NAMES_9, m9
#define TARN_NAMES_11 TARN_NAMES_10, m10
#define TARN_NAMES_12 TARN_NAMES_11, m11
#define TARN_NAMES_13 TARN_NAMES_12, m12
#define TARN_NAMES_14 TARN_NAMES_13, m13
#define TARN_NAMES_15 TARN_NAMES_14, m14
#define TARN_NAMES_16 TARN_NAMES_15, m15
#define TARN_NAMES_17 TARN_NAMES_16, m16
#define TARN_NAMES_18 TARN_NAMES_17, m17
#define TARN_NAMES_19 TARN_NAMES_18, m18
#define TARN_NAMES_20 TARN_NAMES_19, m19
#define TARN_NAMES_21 TARN_NAMES_20, m20
#define TARN_NAMES_22 TARN_NAMES_21, m21
#define TARN_NAMES_23 TARN_NAMES_22, m22
#define TARN_NAMES_24 TARN_NAMES_23, m23
#define TARN_NAMES_25 TARN_NAMES_24, m24
#define TARN_NAMES_26 TARN_NAMES_25, m25
#define TARN_NAMES_27 TARN_NAMES_26, m26
#define TARN_NAMES_28 TARN_NAMES_27, m27
#define TARN_NAMES_29 TARN_NAMES_28, m28
#define TARN_NAMES_30 TARN_NAMES_29, m29
#define TARN_NAMES_31 TARN_NAMES_30, m30
#define TARN_NAMES_32 TARN_NAMES_31, m31
#define TARN_NAMES_33 TARN_NAMES_32, m32
#define TARN_NAMES_34 TARN_NAMES_33, m33
#define TARN_NAMES_35 TARN_NAMES_34, m34
#define TARN_NAMES_36 TARN_NAMES_35, m35
#define TARN_NAMES_37 TARN_NAMES_36, m36
#define TARN_NAMES_38 TARN_NAMES_37, m37
#define TARN_NAMES_39 TARN_NAMES_38, m38
#define TARN_NAMES_40 TARN_NAMES_39, m39
#define TARN_NAMES_41 TARN_NAMES_40, m40
#define TARN_NAMES_42 TARN_NAMES_41, m41
#define TARN_NAMES_43 TARN_NAMES_42, m42
#define TARN_NAMES_44 TARN_NAMES_43, m43
#define TARN_NAMES_45 TARN_NAMES_44, m44
#define TARN_NAMES_46 TARN_NAMES_45, m45
#define TARN_NAMES_47 TARN_NAMES_46, m46
#define TARN_NAMES_48 TARN_NAMES_47, m47
#define TARN_NAMES_49 TARN_NAMES_48, m48
#define TARN_NAMES_50 TARN_NAMES_49, m49
#define TARN_NAMES_51 TARN_NAMES_50, m50
#define TARN_NAMES_52 TARN_NAMES_51, m51
#define TARN_NAMES_53 TARN_NAMES_52, m52
#define TARN_NAMES_54 TARN_NAMES_53, m53
#define TARN_NAMES_55 TARN_NAMES_54, m54
#define TARN_NAMES_56 TARN_NAMES_55, m55
#define TARN_NAMES_57 TARN_NAMES_56, m56
#define TARN_NAMES_58 TARN_NAMES_57, m57
#define TARN_NAMES_59 TARN_NAMES_58, m58
#define TARN_NAMES_60 TARN_NAMES_59, m59
#define TARN_NAMES_61 TARN_NAMES_60, m60
#define TARN_NAMES_62 TARN_NAMES_61, m61
#define TARN_NAMES_63 TARN_NAMES_62, m62
#define TARN_NAMES_64 TARN_NAMES_63, m63
#define TARN_TYPES_1 decltype(m0)
#define TARN_TYPES_2 TARN_TYPES_1, decltype(m1)
#define TARN_TYPES_3 TARN_TYPES_2, decltype(m2)
#define TARN_TYPES_4 TARN_TYPES_3, decltype(m3)
#define TARN_TYPES_5 TARN_TYPES_4, decltype(m4)
#define TARN_TYPES_6 TARN_TYPES_5, decltype(m5)
#define TARN_TYPES_7 TARN_TYPES_6, decltype(m6)
#define TARN_TYPES_8 TARN_TYPES_7, decltype(m7)
#define TARN_TYPES_9 TARN_TYPES_8, decltype(m8)
#define TARN_TYPES_10 TARN_TYPES_9, decltype(m9)
#define TARN_TYPES_11 TARN_TYPES_10, decltype(m10)
#define TARN_TYPES_12 TARN_TYPES_11, decltype(m11)
#define TARN_TYPES_13 TARN_TYPES_12, decltype(m12)
#define TARN_TYPES_14 TARN_TYPES_13, decltype(m13)
#define TARN_TYPES_15 TARN_TYPES_14, decltype(m14)
#define TARN_TYPES_16 TARN_TYPES_15, decltype(m15)
#define TARN_TYPES_17 TARN_TYPES_16, decltype(m16)
#define TARN_TYPES_18 TARN_TYPES_17, decltype(m17)
#define TARN_TYPES_19 TARN_TYPES_18, decltype(m18)
#define TARN_TYPES_20 TARN_TYPES_19, decltype(m19)
#define TARN_TYPES_21 TARN_TYPES_20, decltype(m20)
#define TARN_TYPES_22 TARN_TYPES_21, decltype(m21)
#define TARN_TYPES_23 TARN_TYPES_22, decltype(m22)
#define TARN_TYPES_24 TARN_TYPES_23, decltype(m23)
#define TARN_TYPES_25 TARN_TYPES_24, decltype(m24)
#define TARN_TYPES_26 TARN_TYPES_25, decltype(m25)
#define TARN_TYPES_27 TARN_TYPES_26, decltype(m26)
#define TARN_TYPES_28 TARN_TYPES_27, decltype(m27)
#define TARN_TYPES_29 TARN_TYPES_28, decltype(m28)
#define TARN_TYPES_30 TARN_TYPES_29, decltype(m29)
#define TARN_TYPES_31 TARN_TYPES_30, decltype(m30)
#define TARN_TYPES_32 TARN_TYPES_31, decltype(m31)
#define TARN_TYPES_33 TARN_TYPES_32, decltype(m32)
#define TARN_TYPES_34 TARN_TYPES_33, decltype(m33)
#define TARN_TYPES_35 TARN_TYPES_34, decltype(m34)
#define TARN_TYPES_36 TARN_TYPES_35, decltype(m35)
#define TARN_TYPES_37 TARN_TYPES_36, decltype(m36)
#define TARN_TYPES_38 TARN_TYPES_37, decltype(m37)
#define TARN_TYPES_39 TARN_TYPES_38, decltype(m38)
#define TARN_TYPES_40 TARN_TYPES_39, decltype(m39)
#define TARN_TYPES_41 TARN_TYPES_40, decltype(m40)
#define TARN_TYPES_42 TARN_TYPES_41, decltype(m41)
#define TARN_TYPES_43 TARN_TYPES_42, decltype(m42)
#define TARN_TYPES_44 TARN_TYPES_43, decltype(m43)
#define TARN_TYPES_45 TARN_TYPES_44, decltype(m44)
#define TARN_TYPES_46 TARN_TYPES_45, decltype(m45)
#define TARN_TYPES_47 TARN_TYPES_46, decltype(m46)
#define TARN_TYPES_48 TARN_TYPES_47, decltype(m47)
#define TARN_TYPES_49 TARN_TYPES_48, decltype(m48)
#define TARN_TYPES_50 TARN_TYPES_49, decltype(m49)
#define TARN_TYPES_51 TARN_TYPES_50, decltype(m50)
#define TARN_TYPES_52 TARN_TYPES_51, decltype(m51)
#define TARN_TYPES_53 TARN_TYPES_52, decltype(m52)
#define TARN_TYPES_54 TARN_TYPES_53, decltype(m53)
#define TARN_TYPES_55 TARN_TYPES_54, decltype(m54)
#define TARN_TYPES_56 TARN_TYPES_55, decltype(m55)
#define TARN_TYPES_57 TARN_TYPES_56, decltype(m56)
#define TARN_TYPES_58 TARN_TYPES_57, decltype(m57)
#define TARN_TYPES_59 TARN_TYPES_58, decltype(m58)
#define TARN_TYPES_60 TARN_TYPES_59, decltype(m59)
#define TARN_TYPES_61 TARN_TYPES_60, decltype(m60)
#define TARN_TYPES_62 TARN_TYPES_61, decltype(m61)
#define TARN_TYPES_63 TARN_TYPES_62, decltype(m62)
#define TARN_TYPES_64 TARN_TYPES_63, decltype(m63)
#define TARN_EACH_COUNT(use) \
  use(64) use(63) use(62) use(61) use(60) use(59) use(58) use(57) \
  use(56) use(55) use(54) use(53) use(52) use(51) use(50) use(49) \
  use(48) use(47) use(46) use(45) use(44) use(43) use(42) use(41) \
  use(40) use(39) use(38) use(37) use(36) use(35) use(34) use(33) \
  use(32) use(31) use(30) use(29) use(28) use(27) use(26) use(25) \
  use(24) use(23) use(22) use(21) use(20) use(19) use(18) use(17) \
  use(16) use(15) use(14) use(13) use(12) use(11) use(10) use(9) \
  use(8) use(7) use(6) use(5) use(4) use(3) use(2) use(1)
// clang-format on

namespace tarn::detail {

inline constexpr std::size_t max_members = 64;

/// Returns the number of members of an aggregate: the most pairs of braces that initialise it; 0: unknown. More than
/// max_members count as one more.
template <class T>
constexpr std::size_t count_members() {
  if constexpr (requires { T{TARN_BRACES_65}; }) {
    return max_members + 1;
  }
#define TARN_COUNT(number)                                    \
  else if constexpr (requires { T{TARN_BRACES_##number}; }) { \
    return number;                                            \
  }
  TARN_EACH_COUNT(TARN_COUNT)
#undef TARN_COUNT
  else {
    return 0;
  }
}

}  // namespace tarn::detail
