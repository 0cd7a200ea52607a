"""Jobs end in exactly one of four ways, on the main thread, and stale results are dropped."""

from __future__ import annotations

import gc
import threading
import weakref

import pytest
from PySide6.QtCore import QCoreApplication, QEvent, QObject

from sfumato import jobs
from sfumato.engine.core.errors import SfumatoError
from sfumato.formats import memory
from sfumato.jobs import Ending, Job, JobRunner


class Log:
    """What a job's handlers were told, and on which thread."""

    def __init__(self):
        self.told = []

    def done(self, result):
        self.told.append(("done", result, threading.current_thread()))

    def error(self, error):
        self.told.append(("error", error, threading.current_thread()))


@pytest.fixture
def log():
    return Log()


class Gate:
    """Holds a job until the test lets it go on, without sleeping."""

    def __init__(self):
        self._open = threading.Event()
        self.reached = threading.Event()

    def __call__(self, context):
        self.reached.set()
        assert self._open.wait(60)
        context.report(0.5, "past the gate")
        return "result"

    def open(self):
        self._open.set()


def wait_for(qtbot, job):
    if job.running:
        with qtbot.waitSignal(job.finished):
            pass


def test_a_result_arrives_on_the_main_thread(qtbot, runner, log):
    seen = []

    def work(_context):
        seen.append(threading.current_thread())
        return 42

    job = runner.run("Count", work, log.done, log.error)
    wait_for(qtbot, job)
    assert job.ending is Ending.DONE
    assert log.told == [("done", 42, threading.main_thread())]
    assert seen[0] is not threading.main_thread()


def test_an_expected_error_goes_to_its_handler_without_frames(qtbot, runner, log):
    def work(_context):
        secret = "a cell value"
        raise SfumatoError("Column {column} is empty.", "Choose another.", column=str(len(secret)))

    job = runner.run("Read", work, log.done, log.error)
    wait_for(qtbot, job)
    assert job.ending is Ending.ERROR
    [(what, error, thread)] = log.told
    assert (what, error.what, thread) == ("error", "Column 12 is empty.", threading.main_thread())
    assert error.__traceback__ is None


def test_an_expected_error_without_a_handler_is_announced(qtbot, runner):
    def work(_context):
        raise SfumatoError("No room.")

    with qtbot.waitSignal(runner.error_occurred) as heard:
        runner.run("Write", work)
    assert heard.args[0].what == "No room."


def test_a_bug_is_reported_without_its_message_or_locals(qtbot, runner, log):
    def work(_context):
        diagnosis = "influenza"
        return int(diagnosis)

    with qtbot.waitSignal(runner.bug_occurred) as heard:
        job = runner.run("Convert", work, log.done, log.error)
    report = heard.args[0]
    assert job.ending is Ending.BUG
    assert log.told == []
    assert report.kind == "ValueError"
    assert "test_runner.py" in report.text
    assert "invalid literal" not in report.text


def test_a_bug_report_tells_what_led_to_it(qtbot, runner):
    def work(_context):
        try:
            return {}["x"]
        except KeyError as error:
            raise RuntimeError("influenza") from error

    with qtbot.waitSignal(runner.bug_occurred) as heard:
        runner.run("Convert", work)
    text = heard.args[0].text
    assert "KeyError" in text
    assert "RuntimeError" in text


@pytest.mark.parametrize(
    ("failure", "said"),
    [
        (MemoryError(), "not enough memory"),
        (OSError(28, "No space left on device", "out.csv"), "No space left on device (out.csv)"),
    ],
)
def test_what_the_system_refuses_is_an_expected_error(qtbot, runner, log, failure, said):
    def work(_context):
        raise failure

    job = runner.run("Write", work, log.done, log.error)
    wait_for(qtbot, job)
    assert job.ending is Ending.ERROR
    assert said in log.told[0][1].what


def test_a_worker_never_dies_without_an_ending(qtbot, runner):
    def work(_context):
        raise SystemExit(3)

    job = runner.run("Quit", work)
    wait_for(qtbot, job)
    assert job.ending is Ending.BUG


