import contextlib
import io
import unittest

import folder  # noqa: F401
import figures
from runner import machine
import run
from allocators import Allocator
from runner.process import Ended, Failed
from workloads import Context, Outcome

ALLOCATORS = [Allocator(name, f"/opt/{name}.so", f"/opt/{name}.so") for name in ("glibc", "tarn", "peer")]
BOUND = {name: {("prog", f"/opt/{name}.so", "malloc")} for name in ("glibc", "tarn", "peer")}


class FakeSupervisor:
    """Answers each probe with the bindings that the test sets for the allocator."""

    def __init__(self, bindings):
        self.bindings = bindings

    def run(self, name, argv, environment, timeout_s, expected=None, read=None):
        answer = self.bindings[environment["LD_PRELOAD"].removeprefix("/opt/").removesuffix(".so")]
        if isinstance(answer, Exception):
            raise answer
        return Ended(0, 0, 1, 0, answer)


class FakeWorkload:
    name, title, metrics = "fake", "a fake", (figures.TIME,)

    def __init__(self, results):
        self.results, self.order = results, []

    def probes(self):
        return [("prog", ["prog"])]

    def run(self, context, allocator):
        self.order.append(allocator.name)
        result = self.results.get(allocator.name, "same")
        if isinstance(result, Exception):
            raise result
        return Outcome({"time": 1.0}, result)


def demo_of(results, bindings=BOUND, rounds=3):
    workload = FakeWorkload(results)
    demo = run.Demo(Context(FakeSupervisor(bindings), "/nowhere"), ALLOCATORS, [workload], rounds)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        demo.check_bindings()
        demo.run()
    return demo, workload


class DemoTest(unittest.TestCase):
    def test_each_allocator_runs_once_in_each_round(self):
        demo, workload = demo_of({})
        self.assertEqual(demo.problems, [])
        self.assertEqual(workload.order, ["glibc", "tarn", "peer", "tarn", "peer", "glibc", "peer", "glibc", "tarn"])
        self.assertEqual(demo.results.figures["fake"]["tarn"], [{"time": 1.0}] * 3)

    def test_a_different_result_is_a_problem_in_every_round(self):
        demo, _ = demo_of({"tarn": "other"})
        self.assertEqual(len(demo.problems), 3)
        self.assertIn("on tarn: other", demo.problems[0])
        self.assertIn("on glibc: same", demo.problems[0])

    def test_a_failure_is_a_problem_once_and_is_not_repeated(self):
        demo, workload = demo_of({"tarn": Failed("killed by SIGSEGV")})
        self.assertEqual(demo.problems, ["killed by SIGSEGV"])
        self.assertEqual(workload.order.count("tarn"), 1)
        self.assertEqual(workload.order.count("glibc"), 3)
        self.assertEqual(demo.results.figures["fake"]["tarn"], [None] * 3)

    def test_malloc_bound_elsewhere_is_a_problem(self):
        demo, _ = demo_of({}, {**BOUND, "tarn": BOUND["glibc"]})
        self.assertEqual(demo.problems, ["prog on tarn: prog takes malloc from /opt/glibc.so"])

    def test_no_binding_at_all_is_a_problem(self):
        demo, _ = demo_of({}, {**BOUND, "peer": set()})
        self.assertEqual(len(demo.problems), 1)
        self.assertIn("prog on peer: binds no malloc", demo.problems[0])

    def test_a_probe_that_dies_is_a_problem(self):
        demo, _ = demo_of({}, {**BOUND, "peer": Failed("killed by SIGABRT")})
        self.assertEqual(demo.problems, ["killed by SIGABRT"])


class MachineTest(unittest.TestCase):
    def test_facts_make_a_sentence(self):
        self.assertIn("kernel", machine.sentence(machine.system_facts()))

    def test_a_busy_machine_is_named(self):
        self.assertIsNone(machine.warning({"in_use": 0.2, "processors": 2}))
        self.assertIn("used 1.5 of 2 processors", machine.warning({"in_use": 1.5, "processors": 2}))


if __name__ == "__main__":
    unittest.main()
