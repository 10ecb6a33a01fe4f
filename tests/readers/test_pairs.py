import json

import pytest

from .conftest import names, notes, read_text, rows


def mark(trace, phase, name, at, *, category="cpu_op", **more):
    return trace.event(category, name, at, 0, ph=phase, **more)


def ends_without_more(trace, at, **place):
    mark(trace, "E", "", at, **place)
    line = trace.lines[-1].replace('"cat": "cpu_op", "name": "", ', "")
    trace.lines[-1] = line[: line.index(', "dur"')] + "}"


def spans(recorded):
    base = 4_812_000_000_000_000
    return [
        (name, start - base, dur)
        for name, start, dur in rows(recorded, "name", "start_ns", "dur_ns")
    ]


def test_an_end_closes_the_last_open_begin_of_its_thread(trace, read):
    mark(trace, "B", "outer", 0)
    mark(trace, "B", "inner", 10)
    ends_without_more(trace, 30)
    mark(trace, "B", "second", 40)
    ends_without_more(trace, 50)
    ends_without_more(trace, 90)
    recorded = read(trace.write())
    assert spans(recorded) == [("outer", 0, 90), ("inner", 10, 20), ("second", 40, 10)]
    assert rows(recorded, "kind", "thread")[0] == ("op", "1")
    assert recorded.notes == []


def test_threads_and_processes_do_not_close_each_other_s_marks(trace, read):
    mark(trace, "B", "a", 0, pid=1, tid=1)
    mark(trace, "B", "b", 10, pid=1, tid=2)
    mark(trace, "B", "c", 20, pid=2, tid=1)
    for at, pid, tid in ((30, 1, 1), (40, 1, 2), (50, 2, 1)):
        ends_without_more(trace, at, pid=pid, tid=tid)
    assert spans(read(trace.write())) == [("a", 0, 30), ("b", 10, 30), ("c", 20, 30)]


def test_marks_are_joined_by_time_and_not_by_their_place_in_the_file(trace, read):
    ends_without_more(trace, 90)
    mark(trace, "B", "inner", 10)
    ends_without_more(trace, 30)
    mark(trace, "B", "outer", 0)
    assert spans(read(trace.write())) == [("outer", 0, 90), ("inner", 10, 20)]


def test_marks_on_a_device_are_joined_by_its_stream(trace, read):
    mark(trace, "B", "k", 0, category="kernel", pid=0, tid="stream 7", device=0, stream=7)
    mark(trace, "B", "l", 10, category="kernel", pid=0, tid="stream 8")
    ends_without_more(trace, 20, pid=0, tid="stream 7")
    ends_without_more(trace, 25, pid=0, tid="stream 8")
    recorded = read(trace.write())
    assert spans(recorded) == [("k", 0, 20), ("l", 10, 15)]
    assert rows(recorded, "kind", "device", "stream") == [("kernel", 0, 7), ("kernel", 0, 8)]


def test_a_begin_that_nothing_closes_has_no_duration(trace, read):
    mark(trace, "B", "open", 0)
    mark(trace, "B", "closed", 10)
    ends_without_more(trace, 30)
    recorded = read(trace.write())
    assert spans(recorded) == [("open", 0, None), ("closed", 10, 20)]
    assert notes(recorded) == {"event-without-duration": 1}


@pytest.mark.parametrize("begins", [0, 1])
def test_an_end_that_closes_nothing_is_counted(trace, read, begins):
    trace.op("a", 0, 1)
    ends_without_more(trace, 5)
    for at in range(10, 10 + begins):
        mark(trace, "B", "b", at)
        ends_without_more(trace, at + 5)
    ends_without_more(trace, 50)
    recorded = read(trace.write())
    assert names(recorded) == ["a", "b"][: 1 + begins]
    assert notes(recorded) == {"end-without-begin": 2}


def test_the_documents_of_a_file_do_not_close_each_other_s_marks(trace, new_trace, read):
    mark(trace, "B", "a", 0)
    other = new_trace()
    ends_without_more(other, 30)
    recorded = read(trace.text() + other.text())
    assert spans(recorded) == [("a", 0, None)]
    assert notes(recorded) == {
        "second-document": 1, "event-without-duration": 1, "end-without-begin": 1,
    }  # fmt: skip


def test_a_mark_without_a_time_is_left_out(trace, read):
    mark(trace, "B", "a", 0)
    trace.lines.append('{"ph": "E", "pid": 1, "tid": 1}')
    ends_without_more(trace, 30)
    recorded = read(trace.write())
    assert spans(recorded) == [("a", 0, 30)]
    assert notes(recorded) == {"event-without-time": 1}


@pytest.mark.parametrize("end_category", ["kernel", None])
def test_begin_and_end_of_device_work_find_each_other_on_their_stream(tmp_path, end_category):
    marks = [("B", 0, 7), ("B", 1, 8), ("E", 10, 7), ("E", 20, 8)]
    categories = {"B": "kernel", "E": end_category}
    texts = [
        json.dumps(
            {"ph": phase, "cat": categories[phase], "name": "k", "pid": 0, "tid": stream, "ts": ts}
        )
        for phase, ts, stream in marks
    ]
    work = read_text(tmp_path, texts).events.collect()
    assert work.select("stream", "dur_ns").rows() == [(7, 10_000), (8, 19_000)]
    assert work["thread"].to_list() == [None, None]