def test_a_cancelled_job_is_silent(qtbot, runner, log):
    gate = Gate()
    job = runner.run("Release", gate, log.done, log.error)
    assert gate.reached.wait(60)
    job.cancel()
    gate.open()
    wait_for(qtbot, job)
    assert job.ending is Ending.CANCELLED
    assert log.told == []


def test_a_job_that_ignores_the_request_ends_as_cancelled_all_the_same(qtbot, runner, log):
    reached, go = threading.Event(), threading.Event()

    def work(_context):
        reached.set()
        assert go.wait(60)
        return "too late"

    job = runner.run("Release", work, log.done, log.error)
    assert reached.wait(60)
    job.cancel()
    go.set()
    wait_for(qtbot, job)
    assert job.ending is Ending.CANCELLED
    assert log.told == []


def test_a_newer_job_with_the_same_key_supersedes_the_older(qtbot, runner, log):
    gate = Gate()
    older = runner.run("Preview", gate, log.done, key="preview")
    assert gate.reached.wait(60)
    newer = runner.run("Preview", lambda _context: "newer", log.done, key="preview")
    gate.open()
    wait_for(qtbot, newer)
    wait_for(qtbot, older)
    assert (older.ending, newer.ending) == (Ending.CANCELLED, Ending.DONE)
    assert [result for _, result, _ in log.told] == ["newer"]


def test_a_job_stands_back_until_those_that_go_first_have_ended(qtbot, runner, log):
    gate, began = Gate(), threading.Event()
    first = runner.run("Weigh", gate, log.done, key="gauges")
    second = runner.run("Check", lambda _context: began.set(), key="check", after="gauges")
    assert gate.reached.wait(10)
    newer = runner.run("Weigh", lambda _context: "newer", log.done, key="gauges")
    gate.open()
    with qtbot.waitSignal(second.finished, timeout=20_000):
        assert not began.is_set()
    wait_for(qtbot, first)
    assert (newer.ending, second.ending) == (Ending.DONE, Ending.DONE)
    assert began.is_set()
    alone = runner.run("Check", lambda _context: None, after="gauges")
    wait_for(qtbot, alone)
    assert alone.ending is Ending.DONE


def test_a_job_that_is_cancelled_while_it_stands_back_does_nothing(qtbot, runner, log):
    gate = Gate()
    first = runner.run("Weigh", gate, key="gauges")
    older = runner.run("Check", lambda _context: "older", log.done, key="check", after="gauges")
    newer = runner.run("Check", lambda _context: "newer", log.done, key="check", after="gauges")
    wait_for(qtbot, older)
    assert older.ending is Ending.CANCELLED
    assert first.running
    runner.cancel("check")
    gate.open()
    wait_for(qtbot, newer)
    assert (newer.ending, log.told) == (Ending.CANCELLED, [])


def test_jobs_that_stand_back_end_with_all_others(runner, log):
    gate = Gate()
    first = runner.run("Weigh", gate, key="gauges")
    second = runner.run("Check", lambda _context: 1, log.done, after="gauges")
    gate.open()
    runner.stop_all()
    assert [first.ending, second.ending] == [Ending.CANCELLED] * 2
    assert runner.jobs == ()
    assert not log.told


def test_a_result_on_its_way_is_dropped_when_a_newer_job_starts(qtbot, runner, log):
    finished = threading.Event()

    def older_work(_context):
        finished.set()
        return "older"

    older = runner.run("Preview", older_work, log.done, key="preview")
    assert finished.wait(60)
    newer = runner.run("Preview", lambda _context: "newer", log.done, key="preview")
    wait_for(qtbot, older)
    wait_for(qtbot, newer)
    assert [result for _, result, _ in log.told] == ["newer"]


def test_progress_is_passed_on_and_thinned_out(qtbot, runner):
    reports = []

    def work(context):
        for step in range(5_000):
            context.report(step / 5_000, "counting")
        context.report(1.0, "counted")

    job = runner.run("Count", work)
    job.progressed.connect(lambda: reports.append((job.fraction, job.text)))
    wait_for(qtbot, job)
    assert 0 < len(reports) < 500
    assert reports[-1] == (1.0, "counted")


