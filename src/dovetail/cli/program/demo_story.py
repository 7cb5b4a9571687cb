"""The demo's story: the chapters one after the other, and again, each announced before it happens."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from dovetail.cli.program.demo_chapters import CHAPTERS, Chapter
from dovetail.cli.program.demo_scene import DemoScene, StoryEnded
from dovetail.client import ConnectError, DovetailError


@dataclass(slots=True)
class DemoStory:
    """`rounds`: how often it is told; None: until the demo ends. `first`: the chapter to begin with."""

    scene: DemoScene
    first: str = "quiet"
    rounds: int | None = None

    def tell(self) -> None:
        try:
            self._clear()
            for chapter in self._chapters():
                self._announce(chapter)
                try:
                    chapter.happens(self.scene)
                    self.scene.finish()
                except (ConnectError, DovetailError) as error:
                    if self.scene.stop.is_set():
                        return
                    self.scene.tell(f"  ✗ this chapter ends early: {error}")
                    self._clear()
        except StoryEnded:
            return

    def _chapters(self) -> Iterator[Chapter]:
        names = list(CHAPTERS)
        start = names.index(self.first)
        while self.rounds is None or self.scene.number <= self.rounds:
            yield from (CHAPTERS[name] for name in names[start:])
            start = 0
            self.scene.number += 1

    def _announce(self, chapter: Chapter) -> None:
        look = ", ".join(f"dovetail {command}" for command in chapter.look)
        self.scene.tell(f"\n— {chapter.title}\n  {chapter.words}\n  look: {look}; page {chapter.page}")
        with suppress(ConnectError, DovetailError):  # a mark in the charts; the story goes on without it
            self.scene.client.note(chapter.title)

    def _clear(self) -> None:
        """What an earlier round, or an earlier demo in the same folder, left broken or running."""
        scene = self.scene
        for node in scene.out_of_service():
            scene.client.uncordon(node)
        scene.finish()
