"""Several threads give the result of one, raise its errors and restore the threads of BLAS."""

import multiprocessing
import os
import signal
import threading
import time
import warnings
import weakref
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from threading import Barrier, Event, Thread, get_ident

import numpy as np
import pytest
from joblib import Parallel, delayed
from sklearn import config_context, get_config
from threadpoolctl import threadpool_limits

from skcalrank import _threads
from skcalrank.data import each, one_blas_thread

# Cases are kinds of values and operations, of which each has lines of its own.
pytestmark = pytest.mark.every_case

PATIENCE = 60  # seconds, after which a test has failed


def blas_threads():
    """Return the number of threads of each BLAS library."""
    return [lib.get_num_threads() for lib in _threads._libraries()]


@pytest.fixture(autouse=True)
def _several_of_blas():
    """Set BLAS to two threads, and check that they are restored."""
    before = blas_threads()
    # Not by threadpoolctl's context: other threads could not change the number in it.
    for lib in _threads._libraries():
        _threads._set_threads(lib, 2)
    during = blas_threads()
    yield
    assert blas_threads() == during
    assert not _threads._BLAS.users
    for lib, n in zip(_threads._libraries(), before):
        _threads._set_threads(lib, n)


@pytest.fixture
def four(monkeypatch):
    pool = cache(lambda: ThreadPoolExecutor(4))
    monkeypatch.setattr(_threads, "_WORTH_THREADS", 0.0)
    monkeypatch.setattr(_threads, "n_threads", lambda _: 4)
    monkeypatch.setattr(_threads, "_pool", pool)
    yield
    pool().shutdown()


@pytest.fixture(params=[1, 2, 4])
def threads(request, monkeypatch):
    request.getfixturevalue("four")
    monkeypatch.setattr(_threads, "n_threads", lambda _: request.param)
    return request.param


@pytest.fixture
def main_thread():
    """Skip in another thread: signals arrive in the main one, and forks end from it."""
    if threading.current_thread() is not threading.main_thread():
        pytest.skip("the test must run in the main thread, got another one")


@pytest.mark.usefixtures("threads")
def test_results_are_merged_in_order():
    found = []
    each(lambda i: (time.sleep(0.001 * (i % 3)), i)[1], iter(range(30)), found.append)
    assert found == list(range(30))


@pytest.mark.usefixtures("four")
def test_items_are_shared_by_threads():
    together = Barrier(4)

    def work(_):
        together.wait(PATIENCE)
        return get_ident()

    found = []
    each(work, range(4), found.append)
    assert len(set(found)) == 4
    assert get_ident() in found


@pytest.mark.usefixtures("four")
def test_short_work_needs_no_threads(monkeypatch):
    monkeypatch.setattr(_threads, "_WORTH_THREADS", np.inf)
    monkeypatch.setattr(_threads, "_pool", None)
    found = []
    each(abs, range(9), found.append)
    assert found == list(range(9))


@pytest.mark.usefixtures("four")
def test_threads_share_the_first_of_long_items(monkeypatch):
    monkeypatch.setattr(_threads, "_WORTH_THREADS", np.inf)
    together, found = Barrier(4), []
    each(lambda _: together.wait(PATIENCE), range(12), found.append, long=True)
    assert len(found) == 12


@pytest.mark.usefixtures("four")
def test_few_results_are_held():
    held, most, first = [], [], Event()

    def work(i):
        held.append(i)
        most.append(len(held))
        if i == 0:
            first.wait(0.05)
        return i

    each(work, range(100), held.remove, most=5)
    assert max(most) <= 5


@pytest.mark.parametrize("n_items", [0, 1])
@pytest.mark.usefixtures("threads")
def test_no_thread_is_made_for_nothing(n_items, monkeypatch):
    monkeypatch.setattr(_threads, "_pool", None)
    for long in (False, True):
        each(abs, range(n_items), str, long=long)


@pytest.mark.usefixtures("threads")
def test_blas_has_one_thread_meanwhile():
    found = []
    each(lambda _: blas_threads(), range(10), found.append)
    assert {n for each in found for n in each} <= {1}
    with one_blas_thread(100):
        assert set(blas_threads()) <= {1}


def test_blas_keeps_its_threads_where_items_come_one_by_one():
    found, before = [], blas_threads()
    each(lambda _: blas_threads(), range(3), found.append, most=1)
    with one_blas_thread(1 << 30):
        found.append(blas_threads())
    assert found == [before] * 4


def test_no_more_threads_than_blas_has(monkeypatch):
    monkeypatch.setattr(_threads, "_n_cores", lambda: 8)
    for limit in (1, 2):
        with threadpool_limits(limit, "blas"):
            assert _threads.n_threads(blas_threads()) in (1, limit)
    assert _threads.n_threads([6, 4]) == 4
    assert _threads.n_threads([16]) == 8
    assert _threads.n_threads([]) == 1


@pytest.mark.parametrize("of", ["work", "merge", "items"])
@pytest.mark.usefixtures("threads")
def test_the_first_error_is_raised_after_what_comes_before(of):
    done = []

    def fails(i):
        if i in (7, 8, 20):
            time.sleep(0.01 * (i == 7))
            raise ValueError(f"item {i}")
        return i

    def merge(i):
        done.append(i)
        return fails(i) if of == "merge" else None

    items = map(fails, range(30)) if of == "items" else range(30)
    with pytest.raises(ValueError, match="item 7"):
        each(fails if of == "work" else abs, items, merge)
    assert done == list(range(7 + (of == "merge")))