def test_the_runner_tells_of_starts_and_ends(qtbot, runner):
    started, ended = [], []
    runner.job_started.connect(lambda job: started.append(job.title))
    runner.job_finished.connect(lambda job: ended.append((job.title, job.ending)))
    job = runner.run("Count", lambda _context: None)
    assert runner.jobs == (job,)
    wait_for(qtbot, job)
    assert started == ["Count"]
    assert ended == [("Count", Ending.DONE)]
    assert runner.jobs == ()


def test_shutdown_cancels_waits_and_lets_nothing_start_again(qtbot, log):
    runner = JobRunner()
    reached, stopped = threading.Event(), threading.Event()

    def work(context):
        reached.set()
        try:
            while True:
                context.report(0.5, "busy")
        finally:
            stopped.set()

    job = runner.run("Release", work, log.done, log.error)
    assert reached.wait(60)
    runner.shutdown()
    assert stopped.is_set()
    assert job.ending is Ending.CANCELLED
    later = runner.run("Again", work, log.done, log.error)
    assert (later.ending, runner.jobs) == (Ending.CANCELLED, ())
    runner.shutdown()
    assert log.told == []


@pytest.mark.parametrize("stop", [JobRunner.stop_all, JobRunner.shutdown])
def test_nothing_runs_on_although_the_end_of_a_job_asks_for_more(qtbot, stop, log):
    runner = JobRunner()
    reached, more = threading.Event(), threading.Event()

    def work(context):
        reached.set()
        while True:
            context.report(0.5, "busy")

    def ask_again():
        runner.run("Examine", lambda _context: more.wait(60), log.done, log.error)
        more.set()

    runner.run("Release", work).finished.connect(ask_again)
    assert reached.wait(60)
    stop(runner)
    assert runner.jobs == ()
    assert more.is_set() is (stop is JobRunner.stop_all)
    assert log.told == []
    runner.shutdown()


def test_an_error_in_a_handler_leaves_the_job_ended(qtbot, runner):
    def handler(_result):
        raise ValueError("handler")

    with qtbot.capture_exceptions() as caught:
        job = runner.run("Count", lambda _context: 1, handler)
        wait_for(qtbot, job)
    assert job.ending is Ending.DONE
    assert caught[0][0] is ValueError
    assert runner.jobs == ()


def test_what_a_job_closed_over_is_let_go_when_it_ends(qtbot, runner):
    class Large:
        pass

    large = Large()
    gone = weakref.ref(large)

    def work(_context, held=large):
        return None if held else 1

    job = runner.run("Count", work)
    del large, work
    wait_for(qtbot, job)
    qtbot.waitUntil(lambda: gone() is None)
    assert job.ending is Ending.DONE


def test_a_dropped_result_is_handed_over_to_be_closed(qtbot, runner, log):
    reached, go = threading.Event(), threading.Event()
    closed = []

    def work(_context):
        reached.set()
        assert go.wait(60)
        return "an open file"

    job = runner.run("Open", work, log.done, discard=closed.append)
    assert reached.wait(60)
    job.cancel()
    go.set()
    wait_for(qtbot, job)
    assert closed == ["an open file"]
    assert log.told == []


def test_shutdown_closes_results_that_were_on_their_way(qtbot):
    runner = JobRunner()
    finished, closed = threading.Event(), []

    def work(_context):
        finished.set()
        return "an open file"

    runner.run("Open", work, discard=closed.append)
    assert finished.wait(60)
    runner.shutdown()
    assert closed == ["an open file"]


def test_ended_jobs_leave_nothing_behind(qtbot, runner):
    def alive():
        gc.collect()
        return sum(
            str(type(each).__module__).startswith("sfumato.jobs") for each in gc.get_objects()
        )

    before = None
    for _ in range(3):
        for _ in range(10):
            wait_for(qtbot, runner.run("test", lambda _context: bytearray(100)))
        runner.stop_all()
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
        before = alive() if before is None else before
    assert alive() <= before


class Mortal(QObject):
    """Tells on which thread it died."""

    def __init__(self, graves):
        super().__init__()
        self.myself = self
        weakref.finalize(self, lambda: graves.append(threading.current_thread()))


