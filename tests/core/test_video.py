"""Video text: hiccup of every kind of brokenness, and speech beside it by time."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stages.core.catalog.video import find, interleave, text_of


@pytest.mark.parametrize(
    ("layout", "text"),
    [
        ('[:page [:h1 "Fees"] [:p "per order"]]', "# Fees\nper order"),
        ('[:page {:color "white"} [:h2 {:size 3} "A"] [:h3 "B"]]', "## A\n### B"),
        (
            '[:table [:tr [:th "code"] [:th "单位"]] [:tr [:td "A1"] [:td "万股"]]]',
            "code | 单位\nA1 | 万股",
        ),
        ('[:row [:label "Total"] [:value "1,200"]]', "Total | 1,200"),
        ('[:page [:row [:card [:h2 "A"] [:p "x"]] [:card [:h2 "B"]]]]', "## A\nx\n## B"),
        ('```clojure\n[:p "fenced"]\n```', "fenced"),
        ('~~~\n[:p "fenced"]\n~~~', "fenced"),
        ('```\n[:page [:p "cut off"] [:table [:tr [:td "ha', "cut off\nha"),
        ('[:page [:p "one"]]]]] [:p "two"]', "one\ntwo"),
        ('[:p "quote \\" and \\\\ and \\n break"]', 'quote " and \\ and break'),
        ('[:p "a" "b"] ; comment', "a b\ncomment"),
        ("[:p 12 :keyword]", "12 keyword"),
        ('[:div.card#x [:p "classes"]]', "classes"),
        ("no tree at all\n\n  but words", "no tree at all\nbut words"),
        ('```\n{:page "only a map"}\n```', '{:page "only a map"}'),
        ('[{:page "only a map"}]', ""),
        ('[:p {:a {:b "nested"}} "seen"]', "seen"),
        ('[:p {:a "never closed ', "a never closed"),
        ('[:page {:color "white" [:h1 "Fees"] [:p "x"]]', "color white\n# Fees\nx"),
        ("", ""),
        ("[[[[", ""),
        (None, ""),
        (12, ""),
        ({"tag": "p"}, ""),
        (["page", ["h1", "As JSON"], ["p", {"color": "red"}, "x"]], "# As JSON\nx"),
        ([":page", [":tr", [":td", "a"], [":td", 1]]], "a | 1"),
    ],
)
def test_hiccup(layout: Any, text: str) -> None:
    assert text_of(layout) == text


@given(st.text(alphabet='[]{}:"\\ pagetr\n`~é', max_size=200))
def test_no_layout_fails(layout: str) -> None:
    text_of(layout)


@pytest.mark.parametrize(
    "layout", ["[" * 50_000, "[:p " * 20_000 + '"x"', "{" * 9_000, '"' * 9_001]
)
def test_no_depth_fails(layout: str) -> None:
    text_of(layout)


def test_deep_json_does_not_fail() -> None:
    layout: list[Any] = ["p", "x"]
    for _ in range(400):
        layout = ["row", layout]
    text_of(layout)


def record(**more: Any) -> dict[str, Any]:
    return {
        "frames": [
            {"index": 0, "t": 0.0, "path": "f/0.png"},
            {"index": 1, "t": 12.5, "path": "f/1.png"},
        ],
        "hiccup": {"f/0.png": '[:h1 "Fees"]', "f/1.png": '[:p "per order"]'},
        "transcript": {
            "segments": [
                {"start": 0.0, "end": 4.0, "text": " Welcome. "},
                {"start": 4.0, "end": 13.0, "text": "It is\nten."},
                {"start": 12.5, "end": 20.0, "text": "Per order."},
            ]
        },
    } | more


def test_frames_stand_before_what_is_said_until_the_next_one() -> None:
    assert interleave(record()).splitlines() == [
        "[00:00] screen:",
        "# Fees",
        "[00:00-00:04] speech: Welcome.",
        "[00:04-00:13] speech: It is ten.",
        "[00:12.5] screen:",
        "per order",
        "[00:12.5-00:20] speech: Per order.",
    ]


def test_a_frame_counts_from_its_burst_and_a_word_by_its_middle() -> None:
    words = [("Now", 9.0, 9.4), (" the", 9.4, 9.9), (" fee:", 9.9, 10.4), (" ten.", 10.4, 12.0)]
    spoken = {"start": 8.0, "end": 13.0, "text": "Now the fee: ten."}
    spoken["words"] = [{"word": word, "start": a, "end": b} for word, a, b in words]
    frames = [
        {"t": 14.0, "burst_start": 10.1, "path": "f/1.png"},
        {"t": 2.0, "burst_start": 1.0, "path": "f/0.png"},
    ]
    transcript = {"segments": [spoken, {"start": 9.5, "end": 10.9, "text": "By middle."}]}
    lines = interleave(record(frames=frames, transcript=transcript)).splitlines()
    assert lines == [
        "[00:01] screen:",
        "# Fees",
        "[00:09-00:09.9] speech: Now the",
        "[00:10.1] screen:",
        "per order",
        "[00:09.5-00:10.9] speech: By middle.",
        "[00:09.9-00:12] speech: fee: ten.",
    ]


@pytest.mark.parametrize("times", [{}, {"start": None}, {"start": float("nan"), "end": "x"}])
def test_words_without_times_leave_their_segment_whole(times: dict[str, Any]) -> None:
    spoken = {"start": 4.0, "end": 30.0, "words": [{"word": " a", **times}, {"word": " b"}]}
    text = interleave(record(transcript={"segments": [spoken]}))
    assert text.endswith("[00:12.5] screen:\nper order\n[00:04-00:30] speech: a b")


def test_the_timeline_outranks_frames_and_transcript() -> None:
    timeline = [
        {"type": "speech", "t_start": 61, "t_end": 3661.04, "text": "later"},
        {"type": "frame", "t_start": 61, "slide": 1, "path": "f/0.png"},
        {"type": "frame", "t_start": 2, "slide": 2, "path": "x.png", "hiccup": '[:p "own"]'},
        {"type": "other"},
        "junk",
    ]
    assert interleave(record(timeline=timeline)).splitlines() == [
        "[00:02] screen:",
        "own",
        "[01:01] screen:",
        "# Fees",
        "[01:01] screen:",
        "per order",
        "[01:01-61:01] speech: later",
    ]


def test_a_screen_that_does_not_change_is_shown_once() -> None:
    frames = [{"t": t, "path": f"{t}.png"} for t in (0, 1, 2, 3)]
    hiccup = {"0.png": '[:p "a"]', "1.png": '[:p "a"]', "2.png": '[:p "b"]', "3.png": '[:p "a"]'}
    text = interleave({"frames": frames, "hiccup": hiccup})
    assert [line for line in text.splitlines() if "screen" not in line] == ["a", "b", "a"]


def test_frames_find_their_layout_by_file_name() -> None:
    text = interleave(
        {"frames": [{"t": 1, "path": "C:\\x\\0.png"}], "hiccup": {"/abs/0.png": '[:p "a"]'}}
    )
    assert text == "[00:01] screen:\na"


@pytest.mark.parametrize(
    ("broken", "kept"),
    [
        ({"hiccup": None}, "Welcome."),
        ({"hiccup": []}, "Welcome."),
        ({"hiccup": {"f/0.png": None, "f/1.png": 3}}, "Welcome."),
        ({"frames": None}, "# Fees"),
        ({"frames": [1, "x", None, {}]}, "# Fees"),
        ({"transcript": None, "timeline": {}}, "# Fees"),
        (
            {
                "transcript": {
                    "segments": [{"start": "x", "words": [{"word": " Hi"}, {"word": " all"}]}]
                }
            },
            "speech: Hi all",
        ),
        ({"transcript": {"text": "whole"}}, "speech: whole"),
        ({"transcript": "whole"}, "speech: whole"),
        ({"transcript": [{"start": 1e300, "text": "far"}]}, "speech: far"),
        (
            {"transcript": [{"start": float("nan"), "end": -1, "text": "odd"}]},
            "[00:00-00:00] speech: odd",
        ),
    ],
)
def test_parts_that_are_missing_or_wrong_leave_the_rest(broken: dict[str, Any], kept: str) -> None:
    assert kept in interleave(record(**broken))


def test_nothing_at_all() -> None:
    assert interleave({}) == ""


PLACES = (
    "workdir/_video_frames/video_input.json",
    "context/video/video_input.json",
    "context/video_input.json",
    "_video_frames/video_input.json",
    "video_input.json",
)


@pytest.mark.parametrize("place", PLACES)
def test_where_the_file_may_lie(tmp_path: Path, place: str) -> None:
    path = tmp_path / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"transcript": {"text": "said"}}), "utf-8")
    assert find([tmp_path]) == ("[00:00-00:00] speech: said", [])


@pytest.mark.parametrize(
    ("data", "warning"),
    [
        (b"{not json", "video_input.json: "),
        (b"[1, 2]", "video_input.json: not an object"),
        (b"{}", "video_input.json holds no text"),
        (b"\xff\xfe", "video_input.json: "),
        (b"[" * 2_000, "video_input.json: "),
    ],
)
def test_timeline_txt_is_the_fallback(tmp_path: Path, data: bytes, warning: str) -> None:
    folder = tmp_path / "workdir" / "_video_frames"
    folder.mkdir(parents=True)
    (folder / "video_input.json").write_bytes(data)
    (folder / "timeline.txt").write_text("[0-4] spoken\r\n", "utf-8", newline="")
    text, warnings = find([tmp_path])
    assert text == "[0-4] spoken"
    assert [w[: len(warning)] for w in warnings] == [warning]


def test_a_byte_order_mark_is_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / "video_input.json").write_bytes(b'\xef\xbb\xbf{"transcript": "said"}')
    assert find([tmp_path])[0].endswith("said")


def test_links_out_of_the_root_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("secret", "utf-8")
    root = tmp_path / "root"
    root.mkdir()
    (root / "timeline.txt").symlink_to("../secret.txt")
    assert find([root]) == ("", [])


def test_no_video(tmp_path: Path) -> None:
    assert find([tmp_path]) == ("", [])


def test_a_layout_cut_off_in_an_escape_is_gone_through_once() -> None:
    layout = '[:p "' + 'say \\"yes\\" ' * 5_000 + "\\"
    before = time.process_time()
    assert text_of(layout).startswith('say "yes" say "yes"')
    assert time.process_time() - before < 2