@pytest.mark.usefixtures("four")
def test_an_error_holds_nothing_alive():
    class Data:
        pass

    def fail():
        data = Data()

        def work(_):
            raise ValueError(data)

        with suppress(ValueError):
            each(work, range(8))
        return weakref.ref(data)

    assert fail()() is None


@pytest.mark.skipif(not hasattr(signal, "raise_signal"), reason="no signals")
@pytest.mark.usefixtures("main_thread", "threads")
def test_an_interrupt_ends_the_work():
    main, begun = get_ident(), []
    # A process in the background of a shell ignores interrupts.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)

    def work(i):
        begun.append(i)
        if get_ident() == main and i >= 3:
            signal.raise_signal(signal.SIGINT)
        time.sleep(0.001)

    try:
        with pytest.raises(KeyboardInterrupt):
            each(work, range(1000))
    finally:
        signal.signal(signal.SIGINT, before)
    assert len(begun) < 900


@pytest.mark.usefixtures("four")
def test_an_exit_in_a_thread_ends_the_work():
    main = get_ident()

    def work(_):
        if get_ident() != main:
            raise SystemExit(3)
        time.sleep(0.001)

    with pytest.raises(SystemExit):
        each(work, range(1000))


def test_the_last_of_several_users_restores_blas():
    before, inside, go_on = blas_threads(), [Event(), Event()], [Event(), Event()]

    def use(which):
        def work(_):
            inside[which].set()
            assert go_on[which].wait(PATIENCE)

        each(work, [0])

    users = [Thread(target=use, args=(which,), daemon=True) for which in range(2)]
    for user, begun in zip(users, inside):
        user.start()
        assert begun.wait(PATIENCE)
    for which, (user, expected) in enumerate(zip(users, ([1] * len(before), before))):
        go_on[which].set()
        user.join(PATIENCE)
        assert blas_threads() == expected


@pytest.mark.usefixtures("four")
def test_a_limit_that_another_thread_holds_is_kept():
    found = []
    with threadpool_limits(2, "blas"):
        before = blas_threads()
        user = Thread(target=each, args=(lambda _: get_ident(), range(9), found.append))
        user.start()
        user.join(PATIENCE)
        assert blas_threads() == before
    assert len(found) == 9


@pytest.mark.usefixtures("four")
def test_all_users_together_have_the_threads_of_one():
    running, most, lock = [0], [0], threading.Lock()

    def work(_):
        with lock:
            running[0] += 1
            most[0] = max(most[0], running[0])
        time.sleep(0.001)
        with lock:
            running[0] -= 1

    def nested(_):
        each(work, range(5))

    each(nested, range(3))
    assert most[0] <= 4
    users = [Thread(target=each, args=(nested, range(2)), daemon=True) for _ in range(2)]
    for user in users:
        user.start()
    for user in users:
        user.join(PATIENCE)
    # Three threads beside those two.
    assert most[0] <= 5


def test_a_user_that_never_left_is_forgotten():
    user = _threads._BLAS.single(3)
    user.__enter__()
    assert set(blas_threads()) <= {1}
    del user
    assert not _threads._BLAS.users
    each(abs, range(3))


@pytest.mark.usefixtures("four")
def test_settings_of_numpy_and_scikit_learn_hold_in_threads():
    together, found = Barrier(4), []

    def work(_):
        together.wait(PATIENCE)
        return np.geterr()["over"], get_config()["working_memory"]

    with np.errstate(over="raise"), config_context(working_memory=7):
        each(work, range(4), found.append)
    assert found == [("raise", 7)] * 4


@pytest.mark.usefixtures("four")
def test_warnings_arrive():
    def work(i):
        warnings.warn(f"item {i}")

    with pytest.raises(UserWarning, match="item 0"):
        each(work, range(4))
    with pytest.warns(UserWarning, match="item") as caught:
        each(work, range(4))
    assert sorted(str(one.message) for one in caught) == [f"item {i}" for i in range(4)]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.usefixtures("main_thread", "threads")
def test_a_fork_in_the_middle_of_the_work():
    before, main, forked = blas_threads(), get_ident(), []

    def child(_):
        assert blas_threads() == before
        each(abs, range(10))
        assert blas_threads() == before

    def work(i):
        time.sleep(0.001)
        # Python cannot end a process that is forked by a thread of a pool.
        if get_ident() == main and i >= 3 and not forked:
            forked.append(i)
            process = multiprocessing.get_context("fork").Process(target=child, args=(i,))
            with warnings.catch_warnings():
                # Python 3.12 warns of threads in a process that is forked.
                warnings.simplefilter("ignore", DeprecationWarning)
                process.start()
            process.join(PATIENCE)
            return process.exitcode
        return 0

    found = []
    each(work, range(100), found.append)
    assert found == [0] * 100
    assert forked


def squares(n):
    found = []
    each(lambda i: (i**2, get_ident()), range(n), found.append)
    return [square for square, _ in found], len({thread for _, thread in found})


@pytest.mark.parametrize("backend", ["threading", pytest.param("loky", marks=pytest.mark.slow)])
def test_workers_of_joblib(backend):
    for found, n_threads in Parallel(2, backend=backend)(delayed(squares)(50) for _ in range(4)):
        assert found == [i**2 for i in range(50)]
        # Each worker of two has a part of the cores.
        assert backend == "threading" or n_threads <= max(1, _threads._n_cores() // 2)


@pytest.mark.usefixtures("four")
def test_no_more_threads_can_be_started(monkeypatch):
    def refuse(_):
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched:
        patched.setattr(Thread, "start", refuse)
        found = []
        each(abs, range(20), found.append)
    assert found == list(range(20))
    test_items_are_shared_by_threads()