def test_a_worker_that_makes_much_destroys_no_garbage_of_the_main_thread(qtbot, runner):
    graves = []
    Mortal(graves)

    def make_much(_context):
        return len([[] for _ in range(3 * gc.get_threshold()[0])])

    wait_for(qtbot, runner.run("test", make_much))
    assert graves == []
    gc.collect()
    assert graves == [threading.main_thread()]


def test_the_runner_searches_for_garbage_as_often_as_python_would(qtbot, runner):
    graves = []
    Mortal(graves)
    much = [[] for _ in range(3 * gc.get_threshold()[0])]
    qtbot.waitUntil(lambda: graves == [threading.main_thread()])
    assert much


def test_what_the_work_closed_over_dies_on_the_main_thread(qtbot, runner):
    graves = []

    def job():
        held = Mortal(graves)
        held.myself = None
        return runner.run("test", lambda _context: held.objectName())

    for _ in range(50):
        wait_for(qtbot, job())
    assert graves == [threading.main_thread()] * 50


def test_python_searches_by_itself_again_after_the_last_shutdown(qtbot, monkeypatch):
    monkeypatch.setattr(jobs.GarbageCollector, "_open", 0)  # beside the tests' own
    runners = [JobRunner(), JobRunner()]
    runners[0].shutdown()
    assert not gc.isenabled()
    runners[1].shutdown()
    runners[1].shutdown()
    by_itself = gc.isenabled()
    gc.disable()
    assert by_itself


def test_a_job_that_has_ended_may_be_the_last_that_holds_its_runner(qtbot):
    def ended_job():
        runner = JobRunner()
        runner.run("test", lambda _context: None).finished.connect(lambda: runner.jobs)
        runner.stop_all()
        runner.shutdown()
        return weakref.ref(runner)

    gone = ended_job()
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    assert gone() is None


@pytest.mark.parametrize("seconds", [0.0, 3600.0])
def test_memory_is_given_back_after_a_job_that_took_long(qtbot, runner, log, monkeypatch, seconds):
    given = []
    monkeypatch.setattr(jobs, "LONG_SECONDS", seconds)
    monkeypatch.setattr(memory, "_trim", lambda: given.append)
    wait_for(qtbot, runner.run("work", lambda _context: None, log.done, log.error))
    assert given == ([] if seconds else [0])


class Clock:
    """Stands for time that goes by."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch):
    made = Clock()
    monkeypatch.setattr(jobs, "time", made)
    return made


def told(clock, job, *points):
    """Return what is told of the time left, work having got so far after so many seconds."""
    found = []
    for seconds, fraction in points:
        clock.now = seconds
        job.set_progress(fraction, "")
        found.append(job.seconds_left)
    return found


def test_the_time_left_of_even_work_is_that_at_its_pace(qapp, clock):
    points = [(second, second / 100) for second in range(1, 60)]
    left = told(clock, Job("even", None), *points)
    assert left[2] is None
    assert left[20:] == pytest.approx([100 - second for second in range(21, 60)])


def test_the_time_left_of_work_that_gets_slower_is_not_told_by_its_first_pace(qapp, clock):
    quick = [(second, second / 10) for second in range(1, 9)]
    slow = [(8 + second, 0.8 + second / 600) for second in range(1, 60)]
    left = told(clock, Job("slower", None), *quick, *slow)
    truth = [128 - seconds for seconds, _ in slow]
    assert left[len(quick) - 1] == pytest.approx(2.0)
    assert left[len(quick) + 20 :] == pytest.approx(truth[20:], rel=0.05)


def test_a_slow_beginning_does_not_foretell_many_times_what_work_has_run(qapp, clock):
    slow = [(second, second / 300) for second in range(1, 16)]
    left = told(
        clock,
        Job("slow at first", None),
        *slow,
        *((second, second / 100) for second in range(16, 40)),
    )
    assert left[: len(slow)] == [None] * len(slow)
    assert left[-1] == pytest.approx(61.0)


def test_of_work_that_stands_no_time_left_is_told(qapp, clock):
    job = Job("stands", None)
    told(clock, job, *((second, second / 20) for second in range(1, 11)))
    assert job.seconds_left is not None
    clock.now = 20.0
    assert job.seconds_left is None
    assert job.seconds_run == 20.0
