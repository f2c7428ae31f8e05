"""What tasks print, log and display, as it comes."""

from __future__ import annotations

from cellmill.cell_output.recent import News, Speaker
from cellmill.executor import Executor
from cellmill.telemetry import schema

from ..scope import Scope

MOST_PIECES, MOST_BYTES = 1000, 100_000  # of one frame


class OutputSection:
    """The pieces since the last frame, of one run or of all; a view that joins is given all that is kept."""

    interval = 0.25

    def __init__(self, scope: Scope | None = None) -> None:
        self._run = None if scope is None else scope.run
        self._feed: int | None = None
        self._after = 0

    def restart(self) -> None:
        self._feed = None

    def frame(self, executor: Executor) -> schema.Output | None:
        observer = executor._backend.observer
        recent = None if observer is None else observer.recent_output
        feed = 0 if recent is None else recent.feed
        first = feed != self._feed
        if first:
            self._feed, self._after = feed, 0
        if recent is None:
            return self._told(False, feed, News([], 0, 0, False)) if first else None
        news = recent.since(self._after, MOST_PIECES, MOST_BYTES, self._run)
        self._after = news.after
        return self._told(True, feed, news) if first or news.pieces else None

    def _told(self, known: bool, feed: int, news: News) -> schema.Output:
        pieces = news.pieces
        speakers: dict[Speaker, int] = {}
        return {
            "cellmill": schema.VERSION,
            "kind": "output",
            "run": self._run,
            "known": known,
            "feed": feed,
            "lines": news.lines,
            "gap": news.gap,
            "speaker": [speakers.setdefault(piece.speaker, len(speakers)) for piece in pieces],
            "speakers": [
                {
                    "name": speaker.name,
                    "task": str(speaker.ticket) if speaker.ticket else None,
                    "element": speaker.element,
                    "worker": speaker.worker,
                }
                for speaker in speakers
            ],
            "number": [piece.number for piece in pieces],
            "stream": [piece.stream for piece in pieces],
            "time": [round(piece.at, 3) for piece in pieces],
            "text": [piece.data.decode("utf-8", "backslashreplace") for piece in pieces],
        }
