// vfork with exec, posix_spawn, system and popen while other threads allocate.
//@ broken-by knows_thread_by_id
#include <pthread.h>
#include <spawn.h>
#include <sys/wait.h>
#include "../check.h"

extern char** environ;

static void* churn(void* argument) {
  for (unsigned state = 3;;) free(malloc(next_random(&state) % 5000));
  return argument;
}

static void wait_for(pid_t child) {
  int status = -1;
  CHECK(child > 0 && waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int main(void) {
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) CHECK(pthread_create(&threads[i], NULL, churn, NULL) == 0);
  for (int i = 0; i < 25; ++i) {
    void* p = malloc(3000);
    pid_t child = vfork();
    if (child == 0) {
      free(malloc(3000));  // shares memory and thread-locals with the parent
      execl("/bin/true", "true", (char*)NULL);
      _exit(1);
    }
    wait_for(child);
    posix_spawn_file_actions_t actions;
    CHECK(posix_spawn_file_actions_init(&actions) == 0);
    CHECK(posix_spawn_file_actions_addopen(&actions, 7, "/dev/null", 0, 0) == 0);
    char* arguments[] = {"true", NULL};
    CHECK(posix_spawn(&child, "/bin/true", &actions, NULL, arguments, environ) == 0);
    wait_for(child);
    posix_spawn_file_actions_destroy(&actions);
    if (i % 5 == 0) {
      CHECK(system("exit 0") == 0);
      FILE* out = popen("echo tarn", "r");
      char line[20] = "";
      CHECK(out != NULL && fgets(line, sizeof line, out) && strcmp(line, "tarn\n") == 0);
      CHECK(pclose(out) == 0);
    }
    free(p);
  }
  return 0;
}
