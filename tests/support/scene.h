/* For code in C under test: a scene is a function that returns NULL, or what was not as it should be. */
#ifndef TARN_TESTS_SUPPORT_SCENE_H
#define TARN_TESTS_SUPPORT_SCENE_H

#define TEXT_OF(number) #number
#define TEXT(number) TEXT_OF(number)
#define EXPECT(condition)                                     \
  do {                                                        \
    if (!(condition)) {                                       \
      return __FILE__ ":" TEXT(__LINE__) ": not " #condition; \
    }                                                         \
  } while (0)

#endif
