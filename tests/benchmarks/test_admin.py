"""What the pages of the admin are judged by."""

from benchmarks.admin import figures


def page(of, way, ms, *, queries=4, status=200):
    return {"of": of, "way": way, "address": f"/admin/{of}/?{ms}", "status": status, "ms": [ms, ms, 9 * ms],
            "python_ms": 1.0, "postgres_ms": 2.0, "queries": queries, "query_ms": 3.0}  # fmt: skip


def test_the_slowest_of_each_way_is_shown_beside_the_empty_world():
    pages = [page("soas", "sorted", 20), page("soas", "sorted", 80), page("soas", "first", 10)]
    empty = {"/admin/soas/?80": page("soas", "sorted", 40)}

    found = figures("lists", "", pages, empty)

    assert found.rows["soas sorted"]["p50 ms"] == 80
    assert found.rows["soas sorted"]["worst ms"] == 720
    assert found.rows["soas sorted"]["of empty"] == 2
    assert "of empty" not in found.rows["soas first"]
    assert found.aims == {}


def test_what_is_too_slow_or_asks_too_much_or_fails_is_named():
    pages = [page("slow", "", 301), page("asking", "", 1, queries=13), page("failing", "", 1, status=500),
             page("home", "", 499)]  # fmt: skip

    aims = figures("pages", "", pages, {}).aims

    assert list(aims) == ["slow", "asking", "failing"]
    assert aims["failing"].endswith("/admin/failing/?1 (500)")
