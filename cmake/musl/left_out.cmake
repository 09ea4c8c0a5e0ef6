# Debian 12's musl has no statx(), which newer ones have: the tests bring theirs.
add_library(tarn_statx OBJECT "${CMAKE_CURRENT_LIST_DIR}/statx.c")
set(tarn_test_libraries tarn_statx)

# Static programs of C are linked by musl-gcc (static-pie ones are not: it has no start files for them). It takes the
# unwinder that Debian built for glibc, and a static program of C unwinds nothing.
set(tarn_c_link_options -Wl,--defsym=_dl_find_object=0)

# What glibc's manual says of its malloc alone.
set(tarn_left_out_programs conformance/inquiry.c)

# tarn::quiet with checks looks for the operator new of a shared C++ library, and zig's library is static. The others take
# a third of the time to compile, are on the fake platform, and call the C library for memcpy() alone.
set(tarn_left_out_unit_tests
  io_quiet_region
  arena_sequences canary guarded_pools heap metadata pages pool_sequences pools remote statistics)

# Tests that fail with musl, as regular expressions of their names, and why. ctest lists them as disabled.
set(tarn_left_out
  # musl has other words for errors.
  bad_input.a_path_that_leads_nowhere_is_an_error
  bad_input.an_enormous_file_is_read_where_it_can_be
  reader.what_came_before_an_error_can_be_taken
  writer.a_destructor_that_cannot_flush_says_so
  mapped_file.a_page_that_was_lost_is_remembered
  mapped_file.errors_have_path_and_words
  steered_batches.say_where_an_error_was
  descriptors.an_application_without_any_is_not_started
  descriptors.processes_without_any_are_not_forked
  descriptors.errors_of_callbacks_name_the_limit
  descriptors.a_failed_accept_is_reported_once_a_minute
  # libc++ has other words for errors.
  application.is_not_started_without_a_thread
  misuse.arena_limit
  # pthread_exit() and cancellation run no destructors with musl.
  waiting.a_cancelled_thread_leaves_the_list
  application.names_a_worker_that_ends_its_thread
  # musl has no constructors before those of libraries, and zig's C++ library is static: libtarn-malloc-inside.a is for
  # glibc.
  nasty.inside_
  # Destructors of thread_local objects may run after the end of the thread's heap. They use the process's heap.
  threads_test.a_thread_local_destructor_still_has_the_heap
  # musl holds a lock while handlers of a fork run, and the child keeps the locks of other threads' streams: both hang
  # on musl's own malloc, too.
  fork.a_fork_by_a_handler_of_a_fork_leaves_the_outer_ones_locks_held
  fork_while_streams_work
  # These set glibc's variable that says how many threads there are.
  idle_purge.a_fork_in_a_handler_
  idle_purge.a_child_gets_no_block_twice_where_the_helper_was_emptying_a_magazine
  # musl's loader gives no static thread-local block to a library that dlopen() loads, unloads none, and has no
  # namespaces.
  nasty.dlmopen_namespace
  nasty.dlopen_initial_exec
  nasty.dlopened_allocator
  nasty.unloaded_plugin
  # glibc's other names of malloc, which the lists of symbols have, too; makecontext(); sbrk(), which musl refuses; more
  # than 128 keys of threads.
  conformance.other_names
  programs.symbols
  conformance.symbols
  nasty.coroutine_stacks
  nasty.sbrk_user
  nasty.key_exhaustion
  # They run programs of this system, which are not for musl, with the drop-in for musl.
  nasty.fork_churn
  nasty.fork_without_handlers$
  nasty.vfork_exec
  # operator delete is in zig's C++ library, which is static, and has no sizes for the drop-in.
  misuse.sized_delete_
  misuse.guard_wrong_size)
