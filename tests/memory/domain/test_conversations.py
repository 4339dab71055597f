from benchmarks.conversations import CONVERSATIONS, measure


def test_long_conversations_are_read_with_few_mistakes():
    read = measure(sorted(CONVERSATIONS.glob("*.txt")))

    report = "\n".join(["wrong:", *read.wrong, "missed:", *read.missed, "out of date:", *read.stale])
    print(report)
    assert (read.precision, read.recall) >= (0.84, 0.61), report
